"""A vendor's own agent, driven as a runtime (DESIGN §7)."""

from __future__ import annotations

from typing import Protocol

from shard_jupyter.contracts.runtime import Runtime
from shard_jupyter.types.refusals import Refusal


class VendorAgent(Protocol):
    @property
    def vendor(self) -> str: ...

    async def probe(self) -> Refusal | None:
        """Ask by official interfaces only whether it could answer; None when it could."""
        ...

    def create_runtime(self, model: str | None) -> Runtime: ...
