"""The agents of a kernel: kept, changed, restored, and ended with it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.fakes.model_server import MockModel, model_server
from tests.jupyter.agent_kernel import (
    MODEL,
    NOTEBOOK,
    command_lines,
    descendants,
    displays,
    final_bundle,
    open_agent_kernel,
)
from tests.jupyter.kernel import CellRun, Kernel

__all__ = ["model_server"]
pytestmark = pytest.mark.proves("D02")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("agents")


@pytest.fixture(scope="module")
def shared_kernel(folder: Path, model_server: MockModel) -> Iterator[Kernel]:
    with open_agent_kernel(folder, model_server.url) as running:
        yield running


@pytest.fixture
def kernel(shared_kernel: Kernel, model_server: MockModel) -> Kernel:
    """Starts each test with a new conversation and nothing recorded."""
    ask(shared_kernel, f"--new --model {MODEL} --mode build", "@@say Ready.")
    model_server.reset()
    return shared_kernel


def ask(kernel: Kernel, options: str = "", prompt: str = "Hi.") -> CellRun:
    run = kernel.execute(f"%%shard {options}\n{prompt}")
    assert run.status == "ok", run.error
    return run


def conversation(model_server: MockModel) -> list[str]:
    """The words of the person in the newest request, without those of the fixture."""
    body = model_server.ask("/__bodies")[-1]
    told = [m["content"] for m in body["messages"] if m["role"] == "user"]
    return [words for words in told if words != "@@say Ready."]


def sessions(folder: Path) -> set[str]:
    return {path.name for path in (folder / "state" / "sessions").iterdir()}


def worker(kernel: Kernel) -> psutil.Process:
    (found,) = (p for p in descendants(kernel) if "agent_process" in " ".join(p.cmdline()))
    return found


def test_nothing_starts_before_the_first_cell_which_can_be_interrupted_in_it(
    tmp_path: Path, model_server: MockModel
) -> None:
    with open_agent_kernel(tmp_path, model_server.url) as kernel:
        assert descendants(kernel) == []
        cell = kernel.start_cell(
            f"%%shard --model {MODEL}\n@@text 4000 @@delay 50", allow_stdin=True, metadata=NOTEBOOK
        )
        kernel.wait_until(cell, lambda run: bool(displays(run)))
        started = time.monotonic()
        kernel.interrupt()
        kernel.finish(cell, timeout=10)
        assert time.monotonic() - started < 2
        assert cell.error is not None, (cell.reply, displays(cell))
        assert cell.error["evalue"].startswith("Stopped before the prompt was sent.")
        assert "Stopped before" in displays(cell)[-1]["data"]["text/plain"]
        ask(kernel, f"--model {MODEL}", "@@say Next.")
        worker(kernel)


def test_cells_continue_one_conversation_and_new_starts_another(
    kernel: Kernel, folder: Path, model_server: MockModel
) -> None:
    before = sessions(folder)
    ask(kernel, "", "one")
    ask(kernel, "", "two")
    assert conversation(model_server) == ["one", "two"]
    ask(kernel, f"--new --model {MODEL}", "three")
    assert conversation(model_server) == ["three"]
    ask(kernel, f"--agent third --model {MODEL}", "four")
    assert conversation(model_server) == ["four"]
    ask(kernel, "", "five")
    assert conversation(model_server) == ["three", "five"]
    assert len(sessions(folder) - before) == 2
    worker(kernel)


def test_a_stored_session_is_taken_up(
    kernel: Kernel, folder: Path, model_server: MockModel
) -> None:
    before = sessions(folder)
    ask(kernel, f"--new --model {MODEL}", "one")
    (first,) = sessions(folder) - before
    ask(kernel, f"--new --model {MODEL}", "two")
    ask(kernel, f"--session {first} --model {MODEL}", "three")
    assert conversation(model_server) == ["one", "three"]
    ask(kernel, f"--new --model {MODEL}", "four")
    ask(kernel, f"--session last --model {MODEL}", "five")
    assert conversation(model_server) == ["four", "five"]
    run = kernel.execute(f"%%shard --session session-00000000000000000000000000 --model {MODEL}\nx")
    assert run.error is not None
    assert run.error["ename"] == "SessionNotFound"


def test_no_session_of_this_folder_is_an_error_in_words(kernel: Kernel, tmp_path: Path) -> None:
    kernel.execute(f"import os; home = os.getcwd(); os.chdir({str(tmp_path)!r})")
    run = kernel.execute(f"%%shard --session last --model {MODEL}\nx")
    assert run.error is not None
    assert run.error["evalue"].startswith("No session of this folder is stored.")
    assert run.outputs[:-1] == []
    kernel.execute("os.chdir(home)")


def test_in_another_folder_the_agent_stays_where_it_was_and_the_cell_says_so(
    kernel: Kernel, tmp_path: Path
) -> None:
    kernel.execute(f"import os; home = os.getcwd(); os.chdir({str(tmp_path)!r})")
    run = ask(kernel, "--ask yes", "Go. @@shell touch here")
    assert "still works in the folder" in final_bundle(run)["text/plain"]
    assert not (tmp_path / "here").exists()
    run = ask(kernel, f"--new --model {MODEL} --ask yes", "Go. @@shell touch here")
    assert "still works in the folder" not in final_bundle(run)["text/plain"]
    assert (tmp_path / "here").exists()
    kernel.execute("os.chdir(home)")


def test_when_no_new_agent_can_be_made_the_old_one_goes_on(
    kernel: Kernel, model_server: MockModel
) -> None:
    ask(kernel, "", "one")
    run = kernel.execute("%%shard --new --model nonsense:x\ntwo")
    assert run.error is not None
    ask(kernel, "", "three")
    assert conversation(model_server) == ["one", "three"]


def test_model_and_mode_change_within_the_conversation(
    kernel: Kernel, folder: Path, model_server: MockModel
) -> None:
    before = sessions(folder)
    ask(kernel, "", "one")
    run = ask(kernel, "--model openai-responses:mock --mode plan", "two")
    assert "openai-responses:mock · plan" in final_bundle(run)["text/plain"]
    run = ask(kernel, "", "three")
    assert "openai-responses:mock · plan" in final_bundle(run)["text/plain"]
    assert sessions(folder) == before


def test_a_model_that_is_none_leaves_the_agent_as_it_was(kernel: Kernel) -> None:
    ask(kernel, f"--model {MODEL}", "one")
    run = kernel.execute("%%shard --model nonsense:x\ntwo")
    assert run.error is not None
    assert run.error["ename"] == "UnknownModel"
    assert MODEL in final_bundle(ask(kernel, "", "three"))["text/plain"]


def test_a_prompt_that_is_refused_holds_up_nothing(kernel: Kernel) -> None:
    run = kernel.execute("%%shard --record missing-folder/x.json\none")
    assert run.error is not None
    assert run.error["ename"] == "UsageError"
    assert run.outputs[:-1] == []
    agent = worker(kernel)
    started = time.monotonic()
    ask(kernel, "", "two")
    assert time.monotonic() - started < 4
    assert worker(kernel).pid == agent.pid


def test_a_changed_environment_reaches_the_agent_and_the_conversation_goes_on(
    kernel: Kernel, folder: Path, model_server: MockModel
) -> None:
    before = sessions(folder)
    ask(kernel, "", "one")
    kernel.execute("import os; os.environ['FLAVOUR'] = 'vanilla'")
    run = ask(kernel, "--ask yes", "two @@shell echo flavour-$FLAVOUR")
    assert "flavour-vanilla" in final_bundle(run)["text/plain"]
    assert conversation(model_server)[0] == "one"
    kernel.execute("del os.environ['FLAVOUR']")
    assert sessions(folder) == before


def test_a_worker_that_died_is_replaced_and_the_cell_says_so(
    kernel: Kernel, folder: Path, model_server: MockModel
) -> None:
    before = sessions(folder)
    ask(kernel, "", "one")
    ask(kernel, f"--agent other --model {MODEL}", "elsewhere")
    old = worker(kernel)
    old.kill()
    run = ask(kernel, "", "two")
    assert "was started again" in final_bundle(run)["text/plain"]
    assert conversation(model_server) == ["one", "two"]
    run = ask(kernel, "--agent other", "elsewhere again")
    assert "was started again" not in final_bundle(run)["text/plain"]
    assert conversation(model_server) == ["elsewhere", "elsewhere again"]
    assert worker(kernel).pid != old.pid
    assert len(sessions(folder) - before) == 1


def test_a_worker_that_dies_in_a_turn_fails_the_cell_and_keeps_what_was(
    kernel: Kernel, model_server: MockModel
) -> None:
    ask(kernel, f"--model {MODEL}", "one")
    cell = kernel.start_cell("%%shard\ntwo @@quirk hang", allow_stdin=True, metadata=NOTEBOOK)
    model_server.ask("/__hung")
    worker(kernel).kill()
    kernel.finish(cell)
    assert cell.error is not None
    assert "The agent process ended" in cell.error["evalue"]
    assert "The agent process ended" in displays(cell)[-1]["data"]["text/plain"]
    run = ask(kernel, "--new --model openai:mock", "three")
    assert "was started again" in final_bundle(run)["text/plain"]


@pytest.mark.slow
def test_a_worker_that_stands_still_is_replaced(kernel: Kernel) -> None:
    ask(kernel, f"--model {MODEL}", "one")
    old = worker(kernel)
    cell = kernel.start_cell("%%shard\ntwo @@quirk hang", allow_stdin=True, metadata=NOTEBOOK)
    kernel.wait_until(cell, lambda run: len(displays(run)) > 1)
    os.kill(old.pid, signal.SIGSTOP)
    kernel.interrupt()
    kernel.finish(cell, timeout=5)
    assert cell.error is not None
    run = kernel.execute("%%shard --new --model openai:mock\nthree", timeout=60)
    assert run.status == "ok", run.error
    assert worker(kernel).pid != old.pid
    assert not old.is_running()


@pytest.mark.parametrize("end", ["shutdown", "kill", "unload"])
def test_no_process_outlives_the_kernel(end: str, tmp_path: Path, model_server: MockModel) -> None:
    with open_agent_kernel(tmp_path, model_server.url) as kernel:
        ask(kernel, f"--model {MODEL} --ask yes", "one @@shell sleep 273 & echo started")
        if end != "unload":
            kernel.start_cell("%%shard --ask yes\ntwo @@shell sleep 273")
            while not [line for line in command_lines(descendants(kernel)) if line == "sleep 273"]:
                pass
        family = descendants(kernel)
        assert family
        if end == "unload":
            assert kernel.execute("%unload_ext shard_jupyter").status == "ok"
            assert descendants(kernel) == []
        else:
            kernel.manager.shutdown_kernel(now=end == "kill")
        _, alive = psutil.wait_procs(family, timeout=10)
        assert command_lines(alive) == []


@pytest.mark.parametrize(
    ("before", "options", "error"),
    [
        ("pass", "--session no-such-session", "SessionNotFound"),
        ("pass", "--new --model nonsense:model", "UnknownModel"),
        ("%env ADDED=1", "--model nonsense:model", "UnknownModel"),
    ],
)
def test_a_cell_that_cannot_open_what_it_names_leaves_the_agent_as_it_was(
    kernel: Kernel, before: str, options: str, error: str
) -> None:
    ask(kernel, "", "one")
    held = "s = %shard status\n(s.session_id, s.state, s.model, s.mode, s.turns)"
    was = kernel.execute(held).result
    assert was is not None
    assert "'Idle'" in was
    kernel.execute(before)
    failed = kernel.execute(f"%%shard {options}\ntwo")
    assert failed.error is not None
    assert failed.error["ename"] == error
    assert kernel.execute(held).result == was
    assert kernel.execute("%shard mode plan").status == "ok"


def test_after_a_fork_the_child_starts_with_no_agents(kernel: Kernel) -> None:
    ask(kernel, f"--model {MODEL}", "one")
    code = """
import os
from shard_jupyter.surfaces.magics import kernel_agents
(agents,) = kernel_agents._made
assert agents.all()
pid = os.fork()
if pid == 0:
    os._exit(0 if agents.all() == () and agents.current() is None else 1)
os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
"""
    assert kernel.execute(code).result == "0"
    ask(kernel, "", "two")
