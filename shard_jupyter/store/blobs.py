"""Bytes kept by what they are: images and long outputs, once each, beside the log."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import anyio.to_thread

from shard_jupyter.errors import StorageError
from shard_jupyter.store.atomic_file import make_private_folder, sync_folder, write_atomic
from shard_jupyter.types.content import ImageBlock

_SHA256 = re.compile(r"[0-9a-f]{64}")


def hash_bytes(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class FileBlobStore:
    """One file a blob, named by its SHA-256. Any number of writers, threads and processes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def put(self, data: bytes, media_type: str) -> ImageBlock:
        sha256 = await anyio.to_thread.run_sync(self._put_mapped, data)
        return ImageBlock(media_type=media_type, sha256=sha256, size_bytes=len(data))

    async def get(self, sha256: str) -> bytes:
        return await anyio.to_thread.run_sync(self.read, sha256)

    def write(self, data: bytes, *, sync: bool = True) -> str:
        """Keep `data` and return its hash. Blocking.

        Raises:
            OSError: as it comes; the writer of a log turns it into its own error.
        """
        sha256 = hash_bytes(data)
        path = self.folder / sha256
        if self._holds(path, data):
            # Whoever wrote it may not have come to the sync of the name yet.
            if sync:
                sync_folder(self.folder)
        else:
            make_private_folder(self.folder)
            write_atomic(path, data, sync=sync)
        return sha256

    def read(self, sha256: str) -> bytes:
        """Read and verify. Blocking."""
        if _SHA256.fullmatch(sha256) is None:
            raise StorageError("A blob's name is not a SHA-256.", code="blob_name")
        try:
            data = (self.folder / sha256).read_bytes()
        except FileNotFoundError as error:
            raise StorageError(f"The blob {sha256} is missing.", code="blob_missing") from error
        except OSError as error:
            raise StorageError(f"The blob {sha256} cannot be read: {error.strerror}.") from error
        if hash_bytes(data) != sha256:
            raise StorageError(
                f"The blob {sha256} is damaged: its bytes are not the ones that were stored.",
                code="blob_damaged",
            )
        return data

    def _put_mapped(self, data: bytes) -> str:
        try:
            return self.write(data)
        except OSError as error:
            raise StorageError(
                f"A blob of {len(data)} bytes cannot be written: {error.strerror}.",
                next_step=f"Look at the disk of {self.folder}.",
            ) from error

    @staticmethod
    def _holds(path: Path, data: bytes) -> bool:
        """Compare whole bytes: a damaged blob is written anew instead of believed."""
        try:
            return path.stat().st_size == len(data) and path.read_bytes() == data
        except FileNotFoundError:
            return False


def copy_blobs(source: FileBlobStore, target: FileBlobStore, hashes: frozenset[str]) -> None:
    """Give `target` the named blobs that `source` has; a missing one stays missing. Blocking.

    By hard link where the file system can: blobs never change.
    """
    wanted = sorted(name for name in hashes if _SHA256.fullmatch(name))
    present = [name for name in wanted if (source.folder / name).is_file()]
    if not present:
        return
    make_private_folder(target.folder)
    for name in present:
        try:
            (target.folder / name).hardlink_to(source.folder / name)
        except FileExistsError:
            continue
        except OSError:
            write_atomic(target.folder / name, (source.folder / name).read_bytes())
    sync_folder(target.folder)
