"""The sessions of a folder, and how a new one grows out of an old one.

Layout: `<sessions>/<session_id>/session.jsonl`, with `blobs/` beside it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import anyio.to_thread

from shard_jupyter.errors import StorageError, UsageError
from shard_jupyter.store.blobs import FileBlobStore, copy_blobs
from shard_jupyter.store.entry_chain import index_entries, walk_branch
from shard_jupyter.store.entry_codec import entry_id, entry_parent
from shard_jupyter.store.session_file import BLOB_FOLDER
from shard_jupyter.store.session_log import SessionLog, read_session
from shard_jupyter.store.session_summary import SessionSummary, summarise_session
from shard_jupyter.store.text_spill import blob_hashes
from shard_jupyter.types.ids import ID_PATTERN
from shard_jupyter.types.session_entries import SessionEntry, SessionHeader
from shard_jupyter.types.wire_model import Unknown

LOG_NAME = "session.jsonl"


def session_path(sessions: Path, session_id: str) -> Path:
    """Return where the log of a session lies.

    Raises:
        UsageError: that is no id, so it could name a file anywhere.
    """
    if re.match(ID_PATTERN, session_id) is None:
        raise UsageError(
            f"{session_id!r} is no session id.", next_step="`shard sessions` lists them."
        )
    return sessions / session_id / LOG_NAME


async def list_sessions(sessions: Path) -> tuple[SessionSummary, ...]:
    """Summarise every session, the one with the newest entry first.

    One that cannot be read is listed with a note; a folder without a log is no session.

    Raises:
        StorageError: the folder itself cannot be read.
    """
    return await anyio.to_thread.run_sync(_list_blocking, sessions)


def _list_blocking(sessions: Path) -> tuple[SessionSummary, ...]:
    try:
        folders = sorted(sessions.iterdir())
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise StorageError(
            f"The sessions in {sessions} cannot be listed: {error.strerror}.",
            next_step="`shard doctor` looks at the state folder.",
        ) from error
    found = [_look_at(folder / LOG_NAME) for folder in folders]
    listed = [summary for summary in found if summary is not None]
    return tuple(sorted(listed, key=_moment, reverse=True))


def _look_at(log_path: Path) -> SessionSummary | None:
    try:
        return summarise_session(log_path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        note = f"It cannot be read: {error.strerror}."
        return SessionSummary(session_id=log_path.parent.name, path=str(log_path), note=note)


def _moment(summary: SessionSummary) -> datetime:
    """When something last happened; a timestamp that cannot be read counts as long ago."""
    try:
        moment = datetime.fromisoformat(summary.last_activity)
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


async def fork_session(
    source: Path, target: Path, header: SessionHeader, *, at_entry_id: str | None = None
) -> SessionLog:
    """Copy a branch of `source` into a new log, which is returned open. `source` is only read.

    The branch ends at `at_entry_id`, or at the newest entry. Entries keep their ids, so that what
    names them (compaction spans, checkpoints) stays right; a broken link is mended in the copy.

    Raises:
        SessionNotFound: no `source`.
        UsageError: no such entry, or there is a file at `target`.
        StorageError: the disk refuses.
    """
    make = partial(_copy_branch, source, target.parent / BLOB_FOLDER, at_entry_id)
    entries, _ = await read_session(source)
    branch = await anyio.to_thread.run_sync(make, entries)
    return await SessionLog.create(target, header, entries=branch)


def _copy_branch(
    source: Path, blob_folder: Path, at_entry_id: str | None, entries: Sequence[SessionEntry]
) -> list[SessionEntry]:
    branch = _relink(_branch_of(entries, at_entry_id))
    try:
        blobs = FileBlobStore(source.parent / BLOB_FOLDER)
        copy_blobs(blobs, FileBlobStore(blob_folder), blob_hashes(branch))
    except OSError as error:
        raise StorageError(f"Blobs of {source} cannot be copied: {error.strerror}.") from error
    return branch


def _branch_of(entries: Sequence[SessionEntry], at_entry_id: str | None) -> list[SessionEntry]:
    if at_entry_id is not None:
        leaf = index_entries(entries).get(at_entry_id)
        if leaf is None:
            raise UsageError(f"There is no entry {at_entry_id} in the session.")
    else:
        leaf = len(entries) - 1
    branch = walk_branch(entries, leaf).entries if leaf >= 0 else ()
    return [entry for entry in branch if not isinstance(entry, SessionHeader)]


def _relink(branch: Sequence[SessionEntry]) -> list[SessionEntry]:
    """Make each entry the child of the one before it; only broken links change."""
    linked: list[SessionEntry] = []
    parent: str | None = None
    for entry in branch:
        linked.append(entry if entry_parent(entry) == parent else _with_parent(entry, parent))
        parent = entry_id(entry)
    return linked


def _with_parent(entry: SessionEntry, parent: str | None) -> SessionEntry:
    if isinstance(entry, Unknown):
        return Unknown(tag=entry.tag, raw=entry.raw | {"parentId": parent})
    return entry.model_copy(update={"parent_id": parent})
