"""`%shard` in real kernels: each command where nothing has started, with an agent, interrupted."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest
from nbclient.client import NotebookClient

from tests.fakes.model_server import MockModel, model_server
from tests.jupyter.agent_kernel import (
    MODEL,
    TRANSCRIPT,
    descendants,
    final_bundle,
    open_agent_kernel,
)
from tests.jupyter.kernel import CellRun, Kernel, kernel_environ

__all__ = ["model_server"]
pytestmark = [pytest.mark.proves("D02"), pytest.mark.timeout(120)]

FORMS = {"text/plain", "text/markdown", "text/html"}
COMMANDS = (
    "status", "models", "mode", "model", "history", "history --sessions", "grants", "doctor", "help",
    *(f"help {name}" for name in ("status", "models", "mode", "model", "history", "grants", "doctor")),
)  # fmt: skip
MAIN = "--agent agent"
ENGINE = (
    "openai",
    "anthropic",
    "httpx2",
    "shard_jupyter.capabilities",
    "shard_jupyter.surfaces.sdk",
)


def prompt(text: str, options: str = "") -> str:
    """Write a cell that goes on with its conversation."""
    return f"%%shard --model {MODEL} --ask yes {options}\n{text}"


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory, model_server: MockModel) -> Iterator[Kernel]:
    """A kernel in which no agent starts."""
    with open_agent_kernel(tmp_path_factory.mktemp("empty"), model_server.url) as kernel:
        yield kernel


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory, model_server: MockModel) -> Iterator[Kernel]:
    """A kernel whose agent has had two turns."""
    with open_agent_kernel(tmp_path_factory.mktemp("used"), model_server.url) as kernel:
        for text in ("Make it. @@shell echo hi > made.txt\nmore words", "Again <b>& $x$</b>"):
            run = kernel.execute(prompt(text))
            assert run.status == "ok", run.error
        yield kernel


def value(kernel: Kernel, code: str) -> Any:
    run = kernel.execute(f"import json; print(json.dumps({code}))")
    assert run.status == "ok", run.error
    return json.loads(run.stream())


def shown(run: CellRun) -> dict[str, Any]:
    """The value of a line, which is all that its cell shows."""
    assert run.status == "ok", run.error
    assert [message["msg_type"] for message in run.outputs] == ["execute_result"]
    data: dict[str, Any] = run.outputs[0]["content"]["data"]
    assert set(data) >= FORMS
    return data


def read(kernel: Kernel, line: str) -> str:
    return str(shown(kernel.execute(f"%shard {line}"))["text/plain"])


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_answers_without_an_agent_and_starts_none(empty: Kernel, line: str) -> None:
    shown(empty.execute(f"%shard {line}"))
    assert not descendants(empty)


def test_what_there_is_without_an_agent_says_how_to_start_one(empty: Kernel) -> None:
    for line in ("status", "history"):
        assert "This notebook has no agent. Start one: put %%shard" in read(empty, line)
    run = empty.execute("s = %shard status")
    assert (run.status, run.outputs) == ("ok", [])
    assert value(empty, "[s.session_id, s.turns, s.model]") == [None, None, None]


@pytest.mark.proves("J3.9")
@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("", "%shard needs a command, such as %shard status."),
        ("   ", "%shard needs a command"),
        ("statuz", "Did you mean 'status'?"),
        ("undo", "%shard has no command 'undo'."),
        ("history --sesion x", "Did you mean '--session'?"),
        ("status 'x", "no closing quotation"),
        ("history 3", "so there is no turn 3"),
        ("mode plan", "%%shard --mode plan"),
        ("sta\u202etus {x} $y", "%shard has no command 'sta\\u202etus'"),
    ],
)
def test_a_wrong_line_fails_its_cell_with_one_clear_line(
    empty: Kernel, line: str, told: str
) -> None:
    run = empty.execute(f"%shard {line}")
    assert run.status == "error"
    assert [message["msg_type"] for message in run.outputs] == ["error"]
    assert run.error is not None
    assert run.error["ename"] == "UsageError"
    assert told in run.error["evalue"]
    (only,) = run.error["traceback"]
    assert "\n" not in only


def test_lines_are_completed(empty: Kernel) -> None:
    assert empty.complete("%shard hi") == ["history"]
    assert empty.complete("s = %shard mode p") == ["plan"]
    assert empty.complete("x = 1\n%shard history --ses") == ["--session", "--sessions"]


def test_no_command_loads_the_engine_or_an_sdk(used: Kernel) -> None:
    for line in COMMANDS:
        shown(used.execute(f"%shard {line}"))
    found = value(used, f"[name for name in {ENGINE!r} if name in __import__('sys').modules]")
    assert found == []


def test_the_status_is_that_of_the_agent(used: Kernel) -> None:
    told = read(used, f"status {MAIN}")
    for part in ("Agent: agent", "State: Idle", f"Model: {MODEL}", "Mode: build", "model calls"):
        assert part in told
    assert re.search(r"Last used: (just now|\d+ min ago)", told)
    used.execute(f"s = %shard status {MAIN}")
    session_id, turns, cwd = value(used, "[s.session_id, s.turns, s.agent.cwd]")
    assert turns >= 2
    assert session_id.startswith("session-")
    assert cwd == value(used, "__import__('os').getcwd()")
    assert "agent" in used.complete("%shard status --agent ")


def test_the_history_lists_the_turns_and_shows_one_as_its_cell_was(used: Kernel) -> None:
    first, second = [
        [cell for cell in row.split("  ") if cell.strip()]
        for row in read(used, f"history {MAIN}").split("\n")[1:3]
    ]
    assert first[1].strip() == "Make it. @@shell echo hi > made.txt"
    assert (first[0], first[2].strip(), first[3].strip()) == ("1", "Done", "1")
    assert second[1].strip() == "Again <b>& $x$</b>"
    data = shown(used.execute(f"%shard history 1 {MAIN}"))
    assert "more words" in data["text/plain"]
    assert "echo hi > made.txt" in data["text/plain"]
    assert "<b>&" not in shown(used.execute(f"%shard history 2 {MAIN}"))["text/html"]
    listed = read(used, "history --sessions")
    used.execute(f"s = %shard status {MAIN}")
    assert value(used, "s.session_id") in listed


def test_a_turn_from_the_history_reads_as_the_cell_did(used: Kernel) -> None:
    run = used.execute(prompt("Look. @@read made.txt", "--agent reader"))
    transcript = final_bundle(run)[TRANSCRIPT]
    kept = shown(used.execute("%shard history 1"))[TRANSCRIPT]
    for part in ("prompt", "answer", "outcome", "summary", "step_count", "changed_files"):
        assert kept[part] == transcript[part], part


def test_a_conversation_that_no_agent_has_any_more_is_read_from_its_log(used: Kernel) -> None:
    used.execute(prompt("Old words.", "--agent writer"))
    used.execute("s = %shard status")
    used.execute(prompt("New words.", "--agent writer --new"))
    session_id = value(used, "s.session_id")
    assert "Old words." in read(used, f"history --session {session_id}")
    assert "Old words." in read(used, f"history -1 --session {session_id}")
    assert "Old words." not in read(used, "history --agent writer")


def test_a_mode_that_a_line_has_set_holds_until_a_cell_sets_another(used: Kernel) -> None:
    used.execute(prompt("Begin.", "--mode build"))
    assert "agent is in mode plan now; it was in build" in read(used, "mode plan")
    assert "plan (now)" in read(used, "mode")
    used.execute(prompt("Plan it."))
    assert "Mode: plan" in read(used, "status")
    used.execute(prompt("Do it.", "--mode build"))
    assert "Mode: build" in read(used, "status")
    run = used.execute("%shard mode pln")
    assert run.error is not None
    assert run.error["ename"] == "UnknownMode"


def test_a_model_that_cannot_be_used_is_refused_and_nothing_is_switched(used: Kernel) -> None:
    run = used.execute(f"%shard model nonsense:x {MAIN}")
    assert run.error is not None
    assert run.error["ename"] == "UnknownModel"
    assert MODEL in read(used, f"model {MAIN}")
    assert "uses openai:other from the next prompt on" in read(used, f"model openai:other {MAIN}")
    read(used, f"model {MODEL} {MAIN}")


def test_an_agent_whose_process_was_killed_is_looked_at_again(used: Kernel) -> None:
    before = read(used, f"history {MAIN}")
    for process in descendants(used):
        process.kill()
    assert "State: Idle" in read(used, f"status {MAIN}")
    assert before.split("\n")[:3] == read(used, f"history {MAIN}").split("\n")[:3]


@pytest.mark.parametrize("before", ["", "import asyncio\nawait asyncio.sleep(0)\n"])
def test_an_interrupt_ends_the_wait_and_what_was_started_for_it(
    empty: Kernel, tmp_path: Path, before: str
) -> None:
    (tmp_path / "sitecustomize.py").write_text("import time\ntime.sleep(60)\n", encoding="utf-8")
    empty.execute(
        f"import os; before = dict(os.environ); os.environ['PYTHONPATH'] = {str(tmp_path)!r}"
    )
    cell = empty.start_cell(f"{before}%shard models")
    while not descendants(empty):
        pass
    pressed = time.monotonic()
    empty.interrupt()
    run = empty.finish(cell)
    assert time.monotonic() - pressed < 2
    assert run.error is not None
    assert run.error["ename"] == "KeyboardInterrupt"
    assert not [
        process for process in descendants(empty) if process.status() != psutil.STATUS_ZOMBIE
    ]
    empty.execute("os.environ.clear(); os.environ.update(before)")
    assert "openai" in read(empty, "models")


@pytest.mark.proves("J3.36")
def test_a_notebook_with_lines_runs_headless(tmp_path: Path, model_server: MockModel) -> None:
    cells = [
        "%load_ext shard_jupyter",
        f"%%shard --model {MODEL} --ask yes\nGo. @@shell echo hi",
        "%shard status",
        "%shard history",
        "%shard history 1",
        "h = %shard history\nassert [turn.outcome for turn in h.turns] == ['completed']",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    client = NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(tmp_path)}})
    url = {"OPENAI_BASE_URL": f"{model_server.url}/v1", "OPENAI_API_KEY": "sk-test"}
    client.execute(env=kernel_environ(tmp_path, url))
    for cell in notebook.cells[2:5]:
        (output,) = cell.outputs
        assert output.output_type == "execute_result"
        assert set(output.data) >= FORMS
    assert notebook.cells[5].outputs == []
