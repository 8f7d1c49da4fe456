"""Reads the header of a model file and refuses what native code must not see (reference §3)."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

from shard_jupyter.capabilities.local_models.gguf.gguf_header import GgufHeader
from shard_jupyter.capabilities.local_models.gguf.header_bytes import HeaderBytes, open_header
from shard_jupyter.capabilities.local_models.gguf.header_start import read_start
from shard_jupyter.capabilities.local_models.gguf.metadata import (
    UINT32,
    Metadata,
    read_metadata,
)
from shard_jupyter.capabilities.local_models.gguf.model_fields import make_header
from shard_jupyter.capabilities.local_models.gguf.refusals import BadModelFile
from shard_jupyter.capabilities.local_models.gguf.safe_text import make_safe_text
from shard_jupyter.capabilities.local_models.gguf.split_parts import read_part_name
from shard_jupyter.capabilities.local_models.gguf.tensor_table import (
    TensorTable,
    read_tensor_table,
)

_DEFAULT_ALIGNMENT = 32
_KEPT_HEADERS = 64
_Key = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class _FileHeader:
    """One file, which may be a part of a model."""

    path: Path
    size: int
    stamp: int
    metadata: Metadata
    tensors: TensorTable

    def read_number(self, key: str) -> int:
        value = self.metadata.numbers.get(key, 0)
        return value if isinstance(value, int) else 0


_kept: dict[_Key, GgufHeader] = {}
_lock = threading.Lock()


def read_header(path: Path) -> GgufHeader:
    """Read what a model file says of itself; of a split model give the first part. Blocks.

    A file whose size and time have not changed is read once in a process.

    Raises:
        BadModelFile: with a reason for machines, and words and a next step for people.
    """
    key = _look_at_parts(path)
    with _lock:
        if key and (header := _kept.get(key)):
            return header
    parts = _read_parts(path)
    header = make_header(
        path,
        parts[0].metadata,
        sum(part.size for part in parts),
        sum(part.tensors.parameters for part in parts),
    )
    _keep(tuple((str(part.path), part.size, part.stamp) for part in parts), header)
    return header


def _look_at_parts(path: Path) -> _Key:
    """Return what the header is kept under; empty when a file cannot be looked at."""
    name = read_part_name(path)
    paths = [path] if name is None else map(path.with_name, name.name_all())
    key: list[tuple[str, int, int]] = []
    try:
        for part in paths:
            look = part.stat()
            key.append((str(part), look.st_size, look.st_mtime_ns))
    except (OSError, ValueError):  # said in words when the file is opened
        return ()
    return tuple(key)


def _keep(key: _Key, header: GgufHeader) -> None:
    with _lock:
        _kept.pop(key, None)
        _kept[key] = header
        while len(_kept) > _KEPT_HEADERS:
            del _kept[next(iter(_kept))]


def _read_parts(path: Path) -> list[_FileHeader]:
    first = _read_file(path)
    count, index = first.read_number("split.count"), first.read_number("split.no")
    if count <= 1:
        return [first]
    name = read_part_name(path)
    if index != 0:
        what = f"is part {index + 1} of {count} of a model."
        step = f"Choose the first part, {make_safe_text(name.name_of(1))}." if name else ""
        raise BadModelFile("split_later", path, what, next_step=step)
    if name is None or name.count != count or name.part != 1:
        what = f"is the first of {count} parts of a model, which its name does not say."
        raise BadModelFile("split_mixed", path, what)
    parts = [first]
    for part in range(2, count + 1):
        parts.append(_read_later_part(path.with_name(name.name_of(part)), part, count))
    said = first.read_number("split.tensors.count")
    found = sum(part.tensors.count for part in parts)
    if said and said != found:
        what = f"says that the model has {said} tensors, and its parts have {found}."
        raise BadModelFile("split_mixed", path, what)
    return parts


def _read_later_part(path: Path, part: int, count: int) -> _FileHeader:
    try:
        header = _read_file(path)
    except BadModelFile as error:
        if error.reason != "missing":
            raise
        what = f"is missing: part {part} of the {count} of this model."
        raise BadModelFile("split_missing", path, what) from error
    if (header.read_number("split.no"), header.read_number("split.count")) != (part - 1, count):
        raise BadModelFile("split_mixed", path, "is a part of another model.")
    return header


def _read_file(path: Path) -> _FileHeader:
    with open_header(path) as source:
        tensor_count, key_count = read_start(source)
        metadata = read_metadata(source, key_count)
        if tensor_count == 0 and "split.count" not in metadata.kinds:
            raise source.refuse("no_tensors", "holds no model, only a description of one.")
        alignment = _find_alignment(source, metadata)
        tensors = read_tensor_table(source, tensor_count, alignment)
        return _FileHeader(path, source.size, source.stamp, metadata, tensors)


def _find_alignment(source: HeaderBytes, metadata: Metadata) -> int:
    key = "general.alignment"
    if key not in metadata.kinds:
        return _DEFAULT_ALIGNMENT
    value = metadata.numbers.get(key)
    if metadata.kinds[key] != UINT32 or not isinstance(value, int):
        raise source.refuse("alignment", "has no number of the right type as its alignment.")
    if value == 0 or value & (value - 1):
        raise source.refuse("alignment", f"says that its data is aligned to {value} bytes.")
    return value
