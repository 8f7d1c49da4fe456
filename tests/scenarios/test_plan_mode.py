"""In plan mode nothing changes, through any tool or shell form, whatever else is allowed."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import anyio
import pytest

from shard_jupyter.core.permissions.shell.shell_verdict import ShellVerdict
from shard_jupyter.core.tools import builtin_tools
from shard_jupyter.testing.scripted_provider import call, calls, say
from shard_jupyter.types.decisions import CommandPattern, Rule
from shard_jupyter.types.events import PermissionRequest
from tests.agent_rig import AgentRig, open_agent
from tests.faulty_tool import FaultyTool
from tests.scenarios.test_permission_flow import WRITE, answer
from tests.turn_checks import check_order

pytestmark = pytest.mark.proves("A06", "A07", "H4a.05", "T63")
CORPUS = Path(__file__).parents[1] / "data" / "bad_shell_commands.jsonl"

WRITING = (
    "echo x > f", "echo x >> kept.txt", "echo x >| f", "echo x &> f", "cat <<E > f\nx\nE",
    "tee f < kept.txt", "touch f", "mkdir d", "rm kept.txt", "mv kept.txt f", "cp kept.txt f",
    "ln -s kept.txt f", "truncate -s 0 kept.txt", "sed -i s/a/b/ kept.txt", "sed 'w f' kept.txt",
    "dd if=kept.txt of=f", "sort -o f kept.txt", "find . -name kept.txt -delete",
    "find . -exec touch f ;", "xargs touch <<< f", "node -e 'require(\"fs\").writeFileSync(\"f\",1)'",
    "python3 -c 'open(\"f\", \"w\")'", "perl -e 'open F, \">f\"'", "awk 'BEGIN{print > \"f\"}'",
    "bash -c 'echo x > f'", "sh <<< 'echo x > f'", "eval 'echo x > f'", "echo $(touch f)",
    "echo `touch f`", "(touch f)", "{ touch f; }", "ls; touch f", "ls && touch f", "false || touch f",
    "ls | tee f", "ls & touch f", "ls\ntouch f", "if true; then touch f; fi", "f() { touch f; }; f",
    "for a in f; do touch $a; done", "git init", "git add -A", "tar cf f kept.txt", "true > f", "> f",
    "env touch f", "nohup touch f", "timeout 5 touch f", "command touch f", "exec touch f",
    "trap 'touch f' EXIT", "printf x > f", "coproc touch f", "A=1 touch f", "cat kept.txt", "ls",
)  # fmt: skip
"""The forms of H4a.05 and their kind; the last two only read, and need no shell in plan mode."""

EDITED = {
    "read": {"path": "kept.txt"},
    "grep": {"pattern": "mine", "path": "."},
    "find": {"pattern": "*", "path": "."},
    "ls": {"path": "."},
}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "write": {"path": "kept.txt", "content": "changed"},
    "edit": {"path": "kept.txt", "old": "mine", "new": "changed"},
    "bash": {"command": "touch f"},
    "read": {"path": "/etc/hostname"},
    "grep": {"pattern": "x", "path": "/etc/hostname"},
    "find": {"pattern": "hostname", "path": "/etc"},
    "ls": {"path": "/etc"},
}
EVERYTHING = (
    Rule(effect="allow", tool="*"),
    Rule(effect="allow", tool="bash", command=CommandPattern(program="*")),
    Rule(effect="allow", tool="write", path="kept.txt"),
    Rule(effect="allow", tool="edit", path="kept.txt"),
)


def state_of(folder: Path) -> list[tuple[str, int, int, bytes]]:
    return [
        (str(path), path.lstat().st_mode, path.lstat().st_mtime_ns, read_bytes(path))
        for path in sorted(folder.rglob("*"))
    ]


def read_bytes(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


async def run_in_plan_mode(folder: Path, step: Any, ask: str, *tools: FaultyTool) -> AgentRig:
    """Everything is granted and allowed, the policy finds every command safe, people say yes."""
    (folder / "ws").mkdir(parents=True)
    (folder / "ws" / "kept.txt").write_text("mine\n", encoding="utf-8")
    os.utime(folder / "ws" / "kept.txt", (1, 1))
    before = state_of(folder / "ws")
    with anyio.fail_after(30):
        async with open_agent(
            folder, step, say("ok"), ask=ask, mode="plan", rules=EVERYTHING, tools=tools
        ) as rig:

            def say_yes(event: object) -> None:
                if isinstance(event, PermissionRequest):
                    edited = EDITED.get(event.tool)
                    loop = asyncio.get_running_loop()
                    loop.call_soon(lambda: answer(rig, event, arguments=edited))

            rig.session.subscribe(say_yes)
            for rule in EVERYTHING:
                rig.session.parts.grants.give(rule, by="person", timestamp="")
            rig.session.parts.gate._judge_command = lambda text, cwd: ShellVerdict(
                True, "safe", text, text
            )
            await rig.session.prompt("go")
            check_order(rig)
    assert state_of(folder / "ws") == before
    return rig


@pytest.mark.parametrize("ask", ["inline", "yes", "rules", "deny"])
async def test_no_registered_tool_changes_anything(tmp_path: Path, ask: str) -> None:
    names = [tool.spec.name for tool in builtin_tools()]
    assert set(names) == set(ARGUMENTS)  # a new tool has to be thought of here
    step = calls(*(call(name, **ARGUMENTS[name]) for name in names))
    rig = await run_in_plan_mode(tmp_path, step, ask)
    statuses = dict(zip(names, (status for status, _ in rig.results()), strict=True))
    changing = [tool.spec.name for tool in builtin_tools() if not tool.is_read_only]
    assert {statuses[name] for name in changing} == {"denied"}


@pytest.mark.parametrize("ask", ["inline", "yes", "rules"])
async def test_no_form_of_a_shell_command_runs(tmp_path: Path, ask: str) -> None:
    step = calls(*(call("bash", command=command) for command in WRITING))
    rig = await run_in_plan_mode(tmp_path, step, ask)
    assert {status for status, _ in rig.results()} == {"denied"}
    assert rig.seen("permission_request") == []


async def test_no_line_of_the_corpus_runs(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in CORPUS.read_bytes().split(b"\n") if line]
    commands = [line["cmd"] for line in lines if "\0" not in line["cmd"] and line["cmd"]]
    step = calls(*(call("bash", command=command) for command in commands))
    rig = await run_in_plan_mode(tmp_path, step, "yes")
    assert {status for status, _ in rig.results()} <= {"denied", "error"}
    assert rig.entries("tool_intent") == []


@pytest.mark.parametrize("ask", ["inline", "yes", "rules", "deny"])
@pytest.mark.parametrize(
    ("kind", "claims_to_read"), [("write", True), ("execute", True), ("none", False)]
)
async def test_a_tool_that_only_says_that_it_reads_does_not_run(
    tmp_path: Path, ask: str, kind: str, claims_to_read: bool
) -> None:
    tool = FaultyTool(is_read_only=claims_to_read, kind=kind)
    rig = await run_in_plan_mode(tmp_path, call("odd"), ask, tool)
    assert [status for status, _ in rig.results()] == ["denied"]
    assert tool.ran == []


async def test_an_edited_yes_that_comes_after_the_change_to_plan_mode_changes_nothing(
    tmp_path: Path,
) -> None:
    edited = {"path": "b.txt", "content": "person's"}
    with anyio.fail_after(15):
        async with open_agent(tmp_path, WRITE, say("ok"), ask="inline", rules=()) as rig:

            def change_then_edit(event: object) -> None:
                if isinstance(event, PermissionRequest):
                    rig.session.set_mode("plan")
                    loop = asyncio.get_running_loop()
                    loop.call_soon(lambda: answer(rig, event, arguments=edited))

            rig.session.subscribe(change_then_edit)
            await rig.session.prompt("go")
            check_order(rig)
            assert [status for status, _ in rig.results()] == ["denied"]
    assert list(rig.cwd.iterdir()) == []
