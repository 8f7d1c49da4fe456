"""Completion scripts offer what the parser takes; bash runs its script for real."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from shard_jupyter.surfaces.cli.command_tree import build_parser
from shard_jupyter.surfaces.cli.completion_scripts import make_script
from shard_jupyter.surfaces.cli.described_commands import describe_commands

pytestmark = pytest.mark.proves("B12")
ROOT = describe_commands(build_parser())
BASH = shutil.which("bash")
ASK = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_shard
printf '%s\\n' "${COMPREPLY[@]}"
"""


def complete(*words: str, cwd: Path) -> set[str]:
    """Press Tab in bash behind `words`."""
    assert BASH
    script = cwd / "completion.bash"
    script.write_text(make_script("bash", ROOT), encoding="utf-8")
    done = subprocess.run(
        [BASH, "--norc", "-c", ASK, "bash", str(script), *words],
        cwd=cwd,
        capture_output=True,
        check=True,
        timeout=20,
    )
    assert done.stderr == b""
    return set(done.stdout.decode().split("\n")) - {""}


@pytest.mark.skipif(BASH is None, reason="needs bash")
class TestInBash:
    def test_commands_and_options_are_offered(self, tmp_path: Path) -> None:
        assert complete("shard", "mo", cwd=tmp_path) == {"models"}
        assert complete("shard", "config", "", cwd=tmp_path) >= {"show", "path", "set", "unset"}
        assert complete("shard", "config", "show", "--j", cwd=tmp_path) == {"--json"}
        assert complete("shard", "models", "", cwd=tmp_path) >= {"list", "pull", "rm", "--json"}
        assert complete("shard", "models", "pull", "--y", cwd=tmp_path) == {"--yes"}
        assert complete("shard", "run", "--m", cwd=tmp_path) == {"--model", "--mode"}

    def test_values_are_offered_behind_their_option(self, tmp_path: Path) -> None:
        assert complete("shard", "run", "--ask", "", cwd=tmp_path) == {
            "inline", "deny", "rules", "yes", "recorded",
        }  # fmt: skip
        assert complete("shard", "completion", "f", cwd=tmp_path) == {"fish"}
        assert complete("shard", "run", "--model", "", cwd=tmp_path) == set()

    def test_folders_and_files_are_offered_with_their_blanks(self, tmp_path: Path) -> None:
        (tmp_path / "my folder").mkdir()
        (tmp_path / "my file").write_bytes(b"")
        assert complete("shard", "run", "--cwd", "my", cwd=tmp_path) == {"my folder"}
        assert complete("shard", "run", "--record", "my", cwd=tmp_path) == {"my folder", "my file"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_script_knows_every_command_and_option(shell: str) -> None:
    script = make_script(shell, ROOT)
    assert "jupyter-shard" in script
    for command in ROOT.walk():
        assert " ".join(command.words) in script
        for argument in command.arguments:
            for flag in argument.flags:
                name = f"-l {flag[2:]}" if shell == "fish" and flag.startswith("--") else flag
                assert name in script or f"-s {flag[1:]}" in script
            assert all(choice in script for choice in argument.choices)
