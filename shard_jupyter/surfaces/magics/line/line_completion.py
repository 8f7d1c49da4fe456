"""Completes what follows `%shard`. Light: the extension imports it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from shard_jupyter.surfaces.magics.cell_options import MODES
from shard_jupyter.surfaces.magics.line.command_table import LINE_COMMANDS

if TYPE_CHECKING:
    from IPython.core.completer import CompletionContext
    from IPython.core.interactiveshell import InteractiveShell

_LINE = re.compile(r"\s*(?:\w+\s*=\s*)?%shard(\s.*)")
"""Also on the right of `s = %shard status`."""


class LineMatcher:
    """A matcher of IPython's completer. Where it finds something, the others are not asked."""

    matcher_api_version = 2
    matcher_identifier = "shard_line"
    matcher_priority = 1000

    def __init__(self, find_agents: Callable[[], Iterable[str]]) -> None:
        self.__qualname__ = self.matcher_identifier  # which IPython reads of every matcher
        self._find_agents = find_agents

    def __call__(self, context: CompletionContext) -> dict[str, Any]:
        from IPython.core.completer import (  # noqa: PLC0415 - loaded with the first completion
            SimpleCompletion,
        )

        typed = context.full_text.split("\n")[context.cursor_line][: context.cursor_position]
        line = _LINE.fullmatch(typed)
        if line is None:
            return {"completions": [], "suppress": False}
        begun = line[1].rpartition(" ")[2]
        found = complete_line(line[1], self._find_agents())
        fitting = [text for text in found if text.startswith(begun)]
        return {
            "completions": [SimpleCompletion(text, type="param") for text in fitting],
            "matched_fragment": begun,
            "suppress": True,
        }


def register_completion(
    shell: InteractiveShell, find_agents: Callable[[], Iterable[str]] = tuple
) -> Callable[[], None]:
    """Let the shell complete commands, their options and what they name; returns what ends it."""
    matchers = shell.Completer.custom_matchers
    matcher = LineMatcher(find_agents)
    matchers.append(matcher)

    def unregister() -> None:
        with suppress(ValueError):
            matchers.remove(matcher)

    return unregister


def complete_line(text: str, agents: Iterable[str] = ()) -> list[str]:
    """Return what may stand where `text`, which follows the magic's name, ends."""
    *before, _begun = text.split(" ")
    words = [word for word in before if word]
    if not words:
        return list(LINE_COMMANDS)
    command = LINE_COMMANDS.get(words[0])
    if command is None:
        return []
    values = {"--agent": tuple(agents), "--session": ("last",)}
    if words[-1] in values and words[-1] in [option.name for option in command.options]:
        return list(values[words[-1]])
    options = [option.name for option in command.options if option.name not in words]
    named = {"help": tuple(LINE_COMMANDS), "mode": MODES, "grants": ("revoke",)}
    return options if len(words) > 1 else [*named.get(command.name, ()), *options]
