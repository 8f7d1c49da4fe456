"""The magic in a terminal, without a kernel."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.jupyter.kernel import kernel_environ


def type_lines(folder: Path, *lines: str) -> str:
    """Type lines into IPython; returns all that the terminal shows."""
    work = folder / "work"
    work.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-m", "IPython", "--simple-prompt", "--no-banner", "--no-confirm-exit"],
        cwd=work,
        env=kernel_environ(folder, {"NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}),
        input="\n".join((*lines, "")),
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=True,
    )
    return done.stdout + done.stderr


@pytest.mark.proves("D02", "J3.9")
def test_errors_are_one_line_and_the_prompt_is_back(tmp_path: Path) -> None:
    shown = type_lines(
        tmp_path, "%load_ext shard_jupyter", "%%shard --modle x", "hello", "", "", "'go' + 'es on'"
    )
    assert "UsageError: --modle is no option. Did you mean --mode or --model?\n" in shown
    assert "Traceback" not in shown
    assert "'goes on'" in shown


@pytest.mark.proves("J3.9")
def test_an_agent_cell_is_typed_until_a_blank_line(tmp_path: Path) -> None:
    shown = type_lines(tmp_path, "%load_ext shard_jupyter", "%%shard", "", "", "'go' + 'es on'")
    assert "UsageError: The prompt is empty." in shown
    assert "'goes on'" in shown


def test_help_is_shown(tmp_path: Path) -> None:
    shown = type_lines(tmp_path, "%load_ext shard_jupyter", "%%shard --help", "", "", "%shard?", "")
    assert shown.count("Ask a coding agent") == 2
    assert "--timeout SECONDS" in shown


def test_it_is_unloaded(tmp_path: Path) -> None:
    shown = type_lines(
        tmp_path,
        "%load_ext shard_jupyter",
        "%unload_ext shard_jupyter",
        "%%shard",
        "x",
        "",
        "",
        "1",
    )
    assert "Cell magic `%%shard` not found" in shown
