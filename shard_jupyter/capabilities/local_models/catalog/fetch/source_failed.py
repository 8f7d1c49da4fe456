"""Why a source gave nothing."""

from __future__ import annotations

from shard_jupyter.errors import ShardError


class SourceFailed(ShardError):
    """This source did not give the file; another one may. Never leaves the catalogue.

    Attributes:
        again: the same request may do better in a moment.
        unreachable: no connection came about.
    """

    code = "source_failed"

    def __init__(self, message: str, *, again: bool = False, unreachable: bool = False) -> None:
        super().__init__(message)
        self.again = again
        self.unreachable = unreachable
