"""The file of a session: made, opened under its lock, read. Blocking; `session_log` has the rest."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from shard_jupyter.errors import SessionDamaged, SessionNotFound, StorageError, UsageError
from shard_jupyter.store.atomic_file import LF, make_private_folder, write_atomic
from shard_jupyter.store.blobs import FileBlobStore
from shard_jupyter.store.entry_codec import encode_entry
from shard_jupyter.store.group_commit import Durability, GroupCommit, LogFile
from shard_jupyter.store.open_report import OpenReport
from shard_jupyter.store.session_reader import Scan, mend_tail, scan_log
from shard_jupyter.store.writer_lock import WriterLock
from shard_jupyter.types.session_entries import SessionEntry, SessionHeader

BLOB_FOLDER = "blobs"


@dataclass(frozen=True)
class OpenedSession:
    """An open log with its lock and its writer. `SessionLog` takes all of it over."""

    path: Path
    lock: WriterLock
    commits: GroupCommit
    blobs: FileBlobStore
    header: SessionHeader | None
    entries: list[SessionEntry]
    report: OpenReport


def read_file(path: Path) -> tuple[list[SessionEntry], OpenReport]:
    with _errors_of(path):
        descriptor = _open_descriptor(path, os.O_RDONLY)
        try:
            scan = scan_log(descriptor)
        finally:
            os.close(descriptor)
    return scan.entries, scan.findings.report()


def create_file(
    path: Path, entries: Sequence[SessionEntry], durability: Durability
) -> OpenedSession:
    lines = b"".join(encode_entry(entry)[0] + LF for entry in entries)
    with ExitStack() as undo, _errors_of(path):
        if not path.parent.exists():
            make_private_folder(path.parent)
        path = path.resolve()
        lock = WriterLock.acquire(path)
        undo.callback(lock.release)
        _refuse_existing(path)
        # Renamed into place with its header in it: a kill leaves no session without one.
        write_atomic(path, lines)
        opened = _load(path, lock, durability)
        undo.pop_all()
    return opened


def open_file(path: Path, durability: Durability) -> OpenedSession:
    with ExitStack() as undo, _errors_of(path):
        path = path.resolve(strict=True)
        lock = WriterLock.acquire(path)
        undo.callback(lock.release)
        opened = _load(path, lock, durability)
        undo.pop_all()
    return opened


def _load(path: Path, lock: WriterLock, durability: Durability) -> OpenedSession:
    with ExitStack() as undo:
        descriptor = _open_descriptor(path, os.O_RDWR | os.O_APPEND)
        undo.callback(os.close, descriptor)
        scan = scan_log(descriptor)
        _refuse_newer(scan)
        report = mend_tail(descriptor, path, scan)
        blobs = FileBlobStore(path.parent / BLOB_FOLDER)
        commits = GroupCommit(LogFile(descriptor, path.name), lock, blobs, durability)
        undo.pop_all()
    return OpenedSession(path, lock, commits, blobs, scan.header, scan.entries, report)


def _refuse_existing(path: Path) -> None:
    if path.exists():
        raise UsageError(f"There is a session at {path} already.", next_step="Open it.")


def _refuse_newer(scan: Scan) -> None:
    for finding in scan.findings.report().of_kind("newer_version"):
        raise SessionDamaged(
            finding.message,
            code="newer_version",
            next_step="Update shard-jupyter. The session can still be read.",
        )


def _open_descriptor(path: Path, flags: int) -> int:
    # O_NONBLOCK: a pipe of that name must be refused below and not be waited for.
    descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise SessionDamaged(f"{path} is no file and so no session log.")
    return descriptor


@contextmanager
def _errors_of(path: Path) -> Iterator[None]:
    """Turn what the system says about `path` into errors of this package."""
    try:
        yield
    except FileNotFoundError as error:
        raise SessionNotFound(f"There is no session at {path}.") from error
    except IsADirectoryError as error:
        raise SessionDamaged(f"{path} is a folder, not a session log.") from error
    except OSError as error:
        raise StorageError(
            f"The session at {path} cannot be used: {error.strerror or error}.",
            next_step="Look at the disk and at the permissions of the folder.",
        ) from error
