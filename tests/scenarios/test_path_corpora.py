"""Every line of the corpora of paths through the real gate of a real agent, with the real tools."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from shard_jupyter.contracts.permission_gate import GateRequest
from shard_jupyter.core.calls.tool_boundary import read_call
from shard_jupyter.errors import ModelVisibleError
from shard_jupyter.types.decisions import Decision, Rule
from tests.agent_rig import AgentRig, open_agent
from tests.conftest import DATA
from tests.tool_rig import tool_of

pytestmark = pytest.mark.proves("A06", "T43", "T52", "T57", "T59", "T76", "H4a.08")

Row = dict[str, Any]
BROAD = (
    Rule(effect="allow", tool="*"),
    Rule(effect="allow", tool="*", path="**"),
    Rule(effect="allow", tool="write", path="/**"),
)
"""What a careless person would write: none of it covers a protected name, a secret or an outside."""
ARGUMENTS: dict[str, dict[str, str]] = {
    "read": {},
    "ls": {},
    "grep": {"pattern": "x"},
    "find": {"pattern": "*"},
    "write": {"content": "x"},
    "edit": {"old": "x", "new": "y"},
}
TOOLS = {"read": ("read", "ls", "grep", "find"), "write": ("write", "edit")}


def read_rows(name: str) -> list[Row]:
    return [json.loads(line) for line in (DATA / name).read_bytes().split(b"\n") if line]


ROWS = [*read_rows("bad_paths.jsonl"), *read_rows("own_paths.jsonl")]
NEEDS_DISK = [row for row in ROWS if row.get("setup") or row["path"] == "sock"]
PLAIN = [row for row in ROWS if row not in NEEDS_DISK]


def make_workspace(folder: Path) -> Path:
    ws = folder.resolve() / "ws"
    (ws / "src").mkdir(parents=True)
    (ws / "a.py").write_text("x\n", encoding="utf-8")
    (folder / "ws-evil").mkdir()
    (folder / "ws-evil" / "x").write_text("x", encoding="utf-8")
    (folder / "secret").write_text("s", encoding="utf-8")
    return ws


@contextlib.contextmanager
def set_up(row: Row, ws: Path) -> Iterator[None]:
    setup = row.get("setup", "")
    if setup.startswith("race"):
        setup = "ln -s /tmp swap"
    if setup:
        line = setup.replace("$OUT", str(ws.parent))
        subprocess.run(["bash", "-c", line], cwd=ws, check=True)
    with socket.socket(socket.AF_UNIX) as server:
        if row["path"] == "sock":
            server.bind(str(ws / "sock"))
        yield


async def judge(rig: AgentRig, tool_name: str, path: str) -> Decision | None:
    """None: refused as no path at all, or as no arguments."""
    try:
        tool = tool_of(tool_name)
        arguments, reach = read_call(tool, {"path": path, **ARGUMENTS[tool_name]})
        request = GateRequest(
            call_id="c", tool=tool_name, arguments=dict(arguments), reach=reach,
            read_only=tool.is_read_only, cwd=rig.cwd.resolve(), mode="build",
        )  # fmt: skip
        return await anyio.to_thread.run_sync(rig.session.parts.gate.judge, request)
    except ModelVisibleError:
        return None


async def find_wrong(plain: AgentRig, broad: AgentRig, row: Row) -> list[str]:
    ws = plain.cwd.resolve()
    given = row["path"].replace("$WS", str(ws)).replace("$OUT", str(ws.parent))
    if given.startswith("$HOME/") and row["why"] != VARIABLE:
        given = given.replace("$HOME", os.environ["HOME"])
    wrong = []
    for tool in TOOLS[row["op"]]:
        cautious = await judge(plain, tool, given)
        careless = await judge(broad, tool, given)
        kinds = [decision.kind if decision else "refused" for decision in (cautious, careless)]
        if not row["allow"]:
            is_right = "allow" not in kinds
        elif row["op"] == "read":
            is_right = kinds == ["allow", "allow"]
        else:
            is_right = kinds == ["ask", "allow"]
        if not is_right:
            wrong.append(f"{row['id']} {tool} {row['path']!r} ({row['why']}): {kinds}")
    return wrong


VARIABLE = "looks like a variable that is not expanded"


@contextlib.asynccontextmanager
async def open_two(folder: Path, ws: Path):
    async with (
        open_agent(folder / "one", cwd=ws, ask="inline") as plain,
        open_agent(folder / "two", cwd=ws, ask="inline", rules=BROAD) as broad,
    ):
        yield plain, broad


async def test_every_path_is_judged_as_it_is_labelled(tmp_path: Path) -> None:
    ws = make_workspace(tmp_path)
    wrong: list[str] = []
    with anyio.fail_after(120):
        async with open_two(tmp_path, ws) as (plain, broad):
            for row in PLAIN:
                wrong += await find_wrong(plain, broad, row)
    assert wrong == []
    assert len(PLAIN) > 500


@pytest.mark.parametrize("row", NEEDS_DISK, ids=[row["id"] for row in NEEDS_DISK])
async def test_path_with_something_on_the_disk_is_judged_as_it_is_labelled(
    row: Row, tmp_path: Path
) -> None:
    ws = make_workspace(tmp_path)
    with set_up(row, ws), anyio.fail_after(30):
        async with open_two(tmp_path, ws) as (plain, broad):
            assert await find_wrong(plain, broad, row) == []


def test_no_id_is_used_twice() -> None:
    ids = [row["id"] for row in ROWS]
    assert len(set(ids)) == len(ids)
