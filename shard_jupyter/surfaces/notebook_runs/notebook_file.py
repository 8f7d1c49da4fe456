"""Read a notebook from its file, and write it back whole. Blocks."""

from __future__ import annotations

import json
import stat
from pathlib import Path

from nbformat import (
    NBFormatError,
    NotebookNode,
    ValidationError,
    convert,
    reader,
    validate,
    writes,
)

from shard_jupyter.errors import StorageError, UserError
from shard_jupyter.store.atomic_file import write_atomic

FORMAT = 4
BAD = "bad_notebook"
_REFUSALS = (
    UnicodeDecodeError, json.JSONDecodeError, NBFormatError, ValidationError,
    # It reads cells before it looks whether they are any.
    AttributeError, KeyError, TypeError,
)  # fmt: skip


def read_notebook(path: Path) -> NotebookNode:
    """Read a notebook of any version as one of version 4.

    Raises:
        UserError: there is no such file, or it is no notebook.
    """
    try:
        text = path.read_bytes().decode("utf-8")
        if not _says_its_version(json.loads(text)):
            raise UserError(f"{path} is no notebook: it names no version.", code=BAD)
        notebook: NotebookNode = convert(reader.reads(text), FORMAT)
        validate(notebook)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.", code="no_notebook") from error
    except _REFUSALS as error:
        raise UserError(f"{path} is no notebook: {_first_line(error)}", code=BAD) from error
    return notebook


def _says_its_version(value: object) -> bool:
    """What nbformat takes for granted."""
    return isinstance(value, dict) and value.get("nbformat") in range(1, FORMAT + 1)


def save_notebook(path: Path, notebook: NotebookNode) -> None:
    """Replace the file; a reader sees the old or the new one.

    Raises:
        StorageError: it cannot be written.
    """
    # Half a surrogate pair cannot be written; its escape in JSON can.
    data = writes(notebook, version=FORMAT).encode("utf-8", "backslashreplace")
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        write_atomic(path, data if data.endswith(b"\n") else data + b"\n", mode=mode)
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror}.") from error


def _first_line(error: Exception) -> str:
    return f"{error}".partition("\n")[0][:200]
