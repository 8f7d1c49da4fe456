"""Where a worker's stderr goes: one private file a worker, for the day when something is wrong."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from shard_jupyter.core.config.config_files import find_state_home
from shard_jupyter.store.atomic_file import PRIVATE_FILE, make_private_folder
from shard_jupyter.types.ids import new_id

KEPT_LOGS = 20
"""Of those that hold something, or were left behind; an empty one goes with its worker."""
_KIND = "worker"
_TAIL_BYTES = 4096


class WorkerLog:
    """The descriptor is open inside of `with` only.

    Attributes:
        path: the file, whether or not it could be made.
        fd: None where the state folder cannot be written; then nothing is kept.
    """

    def __init__(self, path: Path, fd: int | None) -> None:
        self.path = path
        self.fd = fd

    @classmethod
    def open(cls, environ: Mapping[str, str]) -> Self:
        """Make an empty file, and remove the oldest ones that are more than `KEPT_LOGS`.

        Raises:
            ConfigError: SHARD_HOME is not an absolute path.
        """
        folder = find_state_home(environ) / "logs"
        path = folder / f"{new_id(_KIND)}.log"
        try:
            make_private_folder(folder)
            _remove_oldest(folder)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
            return cls(path, os.open(path, flags, PRIVATE_FILE))
        except OSError:
            # Whoever opens a session there is told what is wrong with the folder.
            return cls(path, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None

    def last_line(self) -> str:
        """What was said last; empty if nothing was."""
        try:
            data = self.path.read_bytes()[-_TAIL_BYTES:]
        except OSError:
            return ""
        lines = [line for line in data.split(b"\n") if line.strip()]
        return lines[-1].decode("utf-8", "replace").strip() if lines else ""

    def remove_if_empty(self) -> None:
        with suppress(OSError):
            if self.path.stat().st_size == 0:
                self.path.unlink()


def _remove_oldest(folder: Path) -> None:
    # The names say when they were made.
    for path in sorted(folder.glob(f"{_KIND}-*.log"))[: -(KEPT_LOGS - 1)]:
        path.unlink(missing_ok=True)
