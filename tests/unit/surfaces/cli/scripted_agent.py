"""An agent that does what a test says, in the place of `Shard`. Also a program for real terminals.

python -m tests.unit.surfaces.cli.scripted_agent NAME [--json] runs one of `SCRIPTS` by name.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import anyio
import anyio.lowlevel

from shard_jupyter.contracts.event_bus import Subscriber, Unsubscribe
from shard_jupyter.errors import UnknownModel
from shard_jupyter.surfaces.cli.main import run_cli
from shard_jupyter.surfaces.cli.run_request import RunRequest
from shard_jupyter.surfaces.cli.run_turn import AskPerson, run_turn
from shard_jupyter.surfaces.cli.run_view import JsonView
from shard_jupyter.surfaces.conversation.answer_dialog import Reply
from shard_jupyter.surfaces.conversation.palette import Palette
from shard_jupyter.surfaces.conversation.person_view import PersonView
from shard_jupyter.types.decisions import AskSetting
from shard_jupyter.types.events import AgentEvent, MessageDelta, Notice, PermissionRequest
from shard_jupyter.types.turns import Outcome, TurnResult

Script = Callable[["ScriptedAgent"], Awaitable[None]]


class ScriptedAgent:
    """Runs `script` as its turn. `steps` tells what was done to it."""

    def __init__(self, ask: AskPerson, script: Script) -> None:
        self.ask = ask
        self.replies: list[Reply] = []
        self.steps: list[str] = []
        self.outcome: Outcome = "completed"
        self._said = 0
        self._script = script
        self._subscribers: list[Subscriber] = []
        self._turn: anyio.CancelScope | None = None

    async def __aenter__(self) -> Self:
        self.steps.append("open")
        self.emit(Notice(agent_id="a", code="opened", message="opened"))
        if self._script is cannot_open:
            raise UnknownModel("There is no such model.", next_step="Choose another.")
        if self._script is hangs_in_opening:
            await anyio.sleep_forever()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.steps.append("close")

    def subscribe(self, subscriber: Subscriber) -> Unsubscribe:
        self._subscribers.append(subscriber)
        return lambda: self._subscribers.remove(subscriber)

    def emit(self, event: AgentEvent) -> None:
        for subscriber in self._subscribers:
            subscriber(event)

    def say(self, text: str) -> None:
        self._said += 1
        self.emit(MessageDelta(agent_id="a", item_id=f"m{self._said}", offset=0, text=text))

    model = "scripted:test"

    async def prompt(
        self, text: str, *, check: bool, timeout_seconds: float | None, ask: AskSetting | None
    ) -> TurnResult:
        assert ask is None
        assert not check
        self.steps.append(f"prompt {text}")
        with anyio.CancelScope() as self._turn:
            await self._script(self)
        self._turn = None
        return TurnResult(turn_id="t", outcome=self.outcome, text="The end.")

    async def interrupt(self) -> bool:
        self.steps.append("interrupt")
        self.say("stopping\n")
        if self._turn is None:
            return False
        self.outcome = "interrupted"
        self._turn.cancel()
        return True

    async def put_question(self, command: str) -> Reply:
        reply = await self.ask(
            PermissionRequest(
                agent_id="a",
                request_id="r",
                call_id="c",
                tool="bash",
                prompt="run it?",
                arguments={"command": command},
            )
        )
        self.replies.append(reply)
        self.say(f"decided: {reply.decision} {reply.note}\n")
        return reply


async def answers(agent: ScriptedAgent) -> None:
    agent.say("Hello.\n")


async def asks_twice_at_once(agent: ScriptedAgent) -> None:
    agent.say("First this.\n")
    async with anyio.create_task_group() as group:
        group.start_soon(agent.put_question, "first")
        group.start_soon(agent.put_question, "second")
        await anyio.lowlevel.checkpoint()
        agent.say("Shown while a question is open? No.\n")


async def hangs(agent: ScriptedAgent) -> None:
    agent.say("working\n")
    await anyio.sleep_forever()


def start_sleeper() -> int:
    return subprocess.Popen(["sleep", "60"], start_new_session=True).pid


async def cannot_be_stopped(agent: ScriptedAgent) -> None:
    agent.say(f"working, child {start_sleeper()}\n")
    with anyio.CancelScope(shield=True):
        await anyio.sleep_forever()


async def talks_for_ever(agent: ScriptedAgent) -> None:
    for number in range(10**9):
        agent.say(f"{number} {'x' * 500}\n")
        await anyio.lowlevel.checkpoint()


async def cannot_open(agent: ScriptedAgent) -> None:
    raise AssertionError


async def hangs_in_opening(agent: ScriptedAgent) -> None:
    raise AssertionError


SCRIPTS: dict[str, Script] = {
    script.__name__: script
    for script in (
        answers,
        asks_twice_at_once,
        hangs,
        cannot_be_stopped,
        talks_for_ever,
        cannot_open,
        hangs_in_opening,
    )
}


def run_script(name: str, *, as_json: bool = False) -> int:
    """Do what `shard run` does, with a scripted agent."""
    view = (
        JsonView(sys.stdout.buffer, sys.stderr)
        if as_json
        else PersonView(sys.stdout, sys.stderr, Palette(on=False))
    )
    request = RunRequest(prompt="go", cwd=Path.cwd(), ask="inline")
    return anyio.run(
        run_turn, request, view, lambda ask: ScriptedAgent(ask, SCRIPTS[name]), lambda rule: ""
    )


def main() -> int:
    class Command:
        """In the place of `commands.run`, so that `run_cli` is the real one."""

        @staticmethod
        def run_command(arguments: object) -> int:
            return run_script(sys.argv[1], as_json="--json" in sys.argv)

    sys.modules["shard_jupyter.surfaces.cli.commands.run"] = Command  # type: ignore[assignment]
    return run_cli(["run", "go"])


if __name__ == "__main__":
    sys.exit(main())
