"""A folder that another process swaps for a link all the time leads no tool to where it may not."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from shard_jupyter.contracts.permission_gate import GateRequest
from shard_jupyter.core.calls.tool_boundary import execute_call, read_call
from shard_jupyter.core.files import open_beneath
from shard_jupyter.errors import ModelVisibleError
from shard_jupyter.types.decisions import Rule
from tests.agent_rig import AgentRig, open_agent
from tests.tool_rig import ToolRig, make_rig, text_of, tool_of

pytestmark = [
    pytest.mark.proves("A06", "T53", "H4a.08"),
    pytest.mark.skipif(sys.platform != "linux", reason="swaps by renameat2"),
]
SWAPPER = Path(__file__).parent / "folder_swapper.py"
SWAPS = 10_000
MICROSECONDS = 600
CALLS: tuple[tuple[str, dict[str, str]], ...] = (
    ("read", {"path": "swap/f"}),
    ("ls", {"path": "swap"}),
    ("write", {"path": "swap/g", "content": "mine\n"}),
    ("edit", {"path": "swap/f", "old": "inside", "new": "inside"+"!"}),
    ("read", {"path": "swap/deep/er/f"}),
    ("write", {"path": "swap/new/er/g", "content": "mine\n"}),
)  # fmt: skip


@dataclass
class Race:
    """`outcomes` counts what became of the calls; `escapes` holds what was seen of the other side.

    What is protected may be read, so that only writing it would be an escape.
    """

    agent: AgentRig
    tools: ToolRig
    reads_are_escapes: bool
    outcomes: Counter[str] = field(default_factory=Counter)
    escapes: list[str] = field(default_factory=list)

    async def keep_calling(self, name: str, arguments: dict[str, str]) -> None:
        while True:
            await self.call(name, arguments)

    async def call(self, name: str, arguments: dict[str, str]) -> None:
        tool = tool_of(name)
        parsed, reach = read_call(tool, arguments)
        request = GateRequest(
            call_id="c", tool=name, arguments=dict(parsed), reach=reach,
            read_only=tool.is_read_only, cwd=self.agent.cwd, mode="build",
        )  # fmt: skip
        try:
            judge = self.agent.session.parts.gate.judge
            decision = await anyio.to_thread.run_sync(judge, request)
            if decision.kind != "allow":
                self.outcomes["asked"] += 1
                return
            places = dict(zip(reach.paths, decision.places, strict=True))
            context = replace(self.tools.context, places=places)
            result = await execute_call(tool, parsed, context)
        except ModelVisibleError as error:
            found = error.message
            self.outcomes["noticed"] += 1
        else:
            found = text_of(result)
            self.outcomes[f"ran {name}"] += 1
        if self.reads_are_escapes and "outside" in found:
            self.escapes.append(f"{name}: {found}")


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text(encoding="utf-8") if path.is_file() else ""
        for path in folder.rglob("*")
    }


def make_place(folder: Path, target: str) -> tuple[Path, Path]:
    """The workspace with `swap`, and what the link that takes its place leads to."""
    ws = folder.resolve() / "ws"
    elsewhere = {"outside": folder.resolve() / "other", "protected": ws / ".git"}[target]
    for place, word in ((ws / "swap", "inside"), (elsewhere, "outside")):
        (place / "deep" / "er").mkdir(parents=True)
        (place / "f").write_text(f"{word}\n", encoding="utf-8")
        (place / "deep" / "er" / "f").write_text(f"{word}\n", encoding="utf-8")
    (elsewhere / "outside.txt").write_text("x", encoding="utf-8")
    (ws / "link").symlink_to(elsewhere)
    return ws, elsewhere


@pytest.mark.parametrize("way", ["openat2", "parts"])
@pytest.mark.parametrize("target", ["outside", "protected"])
async def test_no_call_gets_through_a_folder_that_became_a_link(
    target: str, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, thorough: bool
) -> None:
    if way == "parts":
        monkeypatch.setattr(open_beneath, "has_openat2", lambda: False)
    ws, elsewhere = make_place(tmp_path, target)
    before = contents(elsewhere)
    is_main = target == "outside" and way == "openat2"
    swaps = SWAPS if thorough or is_main else SWAPS // 4
    command = [sys.executable, str(SWAPPER), "swap", "link", str(swaps), str(MICROSECONDS)]
    # The rules of somebody who lets files be written: they cover neither an outside nor `.git`.
    rules = [Rule(effect="allow", tool="write"), Rule(effect="allow", tool="edit", path="**")]
    with anyio.fail_after(120):
        async with open_agent(tmp_path, cwd=ws, rules=rules, ask="inline") as agent:
            race = Race(agent, make_rig(tmp_path), target == "outside")
            async with anyio.create_task_group() as group:
                for name, arguments in CALLS:
                    group.start_soon(race.keep_calling, name, arguments)
                await anyio.run_process(command, cwd=ws)
                group.cancel_scope.cancel()
    print(f"{swaps} swaps to {target}, {way}: {dict(race.outcomes)}, {len(race.escapes)} escapes")
    assert race.escapes == []
    assert contents(elsewhere) == before
    assert not [path for path in ws.rglob(".shard-*")]
    # It was a race indeed: calls ran, were refused, and met a swap on their way.
    wanted = ("asked", "noticed", "ran read", "ran ls", "ran write", "ran edit")
    assert [name for name in wanted if not race.outcomes[name]] == []
