from __future__ import annotations

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

from shard_jupyter.core.modes.builtin_modes import BUILTIN_MODES
from shard_jupyter.surfaces.magics.cell_options import MODES
from shard_jupyter.surfaces.magics.line.command_table import LINE_COMMANDS
from shard_jupyter.surfaces.magics.line.line_completion import complete_line, register_completion

pytestmark = pytest.mark.proves("D02")


def test_commands_come_first() -> None:
    assert complete_line(" ") == list(LINE_COMMANDS)
    assert complete_line(" hist") == list(LINE_COMMANDS)


def test_what_a_command_names_is_completed() -> None:
    assert complete_line(" mode ") == [*MODES, "--agent"]
    assert complete_line(" help s") == list(LINE_COMMANDS)
    assert complete_line(" history ") == ["--agent", "--session", "--sessions"]


def test_an_option_is_offered_once_and_its_value_where_it_is_known() -> None:
    assert complete_line(" status --agent ") == []
    assert complete_line(" status --agent ", ["a", "b"]) == ["a", "b"]
    assert complete_line(" history --session ") == ["last"]
    assert complete_line(" doctor --agent ", ["a"]) == []
    assert complete_line(" history --sessions --") == ["--agent", "--session"]
    assert complete_line(" nothing ") == []


def test_the_modes_are_those_there_are() -> None:
    assert tuple(mode.name for mode in BUILTIN_MODES) == MODES


def matches(shell: InteractiveShell, line: str) -> list[str]:
    with provisionalcompleter():
        return [found.text for found in shell.Completer.completions(line, len(line))]


def test_the_shell_completes_lines_until_that_is_ended() -> None:
    shell = InteractiveShell()
    end = register_completion(shell, lambda: ["mine"])
    for line, found in (
        ("%shard ", list(LINE_COMMANDS)),
        ("%shard hi", ["history"]),
        ("s = %shard st", ["status"]),
        ("x = 1\n  %shard status --agent ", ["mine"]),
        ("%shard history --se", ["--session", "--sessions"]),
    ):
        assert matches(shell, line) == sorted(found)
    assert "history" not in matches(shell, "%%shard hi")
    assert "history" not in matches(shell, "%shards hi")
    end()
    end()
    assert "history" not in matches(shell, "%shard hi")
