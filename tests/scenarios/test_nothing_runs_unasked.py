"""Whatever happens between a question and its effect: what runs was allowed as it is then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from shard_jupyter.contracts.permission_gate import GateRequest
from shard_jupyter.contracts.tool import Reach
from shard_jupyter.contracts.tool_context import ToolContext
from shard_jupyter.testing.scripted_provider import call, calls, say
from shard_jupyter.types.decisions import Rule
from shard_jupyter.types.events import AgentEvent, PermissionRequest
from shard_jupyter.types.tool_results import ToolResult, text_result
from tests.agent_rig import AgentRig, open_agent
from tests.faulty_tool import FaultyTool
from tests.turn_checks import check_order

pytestmark = pytest.mark.proves("A06", "A07")

FILES = ("a", "b", "link")
ACTIONS = (
    "allow", "deny", "always", "edit value", "edit path", "plan", "build", "grant", "revoke",
    "link to a", "link out",
)  # fmt: skip
ANSWERS = ("allow", "deny", "always", "edit value", "edit path")


class World:
    """Does one drawn action after the other, and keeps what a person has really agreed to."""

    def __init__(self, rig: AgentRig, actions: list[str], pace: int, last: str) -> None:
        self.rig = rig
        self.actions = actions
        self.pace = pace
        self.last = last
        self.is_frozen = False
        self.agreed: list[tuple[dict[str, Any], set[str]]] = []
        self.shown_at: dict[str, set[str]] = {}
        self.targets = ["b", "b"]
        self.may_move_link = True
        self.wrong: list[object] = []
        self.ran = 0

    def real(self, path: str) -> str:
        return self.targets[-1] if path == "link" else path

    def see(self, event: AgentEvent) -> None:
        if isinstance(event, PermissionRequest):
            path = event.arguments["path"]
            # The link may have changed while the question was being written, and only once.
            shown = set(self.targets[-2:]) if path == "link" else {path}
            self.may_move_link = True
            self.shown_at[event.request_id] = shown

    async def act(self) -> None:
        """Go on until it is cancelled; at the end answer everything in one way."""
        while True:
            for _ in range(self.pace):
                await anyio.lowlevel.checkpoint()
            if self.is_frozen:
                continue
            action = self.actions.pop() if self.actions else self.last
            pending = self.rig.session.parts.desk.pending()
            if action not in ANSWERS:
                self.change(action)
            elif pending and pending[0].request_id in self.shown_at:
                self.answer(pending[0], action)

    def change(self, action: str) -> None:
        grants, link = self.rig.session.parts.grants, self.rig.cwd / "link"
        if action in ("plan", "build"):
            self.rig.session.set_mode(action)
        elif action == "grant":
            rule = Rule(effect="allow", tool="odd", path="a")
            grants.give(rule, by="person", timestamp="")
        elif action == "revoke":
            grants._grants.clear()
        elif self.may_move_link:
            self.may_move_link = False
            self.targets.append("a" if action == "link to a" else "/etc/hostname")
            link.unlink()
            link.symlink_to(self.targets[-1])

    def answer(self, request: PermissionRequest, action: str) -> None:
        arguments, more = dict(request.arguments), {}
        decision: Any = "deny" if action == "deny" else "allow"
        if action == "always" and request.offered_rules:
            decision, more = "allow_always", {"rule": request.offered_rules[0]}
        elif action.startswith("edit"):
            edited = {"value": "edited"} if action == "edit value" else {"path": "b"}
            arguments |= edited
            more = {"arguments": arguments}
        done = self.rig.session.answer_permission(request.request_id, decision, by="person", **more)
        if done and decision != "deny":
            self.agreed.append((arguments, self.shown_at[request.request_id]))

    async def run(self, context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
        self.ran += 1
        self.is_frozen = True  # nothing changes while it is looked at
        real = self.real(arguments["path"])
        mode = self.rig.session.parts.modes.current.name
        judged = await anyio.to_thread.run_sync(
            self.rig.session.parts.gate.judge, request_of(arguments, context.cwd, mode)
        )
        agreed = any(made == arguments and real in shown for made, shown in self.agreed)
        is_agreed = agreed and judged.kind != "deny"
        if judged.kind != "allow" and not is_agreed:
            self.wrong.append((arguments, real, judged, self.agreed))
        self.is_frozen = False
        return text_result("ran")


def request_of(arguments: dict[str, Any], cwd: Path, mode: str) -> GateRequest:
    reach = Reach(kind="write", paths=(arguments["path"],))
    return GateRequest(
        call_id="c", tool="odd", arguments=arguments, reach=reach, read_only=False, cwd=cwd,
        mode=mode,
    )  # fmt: skip


async def play(folder: Path, paths: list[str], actions: list[str], pace: int, last: str) -> World:
    tool = FaultyTool(is_read_only=False, kind="write")
    step = calls(*(call("odd", path=path, value="model's") for path in paths))
    with anyio.fail_after(10):
        async with open_agent(folder, step, say("ok"), ask="inline", tools=[tool]) as rig:
            (rig.cwd / "link").symlink_to("b")
            world = World(rig, actions, pace, last)
            tool.on_execute = lambda context: world.run(context, dict(tool.ran[-1]))
            rig.session.subscribe(world.see)
            async with anyio.create_task_group() as group:
                group.start_soon(world.act)
                await rig.session.prompt("go")
                group.cancel_scope.cancel()
            check_order(rig)
    return world


def test_what_runs_was_allowed_as_it_is_when_it_runs(
    tmp_path_factory: pytest.TempPathFactory, thorough: bool
) -> None:
    ran = 0

    @settings(
        max_examples=1000 if thorough else 80,
        deadline=None,
        phases=[Phase.explicit, Phase.reuse, Phase.generate],  # each example is a whole agent
    )
    @given(
        paths=st.lists(st.sampled_from(FILES), min_size=1, max_size=3),
        actions=st.lists(st.sampled_from(ACTIONS), max_size=12),
        pace=st.integers(1, 30),
        last=st.sampled_from(["allow", "deny"]),
    )
    def check(paths: list[str], actions: list[str], pace: int, last: str) -> None:
        nonlocal ran
        world = anyio.run(play, tmp_path_factory.mktemp("w"), paths, actions, pace, last)
        assert world.wrong == []
        ran += world.ran

    check()
    assert ran > 20
