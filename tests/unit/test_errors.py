"""How errors are told: what a person made in one line, what we made with its story."""

from __future__ import annotations

import inspect
import re

import pytest

from shard_jupyter import errors
from shard_jupyter.errors import Bug, IllegalTransition, ShardError, TurnFailed, UsageError

CLASSES = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if kind.__module__ == errors.__name__
]


@pytest.mark.proves("J3.9", "J3.10")
def test_ipython_gets_one_line_instead_of_a_traceback() -> None:
    error = UsageError("--modle is no option.", next_step="Did you mean --model?")
    assert error._render_traceback_() == ["UsageError: --modle is no option. Did you mean --model?"]
    failed = TurnFailed("it failed", None, code="timeout")
    assert failed._render_traceback_() == ["TurnFailed: it failed"]
    assert ShardError("x")._render_traceback_() == ["ShardError: x"]


def test_what_a_terminal_would_obey_is_made_visible() -> None:
    (line,) = UsageError("a\x1b[31mb\u202ec\ud800d\x07")._render_traceback_()
    assert line == "UsageError: a⟨U+001B⟩[31mb⟨U+202E⟩c⟨U+D800⟩d⟨U+0007⟩"


@pytest.mark.parametrize("error", [Bug("x"), IllegalTransition("turn", "idle", "end")])
def test_a_fault_of_ours_keeps_its_traceback(error: Bug) -> None:
    assert not hasattr(error, "_render_traceback_")


def test_every_class_is_drawn_in_the_tree_at_its_depth() -> None:
    found = {
        name: len(branch)
        for branch, name in re.findall(r"^([│├└─ ]*)(\w+)", errors.__doc__ or "", re.MULTILINE)
    }
    for kind in CLASSES:
        depth = len(kind.__mro__) - len(ShardError.__mro__)
        assert found.get(kind.__name__) == 4 * depth, kind
