"""One section of a summary (Shard §4.6): from blocks to lines, deterministic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from shard_jupyter.contracts.code_intelligence import CodeIntelligenceProvider
from shard_jupyter.types.content import ContentBlock


@dataclass(frozen=True)
class ExtractorContext:
    """`code_index` is the whole of the coupling to code intelligence (Shard §19.2)."""

    compaction_index: int
    previous_summary: str | None = None
    code_index: CodeIntelligenceProvider | None = None


class Extractor(Protocol):
    @property
    def name(self) -> str: ...

    def extract(self, blocks: Sequence[ContentBlock], context: ExtractorContext) -> list[str]:
        """Pure: the same blocks give the same lines on every machine."""
        ...
