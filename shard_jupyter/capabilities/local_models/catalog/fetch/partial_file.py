"""A file that comes in pieces and may be gone on with another day. Everything here blocks."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Self, TypeGuard

from shard_jupyter.capabilities.local_models.catalog.fetch.source_failed import SourceFailed
from shard_jupyter.store.atomic_file import PRIVATE_FILE, sync_file, write_all, write_atomic

_BLOCK = 1 << 20
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class PartialState:
    """What stands beside the file.

    Attributes:
        origin: what the bytes are part of; those of another origin are void.
        validator: the server's mark of this version of the file (ETag or date), empty: none.
        whole_pieces: for a file that is put together: how many pieces are in it.
        whole_bytes: length after those; what lies behind it came of a piece that was cut.
    """

    origin: str
    validator: str = ""
    whole_pieces: int = 0
    whole_bytes: int | None = None


class PartialFile:
    """An open partial file and the hash of all that is in it; made by `open`."""

    def __init__(self, path: Path, descriptor: int, state: PartialState, limit: int) -> None:
        self.path = path
        self.state = state
        self.limit = limit
        self.size = 0
        self._descriptor = descriptor
        self._hash = hashlib.sha256()

    @classmethod
    def open(cls, path: Path, origin: str, limit: int, on_block: Callable[[int], None]) -> Self:
        """Open it, and read what is there; of another origin, or too long: begin anew.

        `on_block` is told how many bytes were read; what it raises ends the reading.

        Raises:
            OSError: it cannot be opened.
        """
        state = _read_state(state_path(path))
        is_ours = state is not None and state.origin == origin
        descriptor = os.open(path, _FLAGS, PRIVATE_FILE)
        partial = cls(path, descriptor, state if state and is_ours else PartialState(origin), limit)
        try:
            if not is_ours or not partial._is_usable():
                partial.restart()
            partial._read_hash(on_block)
        except BaseException:
            os.close(descriptor)
            raise
        return partial

    def _is_usable(self) -> bool:
        length = os.fstat(self._descriptor).st_size
        whole = self.state.whole_bytes
        if whole is not None and length > whole:
            os.ftruncate(self._descriptor, whole)
        return length <= self.limit and (whole is None or whole <= length)

    def _read_hash(self, on_block: Callable[[int], None]) -> None:
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        while block := os.read(self._descriptor, _BLOCK):
            self._hash.update(block)
            self.size += len(block)
            on_block(self.size)

    def restart(self, validator: str = "") -> None:
        """Throw away what is there. The file goes first: bytes never outlive their origin."""
        os.ftruncate(self._descriptor, 0)
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        self.size = 0
        self._hash = hashlib.sha256()
        self._keep(PartialState(self.state.origin, validator))

    def keep_piece(self) -> None:
        """Say that all of one more piece is in it."""
        pieces = self.state.whole_pieces + 1
        self._keep(replace(self.state, whole_pieces=pieces, whole_bytes=self.size))

    def _keep(self, state: PartialState) -> None:
        self.state = state
        data = json.dumps(asdict(state)).encode()
        write_atomic(state_path(self.path), data, sync=False)

    def write(self, data: bytes) -> None:
        """Add bytes.

        Raises:
            SourceFailed: more than there should be; nothing of them is written.
            OSError: the disk is full, for one; a part of them may have been written.
        """
        if self.size + len(data) > self.limit:
            raise SourceFailed(f"more than the expected {self.limit} bytes came")
        write_all(self._descriptor, data)
        self._hash.update(data)
        self.size += len(data)

    def digest(self) -> str:
        return self._hash.hexdigest()

    def sync(self) -> None:
        sync_file(self._descriptor)

    def close(self) -> None:
        """Leave what has come; where nothing has, leave nothing. Idempotent."""
        if self._descriptor < 0:
            return
        os.close(self._descriptor)
        self._descriptor = -1
        if not self.size:
            remove_partial(self.path)


def state_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def remove_partial(path: Path) -> None:
    path.unlink(missing_ok=True)
    state_path(path).unlink(missing_ok=True)


def _read_state(path: Path) -> PartialState | None:
    try:
        values = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    if not isinstance(values, dict):
        return None
    origin, validator = values.get("origin"), values.get("validator")
    pieces, whole = values.get("whole_pieces"), values.get("whole_bytes")
    if not isinstance(origin, str) or not isinstance(validator, str):
        return None
    if not _is_count(pieces) or not (whole is None or _is_count(whole)):
        return None
    return PartialState(origin, validator, pieces, whole)


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and value >= 0
