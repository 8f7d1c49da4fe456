"""A page of a conversation, for `session_op` list."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_core import to_json

from shard_jupyter.errors import UsageError
from shard_jupyter.protocol.results import SessionOpDone
from shard_jupyter.store.entry_codec import entry_id
from shard_jupyter.types.session_entries import SessionEntry

MAX_PAGE_BYTES = 4 << 20
"""A page ends here too, so that its reply stays far below the largest record."""


def make_page(branch: Sequence[SessionEntry], before: str | None, limit: int) -> SessionOpDone:
    """Newest first, at most `limit`; `before` is the entry that the page before this one ended at.

    Raises:
        UsageError: the active branch has no such entry.
    """
    end = len(branch) if before is None else _find(branch, before)
    page: list[SessionEntry] = []
    size = 0
    for entry in reversed(branch[:end]):
        size += len(to_json(entry))
        if page and (len(page) == limit or size > MAX_PAGE_BYTES):
            break
        page.append(entry)
    return SessionOpDone(entries=tuple(page), more=len(page) < end)


def _find(branch: Sequence[SessionEntry], wanted: str) -> int:
    for position, entry in enumerate(branch):
        if entry_id(entry) == wanted:
            return position
    raise UsageError(f"The conversation has no entry {wanted!r}.")
