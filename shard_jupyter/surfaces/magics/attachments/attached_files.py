"""Reads a file that a prompt names: contained, regular, text, and bounded."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from shard_jupyter.core.files.path_guard import Located, locate, shown
from shard_jupyter.core.files.safe_open import open_for_read
from shard_jupyter.core.text.truncation import torn_bytes
from shard_jupyter.errors import ToolFailed, UsageError

MAX_FILE_BYTES = 64 * 1024
TAIL_BYTES = 16 * 1024

_KEY_FOLDERS = frozenset({".ssh", ".gnupg", ".aws", ".git", ".jupyter", ".ipython", ".shard"})
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class AttachedFile:
    """`name` is relative to the working folder, and harmless to print."""

    name: str
    text: str
    size_bytes: int


def read_attached_file(cwd: Path, given: str) -> AttachedFile:
    """Read a file of the working folder; of a long one the head and the tail. Blocks.

    Raises:
        UsageError: it does not exist, lies elsewhere, may hold keys, or is no text in UTF-8.
    """
    folder = cwd.resolve()
    try:
        located = locate(folder, given)
        _refuse_elsewhere(located, folder)
        head, tail, size = _read_ends(located)
    except ToolFailed as error:
        raise UsageError(
            f"@file: {error.message}", next_step="Name a text file in the working folder."
        ) from None
    name = shown(str(located.real.relative_to(folder)))
    return AttachedFile(name, _join_ends(name, head, tail, size), size)


def _refuse_elsewhere(located: Located, cwd: Path) -> None:
    given = shown(located.given)
    if not located.inside:
        raise UsageError(
            f"@file: {given} lies outside of {shown(str(cwd))}.",
            next_step="Copy it into the working folder, or attach a variable that holds it.",
        )
    keys = any(part.casefold() in _KEY_FOLDERS for part in located.real.parts[len(cwd.parts) :])
    if located.secret or keys:
        raise UsageError(
            f"@file: {given} is not sent: a file of this name may hold keys or passwords.",
            next_step="Copy what the agent needs into another file.",
        )


def _read_ends(located: Located) -> tuple[bytes, bytes, int]:
    """Return the whole as head, or head and tail of a longer file, and its size."""
    with os.fdopen(open_for_read(located), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size <= MAX_FILE_BYTES:
            data = file.read(MAX_FILE_BYTES)
            return data, b"", len(data)
        head = file.read(MAX_FILE_BYTES - TAIL_BYTES)
        file.seek(size - TAIL_BYTES)
        return head, file.read(TAIL_BYTES), size


def _join_ends(name: str, head: bytes, tail: bytes, size: int) -> str:
    if not tail:
        return _decode(name, head.removeprefix(_BOM))
    head = head[: len(head) - torn_bytes(head)]
    start = 0
    while start < min(3, len(tail)) and tail[start] & 0xC0 == 0x80:
        start += 1
    tail = tail[start:]
    left_out = size - len(head) - len(tail)
    return (
        f"{_decode(name, head.removeprefix(_BOM))}\n"
        f"[… {left_out:,} of {size:,} bytes left out …]\n"
        f"{_decode(name, tail)}"
    )


def _decode(name: str, data: bytes) -> str:
    try:
        if b"\0" not in data:
            return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    raise UsageError(
        f"@file: {name} is no text in UTF-8.",
        next_step="Convert it, or load it and attach the variable.",
    )
