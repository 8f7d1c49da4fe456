"""What `%shard` asks the command line for, with real children."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from shard_jupyter.contracts.process_runner import ProcessSpec
from shard_jupyter.core.processes import SystemProcessRunner
from shard_jupyter.errors import ShardError, UserError
from shard_jupyter.surfaces.magics.line.command_child import ask_command_line
from shard_jupyter.surfaces.magics.line.interruptible import interruptible
from shard_jupyter.surfaces.magics.line.waiting import wait_for

pytestmark = pytest.mark.proves("D02")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return tmp_path


@pytest.fixture(autouse=True)
def no_survivor() -> Iterator[None]:
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    yield
    after = {child.pid for child in psutil.Process().children(recursive=True)}
    assert after <= before


def configure(**values: object) -> None:
    file = Path(os.environ["XDG_CONFIG_HOME"]) / "shard" / "config.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(values), encoding="utf-8")


def test_the_answer_is_that_of_the_environment_of_this_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    configure(model="openai:gpt-5")
    first = ask_command_line("models")[0]
    assert (first["model_id"], first["is_default"]) == ("openai:gpt-5", True)
    assert first["refusal"]["kind"] == "needs_login"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    assert ask_command_line("models")[0]["refusal"] is None


def test_modules_that_lie_beside_the_notebook_are_not_loaded(folder: Path) -> None:
    for name in ("json", "anyio", "shard_jupyter", "secrets"):
        (folder / f"{name}.py").write_text("raise SystemExit(9)\n", encoding="utf-8")
    assert ask_command_line("models")


def test_a_fault_of_the_configuration_is_told_in_the_words_of_the_command(folder: Path) -> None:
    configure(modelz="x")
    with pytest.raises(UserError, match=r"modelz.*model") as caught:
        ask_command_line("models")
    assert not str(caught.value).startswith("shard:")


def test_an_answer_with_another_exit_code_counts_where_the_caller_says_so() -> None:
    configure(modelz="x")
    assert ask_command_line("doctor", codes=(0, 1))["ok"] is False
    with pytest.raises(ShardError, match="exit code 1") as caught:
        ask_command_line("doctor")
    assert caught.value.next_step


def test_one_that_does_not_answer_in_time_is_killed_and_said_to_be_so() -> None:
    with pytest.raises(ShardError, match=r"did not answer within 0\.01 s") as caught:
        ask_command_line("models", limit_seconds=0.01)
    assert caught.value.code == "timeout"


def test_a_folder_that_is_gone_is_told_with_what_to_do(folder: Path) -> None:
    gone = folder / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    with pytest.raises(UserError, match="%cd"):
        ask_command_line("models")


def test_what_is_no_json_is_refused_with_its_place() -> None:
    with pytest.raises(ShardError, match="did not answer in JSON"):
        ask_command_line("completion", "bash", codes=(0, 2), limit_seconds=20)


@pytest.mark.parametrize("handler", [signal.default_int_handler, lambda number, frame: None])
def test_an_interrupt_ends_the_wait_and_the_child_whatever_handler_there_is(handler) -> None:
    spec = ProcessSpec(argv=("sleep", "60"), cwd=Path("/"), env={"PATH": os.defpath})
    main = threading.get_ident()

    others = set(psutil.Process().children())

    def press_once_it_runs() -> None:
        while set(psutil.Process().children()) <= others:
            pass
        signal.pthread_kill(main, signal.SIGINT)

    before = signal.signal(signal.SIGINT, handler)
    presser = threading.Thread(target=press_once_it_runs)
    try:
        presser.start()
        with pytest.raises(KeyboardInterrupt):
            wait_for(lambda: SystemProcessRunner().run(spec))
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        presser.join()
        signal.signal(signal.SIGINT, before)


def test_outside_of_the_main_thread_no_handler_is_touched() -> None:
    seen: list[object] = []

    def look() -> None:
        with interruptible():
            seen.append(signal.getsignal(signal.SIGINT))

    before = signal.getsignal(signal.SIGINT)
    worker = threading.Thread(target=look)
    worker.start()
    worker.join()
    assert seen == [before]
    assert sys.exc_info() == (None, None, None)
