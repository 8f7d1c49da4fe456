"""Replace a file in one step: readers see the old bytes or the new, never a part."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from contextlib import suppress

from shard_jupyter.contracts.tool_context import ToolContext
from shard_jupyter.core.files.open_beneath import sync_folder
from shard_jupyter.core.files.path_guard import Located, shown
from shard_jupyter.core.files.safe_open import open_for_read, open_parent, telling
from shard_jupyter.errors import ToolFailed

ABSENT = "absent"
"""Stands for the hash of a file that there is not."""
MAX_FILE_BYTES = 32 << 20
"""The largest file that is read whole, to be edited, compared or replaced."""


def read_whole(located: Located) -> bytes:
    """Read a regular file, in a thread.

    Raises:
        ToolFailed: it is missing, no regular file, or larger than `MAX_FILE_BYTES`.
    """
    with os.fdopen(open_for_read(located), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > MAX_FILE_BYTES:
            raise ToolFailed(
                f"{shown(located.given)} has {size:,} bytes; {MAX_FILE_BYTES:,} is the limit.",
                next_step="Use bash.",
            )
        return file.read()


def read_if_there(located: Located) -> bytes | None:
    """As `read_whole`; None when there is no such file."""
    try:
        return read_whole(located)
    except ToolFailed as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return None
        raise


def refuse_other_content(context: ToolContext, given: str, data: bytes | None) -> None:
    """Make sure that a file holds what it held when somebody agreed to change it.

    `data` is what it holds now; None: there is none.

    Raises:
        ToolFailed: it holds something else.
    """
    now = ABSENT if data is None else hashlib.sha256(data).hexdigest()
    if context.contents and context.contents != (now,):
        raise ToolFailed(
            f"Not run: {shown(given)} is not what it was when this was allowed.",
            next_step="Call it again.",
        )


def replace_file(located: Located, data: bytes) -> None:
    """Write `data` beside the file, sync it, and rename it over; keeps mode and owner.

    A new file gets 0666 less the umask, missing folders are made. Other hard links of an old file
    keep the old content. Runs in a thread.

    Raises:
        ToolFailed: the system refused, or a folder on the way was exchanged meanwhile.
    """
    with telling(located), open_parent(located) as folder:
        _replace_in(folder, located, data)


def _replace_in(folder: int, located: Located, data: bytes) -> None:
    name = located.real.name
    old = _status_in(folder, name)
    if old is not None and not stat.S_ISREG(old.st_mode):
        raise ToolFailed(f"{shown(located.given)} is no regular file.")
    temporary = f".shard-{secrets.token_hex(8)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o666, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if old is not None:
                _keep_owner_and_mode(file.fileno(), old)
            # Without it a power cut may leave an empty file in the place of both.
            os.fsync(file.fileno())
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        sync_folder(folder)
    except OSError:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)
        raise


def _status_in(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _keep_owner_and_mode(descriptor: int, old: os.stat_result) -> None:
    new = os.fstat(descriptor)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with suppress(PermissionError):  # only root may give files away; the file is then ours
            os.fchown(descriptor, old.st_uid, old.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
