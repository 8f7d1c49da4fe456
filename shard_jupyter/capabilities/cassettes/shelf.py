"""The cassettes that one process records."""

from __future__ import annotations

import os
from pathlib import Path

from shard_jupyter.capabilities.cassettes.cassette import CassetteWriter


class CassetteShelf:
    """One writer a file, however it is named: the first turn starts the file, later ones go on.

    May be shared by any agents that run on one event loop.
    """

    def __init__(self) -> None:
        self._writers: dict[Path, CassetteWriter] = {}

    def take_writer(self, path: Path) -> CassetteWriter:
        """Return the writer of a file; nothing is written yet. Looks at the disk."""
        real = Path(os.path.realpath(path))
        return self._writers.setdefault(real, CassetteWriter(real))
