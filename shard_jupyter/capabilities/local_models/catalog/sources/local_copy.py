"""A file that the person already has. It is copied, never moved or linked.

A link would save the space, but the store that owns the file may change it in place, and then a
checked model would be another one without a word.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

import anyio
import anyio.from_thread
import anyio.to_thread

from shard_jupyter.capabilities.local_models.catalog.catalog_model import CatalogModel
from shard_jupyter.capabilities.local_models.catalog.fetch.partial_file import (
    PartialFile,
    remove_partial,
)
from shard_jupyter.capabilities.local_models.catalog.fetch.source_failed import SourceFailed
from shard_jupyter.capabilities.local_models.catalog.own_files import copied_part
from shard_jupyter.capabilities.local_models.catalog.pull_progress import PullProgress
from shard_jupyter.capabilities.local_models.catalog.sources.errand import Errand

_BLOCK = 1 << 20


def choose_candidates(
    model: CatalogModel, candidates: Iterable[Path], target: Path
) -> tuple[Path, ...]:
    """Keep the files that may be the model, likely ones first. Looks at sizes and names only.

    Ollama and the hub's cache name a file by its hash.
    """
    fitting = []
    for path in dict.fromkeys(candidates):
        try:
            found = path.stat()
        except OSError:
            continue  # gone since it was listed, or not ours to see
        if stat.S_ISREG(found.st_mode) and found.st_size == model.size_bytes and path != target:
            fitting.append(path)
    return tuple(sorted(fitting, key=lambda path: model.sha256 not in path.resolve().name))


async def copy_found(errand: Errand, path: Path) -> PartialFile:
    """Copy `path`, and give the copy when its hash is right. The caller closes it.

    Raises:
        SourceFailed: it cannot be read, or it is another file.
        OSError: the copy cannot be written.
    """
    await errand.check_space(errand.model.size_bytes)
    return await anyio.to_thread.run_sync(_copy, errand, path)


def _copy(errand: Errand, path: Path) -> PartialFile:
    model, part = errand.model, copied_part(errand.target)
    remove_partial(part)
    partial = PartialFile.open(part, f"copy:{path}", model.size_bytes, lambda _: None)
    try:
        _copy_checked(errand, path, partial)
    except BaseException:
        # Copying again costs little, so half a copy is of no use.
        partial.close()
        remove_partial(part)
        raise
    return partial


def _copy_checked(errand: Errand, path: Path, partial: PartialFile) -> None:
    try:
        # O_NONBLOCK: should it have become a pipe, opening it does not wait for a writer.
        source = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise SourceFailed(f"it cannot be read: {error.strerror}") from error
    size = errand.model.size_bytes
    try:
        while block := _read(source):
            anyio.from_thread.check_cancelled()
            partial.write(block)
            errand.meter.report(PullProgress("copy", str(path), partial.size, size))
    finally:
        os.close(source)
    if partial.digest() != errand.model.sha256:
        raise SourceFailed("it is another file: its SHA-256 differs")


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _BLOCK)
    except OSError as error:
        raise SourceFailed(f"it cannot be read: {error.strerror}") from error
