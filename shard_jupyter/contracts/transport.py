"""Carries records between a client and whoever serves it; knows nothing of their meaning."""

from __future__ import annotations

from typing import Any, Protocol


class Transport(Protocol):
    async def send(self, record: dict[str, Any]) -> None:
        """Write one record.

        Raises:
            ClientVisibleError: `code` closed (we did), broken (they did) or busy.
        """
        ...

    async def receive(self) -> dict[str, Any]:
        """Next good record. A refused frame raises `FrameError` once and is then skipped."""
        ...

    async def aclose(self) -> None: ...
