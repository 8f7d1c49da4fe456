"""Make the events of a turn as an agent sends them, and a record from them."""

from __future__ import annotations

import itertools
from typing import Any

from shard_jupyter.surfaces.render_static.turn_record import TurnRecord, TurnRecorder
from shard_jupyter.types.content import TextBlock
from shard_jupyter.types.decisions import Allow, AllowAlways, Ask, Deny
from shard_jupyter.types.events import (
    AgentEvent,
    Event,
    MessageComplete,
    MessageDelta,
    PermissionRequest,
    PermissionResolved,
    ToolCallEvent,
    ToolResultEvent,
    TurnEnd,
    TurnStart,
    UsageEvent,
)
from shard_jupyter.types.render_descriptors import (
    DiffDescriptor,
    Hunk,
    RenderDescriptor,
    StatusDescriptor,
    TextDescriptor,
)
from shard_jupyter.types.tool_results import ResultStatus
from shard_jupyter.types.turns import Outcome
from shard_jupyter.types.usage import TokenUsage, UsageTotals

USAGE = UsageTotals(model_calls=5, input_tokens=61_000, output_tokens=4_400, cost_usd=0.28)


def make_diff(path: str, *lines: str, start: int = 1, cut: int = 0) -> DiffDescriptor:
    old = sum(line[:1] != "+" for line in lines)
    new = sum(line[:1] != "-" for line in lines)
    hunk = Hunk(old_start=start, old_lines=old, new_start=start, new_lines=new, lines=lines)
    added = sum(line[:1] == "+" for line in lines)
    removed = sum(line[:1] == "-" for line in lines)
    return DiffDescriptor(path=path, hunks=(hunk,), added=added, removed=removed, cut_lines=cut)


class Clock:
    """Goes on by `step` seconds with every event."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class TurnBuilder:
    """Collects events; `record` plays them to a recorder."""

    def __init__(self, model: str = "anthropic:claude-sonnet-4-6", mode: str = "build") -> None:
        self.events: list[AgentEvent] = []
        self.numbers = itertools.count(1)
        self.call_id = self.request_id = ""
        self.tool = ""
        self.add(TurnStart, prompt="go", model=model, mode=mode)

    def add(self, kind: type[Event], **fields: Any) -> None:
        made: Any = kind(
            agent_id="agent-1", **{"turn_id": "turn-1", "seq": next(self.numbers), **fields}
        )
        self.events.append(made)

    def write(self, text: str, *, offset: int = 0, item: str = "") -> str:
        """Send a piece of an answer that is not complete yet."""
        item = item or f"item-{next(self.numbers)}"
        self.add(MessageDelta, item_id=item, offset=offset, text=text, seq=None)
        return item

    def say(self, text: str) -> None:
        item = self.write(text)
        entry = f"entry-{next(self.numbers)}"
        self.add(MessageComplete, entry_id=entry, item_id=item, content=(TextBlock(text=text),))

    def call(
        self, tool: str, *render: RenderDescriptor, recovered: bool = False, **arguments: Any
    ) -> str:
        self.tool, self.call_id = tool, f"call-{next(self.numbers)}"
        fields = {"call_id": self.call_id, "tool": tool, "arguments": arguments}
        self.add(ToolCallEvent, **fields, render=render, recovered=recovered)
        return self.call_id

    def result(
        self,
        *render: RenderDescriptor,
        status: ResultStatus = "ok",
        text: str = "",
        call_id: str = "",
        **details: Any,
    ) -> None:
        self.add(
            ToolResultEvent,
            entry_id=f"entry-{next(self.numbers)}",
            call_id=call_id or self.call_id,
            tool=self.tool,
            status=status,
            is_error=status != "ok",
            content=(TextBlock(text=text),),
            render=render,
            details=details,
        )

    def read(self, path: str, text: str) -> None:
        self.call("read", path=path)
        count = text.count("\n") + 1
        label = StatusDescriptor(label=f"{path}: {count} line{'s' if count > 1 else ''}")
        self.result(label, TextDescriptor(text=text, language="py"))

    def bash(self, command: str, output: str, code: int = 0) -> None:
        self.call("bash", TextDescriptor(text=command, language="bash"), command=command)
        label = StatusDescriptor(label=f"exit code {code}", tone="error" if code else "success")
        self.result(
            TextDescriptor(text=output),
            label,
            status="error" if code else "ok",
            text=output,
            exit_code=code,
        )

    def edit(self, path: str, *lines: str, tool: str = "edit") -> None:
        self.call(tool, path=path)
        self.result(make_diff(path, *lines), changed_paths=[f"/work/{path}"])

    def ask(self, question: str, *, recovered: bool = False) -> None:
        self.request_id = f"request-{next(self.numbers)}"
        self.add(
            PermissionRequest,
            request_id=self.request_id,
            call_id=self.call_id,
            tool=self.tool,
            prompt=question,
            arguments={},
            recovered=recovered,
        )

    def answer(self, decision: Allow | AllowAlways | Deny | Ask, by: str = "notebook") -> None:
        self.add(
            PermissionResolved,
            request_id=self.request_id,
            call_id=self.call_id,
            decision=decision,
            by=by,
        )

    def used(self, **fields: Any) -> None:
        tokens = TokenUsage(input_tokens=10, output_tokens=5)
        self.add(UsageEvent, **{"model": "m", "tokens": tokens, "totals": USAGE, **fields})

    def end(self, text: str = "", outcome: Outcome = "completed", **fields: Any) -> None:
        self.add(TurnEnd, **{"outcome": outcome, "text": text, "usage": USAGE, **fields})

    def finish(self, text: str, **fields: Any) -> None:
        self.say(text)
        self.end(text, **fields)

    def recorder(self, *, deterministic: bool = False, **options: Any) -> TurnRecorder:
        clock = Clock()
        recorder = TurnRecorder(
            agent="tally", prompt="go", deterministic=deterministic, clock=clock, **options
        )
        for event in self.events:
            clock.now += 0.5
            recorder.take(event)
        return recorder

    def record(self, *, deterministic: bool = False) -> TurnRecord:
        return self.recorder(deterministic=deterministic).record()


def make_edit_turn() -> TurnBuilder:
    """Tests fail, a file is edited with consent, they pass."""
    turn = TurnBuilder()
    turn.say("I'll look at how the model picks its season.")
    turn.read("forecast/model.py", "class Model:\n\n    period = 12")
    turn.bash("pytest -q", "E   assert 12 == 52\n2 failed, 9 passed in 1.87s", 1)
    turn.say("The period is fixed. I'll take it from the index.")
    turn.call("edit", path="forecast/model.py")
    turn.ask("Allow edit forecast/model.py?")
    turn.answer(Allow())
    diff = make_diff("forecast/model.py", " class Model:", "-    period = 12", "+    period = 52")
    turn.result(diff)
    turn.edit("tests/test_model.py", *[f"+line {number}" for number in range(14)], tool="write")
    turn.bash("pytest -q", "...\n340 passed in 9.80s")
    turn.used(context_tokens=62_000, context_window=200_000)
    turn.finish("It now comes from the index:\n\n- weekly data get **52**\n- daily data get 7")
    return turn
