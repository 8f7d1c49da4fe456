"""An agent cell in a terminal IPython, with a person at the keys."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.model_server import MockModel, model_server
from tests.fakes.terminal import Terminal
from tests.jupyter.kernel import kernel_environ

__all__ = ["model_server"]
pytestmark = pytest.mark.proves("D02")

IPYTHON = (
    sys.executable, "-m", "IPython", "--simple-prompt", "--no-banner", "--no-confirm-exit",
    "--no-color-info",
)  # fmt: skip


@pytest.fixture
def terminal(tmp_path: Path, model_server: MockModel) -> Iterator[Terminal]:
    environ = kernel_environ(
        tmp_path,
        {"OPENAI_BASE_URL": f"{model_server.url}/v1", "OPENAI_API_KEY": "x", "NO_COLOR": "1"},
    )
    work = tmp_path / "work"
    work.mkdir()
    terminal = Terminal(IPYTHON, cwd=work, env=environ)
    terminal.see(b"In [1]")
    terminal.type(b"%load_ext shard_jupyter\n")
    terminal.see(b"In [2]")
    yield terminal
    terminal.close()


def cell(prompt: str, options: str = "") -> bytes:
    return f"%%shard --model openai:mock {options}\n{prompt}\n\n\n".encode()


def test_text_streams_and_a_question_is_answered_at_the_terminal(
    terminal: Terminal, tmp_path: Path
) -> None:
    terminal.type(cell("Go. @@shell touch made-in-terminal"))
    terminal.see(b"allow it once")
    terminal.see(b"> ")
    terminal.type(b"y\n")
    terminal.see("✓ bash  touch made-in-terminal".encode())
    terminal.see("Grüße, 世界".encode())
    terminal.see(b"In [3]")
    assert (tmp_path / "work" / "made-in-terminal").exists()


@pytest.mark.proves("A08", "T74")
def test_a_command_is_edited_asked_again_and_then_runs(terminal: Terminal, tmp_path: Path) -> None:
    terminal.type(cell("Go. @@shell touch first"))
    terminal.see(b"allow it once")
    terminal.see(b"> ")
    terminal.type(b"e\n")
    terminal.see(b"\n$ ")
    terminal.type(b"touch   'second'\n")
    terminal.see(b"Edited by you. Allow this command?")
    terminal.see("│ touch second".encode())
    terminal.see(b"\n> ", times=2)
    terminal.type(b"y\n")
    terminal.see(b"In [3]")
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["second"]


@pytest.mark.proves("J3.3")
def test_ctrl_c_stops_the_turn_and_the_prompt_is_back(terminal: Terminal) -> None:
    terminal.type(cell("Go. @@quirk hang @@text 100"))
    terminal.see(b"Done.")
    terminal.type(b"\x03")
    terminal.see(b"TurnFailed: Stopped. Everything so far is kept.")
    terminal.see(b"In [3]")
    terminal.type(b"'go' + 'es on'\n")
    terminal.see(b"'goes on'")


@pytest.mark.proves("J3.3")
def test_ctrl_c_at_a_question_stops_the_turn(terminal: Terminal) -> None:
    terminal.type(cell("Go. @@shell touch never"))
    terminal.see(b"allow it once")
    terminal.see(b"> ")
    terminal.type(b"\x03")
    terminal.see(b"TurnFailed: Stopped. Everything so far is kept.")
    terminal.see(b"In [3]")
    terminal.type(b"input('name? ')\n")
    terminal.see(b"name? ", times=2)
    terminal.type(b"Ada\n")
    terminal.see(b"'Ada'")


def test_the_end_of_ipython_ends_the_agents(terminal: Terminal) -> None:
    import psutil

    terminal.type(cell("Go."))
    terminal.see(b"In [3]")
    family = psutil.Process(terminal.child.pid).children(recursive=True)
    assert family
    terminal.type(b"exit\n")
    assert terminal.end() == 0
    _, alive = psutil.wait_procs(family, timeout=10)
    assert alive == []
