"""Completes option names and values on a `%%shard` line."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from shard_jupyter.surfaces.magics.cell_options import complete_options
from shard_jupyter.surfaces.magics.cell_transform import MAGIC

if TYPE_CHECKING:
    from IPython.core.completer import CompletionContext

KnownAgents = Callable[[], tuple[Any, ...]]
"""Gives what is known of the agents that run, as `AgentInfo`; starts nothing."""


class OptionMatcher:
    """A matcher of IPython's completer. Where it finds something, the others are not asked."""

    matcher_api_version = 2
    matcher_identifier = "shard_options"
    matcher_priority = 1000

    def __init__(self, known_agents: KnownAgents) -> None:
        self.__qualname__ = self.matcher_identifier  # which IPython reads of every matcher
        self._known_agents = known_agents

    def __call__(self, context: CompletionContext) -> dict[str, Any]:
        from IPython.core.completer import (  # noqa: PLC0415 - loaded with the first completion
            SimpleCompletion,
        )

        lines = context.full_text.split("\n")
        options = _option_text(lines, context.cursor_line, context.cursor_position)
        if options is None:
            return {"completions": [], "suppress": False}
        agents = self._known_agents()
        found = complete_options(
            options, [agent.name for agent in agents], sorted({agent.model for agent in agents})
        )
        return {
            "completions": [SimpleCompletion(text, type="param") for text in found],
            "matched_fragment": _last_word(options),
            "suppress": True,
        }


def _option_text(lines: list[str], number: int, column: int) -> str | None:
    """What stands between the magic and the cursor; None if the cursor is elsewhere."""
    if any(line.strip() for line in lines[:number]):
        return None
    typed = lines[number][:column].lstrip()
    rest = typed.removeprefix(MAGIC)
    return rest if rest != typed and rest[:1].isspace() else None


def _last_word(options: str) -> str:
    if options[-1:].isspace():
        return ""
    word = options.split()[-1]
    return word.partition("=")[2] if word.startswith("--") and "=" in word else word
