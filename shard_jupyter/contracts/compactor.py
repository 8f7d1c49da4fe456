"""When history is folded into a summary, and how (Shard §4.6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from shard_jupyter.types.session_entries import CompactionEntry, SessionEntry


class Compactor(Protocol):
    @property
    def name(self) -> str: ...

    def should_compact(self, context_tokens: int, context_window: int) -> bool:
        """Pure. Asked at the end of a turn, and at 100 % between two model calls."""
        ...

    def compact(self, entries: Sequence[SessionEntry], parent_id: str) -> CompactionEntry | None:
        """Fold the active branch; pure. None when there is no safe boundary to cut at."""
        ...
