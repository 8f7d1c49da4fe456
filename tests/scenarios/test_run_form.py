"""What runs is what was decided: the parsed form, the same content, the right environment."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from shard_jupyter.core.permissions.shell.shell_verdict import ShellVerdict
from shard_jupyter.testing.scripted_provider import call, say
from shard_jupyter.types.decisions import CommandPattern, Rule
from shard_jupyter.types.events import PermissionRequest
from tests.agent_rig import AgentRig, open_agent
from tests.scenarios.test_permission_flow import WRITE, answer, run
from tests.turn_checks import check_order

pytestmark = pytest.mark.proves("A06")
GIVEN = "echo given"


async def run_judged(
    folder: Path, verdict: ShellVerdict, *, ask: str = "rules", command: str = GIVEN
) -> AgentRig:
    """Run one command of which the shell policy says `verdict`."""
    with anyio.fail_after(15):
        async with open_agent(folder, call("bash", command=command), say("ok"), ask=ask) as rig:
            rig.session.parts.gate._judge_command = lambda text, workspace: verdict
            await rig.session.prompt("go")
            check_order(rig)
    return rig


@pytest.mark.proves("T44")
async def test_what_runs_unasked_is_what_was_parsed_in_a_minimal_environment(
    tmp_path: Path,
) -> None:
    shown = "echo parsed; env"
    rig = await run_judged(tmp_path, ShellVerdict(True, "it reads", GIVEN, shown))
    [(status, text)] = rig.results()
    assert status == "ok"
    lines = text.split("\n")
    assert lines[0] == "parsed"
    names = {line.partition("=")[0] for line in lines[1:]}
    assert names <= {
        "HOME",
        "USER",
        "LANG",
        "LC_ALL",
        "TERM",
        "TMPDIR",
        "PATH",
        "PWD",
        "SHLVL",
        "SHARD_CALL",
        "_",
    }
    [entry] = [entry for entry in rig.entries("permission")]
    assert (entry["decision"]["command"], entry["decision"]["is_confined"]) == (shown, True)


@pytest.mark.parametrize(
    ("verdict", "printed"),
    [
        (ShellVerdict(False, "it is not known", "echo canonical; env"), "canonical"),
        (ShellVerdict(False, "it was not understood"), "given"),
    ],
)
async def test_what_is_allowed_runs_in_canonical_form_or_as_it_was_given(
    tmp_path: Path, verdict: ShellVerdict, printed: str
) -> None:
    rig = await run_judged(tmp_path, verdict, ask="yes")
    [(status, text)] = rig.results()
    assert (status, text.split("\n")[0]) == ("ok", printed)
    if verdict.canonical:
        assert "GIT_EDITOR=true" in text  # the agent's environment, not the minimal one


async def test_a_program_that_is_not_found_says_where_it_was_looked_for(tmp_path: Path) -> None:
    verdict = ShellVerdict(True, "it reads", "nosuch", "nosuch-program")
    [(status, text)] = (await run_judged(tmp_path, verdict)).results()
    assert status == "error"
    assert "[it only reads, so it ran unasked with PATH=/usr/local/bin:/usr/bin:/bin]" in text
    allowed = await run_judged(tmp_path / "yes", ShellVerdict(), ask="yes", command="nosuch")
    assert "PATH=" not in allowed.results()[0][1]


@pytest.mark.proves("T77")
@pytest.mark.parametrize(
    ("command", "status"),
    [("cat .gitignore", "ok"), ("echo git status", "ok"), ("git status", "error")],
)
async def test_only_what_runs_git_depends_on_the_repository(
    tmp_path: Path, command: str, status: str
) -> None:
    repository = tmp_path / "ws" / ".git"
    repository.mkdir(parents=True)
    (repository / "config").write_text("[\n", encoding="utf-8")
    (tmp_path / "ws" / ".gitignore").write_text("x\n", encoding="utf-8")
    with anyio.fail_after(15):
        async with open_agent(
            tmp_path, call("bash", command=command), say("ok"), ask="rules"
        ) as rig:
            await rig.session.prompt("go")
    [(found, text)] = rig.results()
    assert found == status
    assert ("Run it as `command git …`" in text) is (status == "error")


async def test_a_question_names_the_form_that_a_yes_runs_and_an_edit_has_its_own(
    tmp_path: Path,
) -> None:
    step = call("bash", command="echo  'a'  >one")
    rig = await run(
        tmp_path,
        step,
        lambda rig, q: answer(rig, q, arguments={"command": "echo  'b'   >two"}),
        answer,
    )
    asks = [e["decision"] for e in rig.stored if e["type"] == "permission" and e["by"] == "gate"]
    assert [ask["command"] for ask in asks] == ["echo a >one", "echo b >two"]
    assert sorted(path.name for path in rig.cwd.iterdir()) == ["two"]


async def test_a_rule_lets_run_the_canonical_form(tmp_path: Path) -> None:
    rule = Rule(effect="allow", tool="bash", command=CommandPattern(program="touch"))
    step = call("bash", command="touch   'a'   &&   touch b")
    rig = await run(tmp_path, step, ask="rules", rules=[rule])
    [entry] = [entry for entry in rig.stored if entry["type"] == "permission"]
    assert entry["decision"]["command"] == "touch a && touch b"
    assert sorted(path.name for path in rig.cwd.iterdir()) == ["a", "b"]


def replace_content(path: Path) -> None:
    path.write_text("theirs\n", encoding="utf-8")


def exchange_file(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes() if path.exists() else b"")
    other.rename(path)


@pytest.mark.proves("T58")
@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize("change", [replace_content, exchange_file])
@pytest.mark.parametrize(
    "step", [WRITE, call("edit", path="a.txt", old="mine", new="model's")], ids=["write", "edit"]
)
async def test_a_file_that_is_another_since_it_was_shown_is_asked_for_anew(
    tmp_path: Path, step: object, change: Callable[[Path], None], exists: bool
) -> None:
    target = tmp_path / "ws" / "a.txt"
    target.parent.mkdir()
    if exists:
        target.write_text("mine\n", encoding="utf-8")

    def swap(rig: AgentRig, request: PermissionRequest) -> None:
        change(target)
        answer(rig, request)

    rig = await run(tmp_path, step, swap, lambda rig, q: answer(rig, q, "deny"))
    assert [status for status, _ in rig.results()] == ["denied"]
    assert "model's" not in target.read_text(encoding="utf-8")


@pytest.mark.proves("T58")
async def test_a_yes_holds_while_the_file_stays_the_same(tmp_path: Path) -> None:
    target = tmp_path / "ws" / "a.txt"
    target.parent.mkdir()
    target.write_text("mine\n", encoding="utf-8")
    rig = await run(tmp_path, WRITE, answer)
    assert [status for status, _ in rig.results()] == ["ok"]


@pytest.mark.proves("T58")
@pytest.mark.skipif(sys.platform == "darwin", reason="fdatasync is what is slowed down")
@pytest.mark.parametrize("ask", ["yes", "inline"])
async def test_a_write_does_not_happen_over_what_was_written_at_the_last_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ask: str
) -> None:
    target = tmp_path / "ws" / "a.txt"
    sync, changed = os.fdatasync, threading.Event()

    def slow_sync(descriptor: int) -> None:
        log = (tmp_path / "session" / "session.jsonl").read_bytes()
        if b'"tool_intent"' in log and not changed.is_set():
            replace_content(target)
            changed.set()
        sync(descriptor)

    def pass_on(event: object) -> None:
        if isinstance(event, PermissionRequest):
            asyncio.get_running_loop().call_soon(answer, rig, event)

    with anyio.fail_after(10):
        async with open_agent(tmp_path, WRITE, say("ok"), ask=ask) as rig:
            rig.session.subscribe(pass_on)
            monkeypatch.setattr(os, "fdatasync", slow_sync)
            await rig.session.prompt("go")
            check_order(rig)
            assert [found for found, _ in rig.results()] == ["error"]
    assert target.read_text(encoding="utf-8") == "theirs\n"
