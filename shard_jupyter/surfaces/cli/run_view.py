"""Show the events of a run: to a person (`PersonView`), or as JSON lines to a program.

A view is called from one thread, the one of its `EventPrinter`.
"""

from __future__ import annotations

from typing import BinaryIO, Protocol, TextIO

from shard_jupyter.surfaces.conversation.person_view import write_failure
from shard_jupyter.types.events import AgentEvent
from shard_jupyter.types.turns import TurnResult


class RunView(Protocol):
    def show(self, event: AgentEvent) -> None: ...

    def finish(self, result: TurnResult) -> None:
        """Show how it ended; called once, last."""
        ...

    def flush(self) -> None:
        """Everything that waits was shown; nothing more is known to come."""
        ...


class JsonView:
    """Every event as one line of JSON, in UTF-8 whatever the locale."""

    def __init__(self, out: BinaryIO, err: TextIO) -> None:
        self._out = out
        self._err = err

    def show(self, event: AgentEvent) -> None:
        self._out.write(event.model_dump_json().encode("utf-8") + b"\n")

    def finish(self, result: TurnResult) -> None:
        write_failure(result, self._err)

    def flush(self) -> None:
        self._out.flush()
