"""What becomes of an error on its way to the notebook."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from shard_jupyter.errors import Bug, UsageError
from shard_jupyter.surfaces.magics.cell_options import OPTIONS
from shard_jupyter.surfaces.magics.shard_magics import HELP, ShardMagics, errors_that_show


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """What a shell would send as an error output."""
    config = Config()
    config.HistoryManager.enabled = False
    shell = InteractiveShell(config=config)
    errors: list[Any] = []
    monkeypatch.setattr(shell, "_showtraceback", lambda *error: errors.append(error))
    shell.user_ns.update(fail=fail, errors_that_show=errors_that_show)
    shell.run_cell("with errors_that_show():\n    fail()")
    yield errors
    shell.restore_sys_module_state()


def fail() -> None:
    error = UsageError("It is wrong.")
    error.__context__ = ExceptionGroup("tasks", [ValueError("x")])
    raise error


@pytest.mark.proves("J3.9", "J3.10")
def test_an_error_with_a_group_behind_it_is_shown(shown: list[Any]) -> None:
    ((kind, _, lines),) = shown
    assert (kind, lines) == (UsageError, ["UsageError: It is wrong."])


def test_a_fault_of_ours_keeps_what_led_to_it() -> None:
    with pytest.raises(Bug) as raised, errors_that_show():
        raise Bug("then") from ValueError("first")
    assert isinstance(raised.value.__cause__, ValueError)


@pytest.mark.proves("D02")
def test_the_help_of_the_magic_names_every_option() -> None:
    assert ShardMagics.shard.__doc__ == HELP
    assert all(option.name in HELP for option in OPTIONS)
