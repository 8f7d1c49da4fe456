"""Optional knowledge of source code (Shard §4.7). Nobody registers one: everything still works."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from shard_jupyter.types.wire_model import WireModel


class Symbol(WireModel):
    name: str
    symbol_kind: str
    path: str
    line: int
    signature: str = ""


class CodeIntelligenceProvider(Protocol):
    async def outline(self, path: Path) -> tuple[Symbol, ...]: ...

    async def symbol(self, name: str) -> tuple[Symbol, ...]: ...

    async def signatures(self, path: Path) -> tuple[str, ...]: ...

    def invalidate(self, path: Path) -> None:
        """Forget what is known of a file that was changed."""
        ...
