"""Reads a session log byte for byte and mends its end. The only reader there is.

A tail without a line end is the trace of a writer that died: it was never acknowledged, so `open`
moves it to a side file. Whatever is broken before the tail is skipped and reported, and its bytes
stay where they are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from shard_jupyter.store.atomic_file import LF, sync_file, sync_folder, write_all
from shard_jupyter.store.entry_chain import find_broken_links
from shard_jupyter.store.entry_codec import LINE_LIMIT, decode_line, entry_id
from shard_jupyter.store.open_report import Findings, OpenReport
from shard_jupyter.types.session_entries import LOG_VERSION, SessionEntry, SessionHeader

CHUNK = 1 << 20


@dataclass(frozen=True)
class RawLine:
    """Bytes `start` to `end` of a file, the line end not counted.

    Attributes:
        data: None when the line is longer than the limit.
        is_complete: a line end follows.
    """

    start: int
    end: int
    data: bytes | None
    is_complete: bool


@dataclass(frozen=True)
class Scan:
    """All that a log holds.

    Attributes:
        good_size: the bytes after it are a torn tail.
        needs_newline: the last entry is whole and only lacks its line end.
    """

    entries: list[SessionEntry]
    findings: Findings
    size: int
    good_size: int
    needs_newline: bool

    @property
    def header(self) -> SessionHeader | None:
        return next((entry for entry in self.entries if isinstance(entry, SessionHeader)), None)


def read_lines(descriptor: int, offset: int = 0, limit: int = LINE_LIMIT) -> Iterator[RawLine]:
    """Cut a file at 0x0A and at nothing else, from `offset` to its end."""
    start, parts, length = offset, list[bytes](), 0
    while chunk := os.pread(descriptor, CHUNK, offset):
        first = 0
        while (cut := chunk.find(LF, first)) >= 0:
            length += cut - first
            data = b"".join(parts) + chunk[first:cut] if length <= limit else None
            yield RawLine(start, start + length, data, is_complete=True)
            first = cut + 1
            start, parts, length = offset + first, [], 0
        length += len(chunk) - first
        parts = [*parts, chunk[first:]] if length <= limit else []
        offset += len(chunk)
    if length:
        data = b"".join(parts) if length <= limit else None
        yield RawLine(start, start + length, data, is_complete=False)


def scan_log(descriptor: int) -> Scan:
    """Read every entry and find everything that is wrong. Changes nothing."""
    reader = _Reader()
    for line in read_lines(descriptor):
        reader.take(line)
    reader.check_whole()
    return Scan(
        reader.entries, reader.findings, reader.size, reader.good_size, reader.needs_newline
    )


class _Reader:
    def __init__(self) -> None:
        self.entries: list[SessionEntry] = []
        self.findings = Findings()
        self.size = 0
        self.good_size = 0
        self.needs_newline = False
        self._spans: list[tuple[int, int]] = []
        self._ids: set[str] = set()

    def take(self, line: RawLine) -> None:
        self.size = line.end + (1 if line.is_complete else 0)
        if not line.is_complete:
            self._take_tail(line)
            return
        self.good_size = self.size
        if line.data is None:
            text = f"A line of {line.end - line.start} bytes is longer than {LINE_LIMIT}."
            self.findings.add("oversized_line", line.start, self.size, text)
            return
        self._take_data(line.data, line.start, self.size)

    def _take_data(self, data: bytes, start: int, end: int) -> None:
        decoded = decode_line(data)
        if decoded.kind is not None:
            kept = "was kept" if decoded.entry is not None else "was left out"
            text = f"The line at bytes {start} to {end} {kept}: {decoded.reason}."
            self.findings.add(decoded.kind, start, end, text)
        if decoded.entry is not None:
            self._keep(decoded.entry, start, end)

    def _keep(self, entry: SessionEntry, start: int, end: int) -> None:
        own = entry_id(entry)
        if own in self._ids:
            text = f"A second entry has the id {own} and was left out."
            self.findings.add("duplicate_id", start, end, text)
            return
        self._ids.add(own)
        self.entries.append(entry)
        self._spans.append((start, end))

    def _take_tail(self, line: RawLine) -> None:
        """Judge the bytes after the last line end: a whole entry is kept, all else is torn."""
        whole = (line.data or b"").rstrip(b"\0")
        end = line.start + len(whole)
        if whole and decode_line(whole).entry is not None:
            self._take_data(whole, line.start, end)
            self.good_size, self.needs_newline = end, True
            text = f"The last entry, at bytes {line.start} to {end}, lacked its line end."
            self.findings.add("missing_newline", line.start, end, text)
        if self.good_size < line.end:
            text = (
                f"The file ends in the middle of a record: bytes {self.good_size} to {line.end}."
                " They were never acknowledged."
            )
            self.findings.add("torn_tail", self.good_size, line.end, text)

    def check_whole(self) -> None:
        """Look at what only the whole file tells: the header and the links."""
        headers = [
            place for place, entry in enumerate(self.entries) if isinstance(entry, SessionHeader)
        ]
        if not headers:
            self.findings.add("missing_header", 0, 0, "The log has no header.")
        for place in headers[1:]:
            self.findings.add("extra_header", *self._spans[place], "A second header; not used.")
        for place in headers[:1]:
            self._check_version(place)
        for place, link in find_broken_links(self.entries):
            text = f"Entry {link.entry_id} names the parent {link.parent_id}, "
            text += (
                "which is not in the log."
                if link.kind == "missing_parent"
                else "which descends from it: the parents form a ring."
            )
            self.findings.add(link.kind, *self._spans[place], text)

    def _check_version(self, place: int) -> None:
        header = self.entries[place]
        if isinstance(header, SessionHeader) and header.version > LOG_VERSION:
            text = f"The log has version {header.version}, this program knows {LOG_VERSION}."
            self.findings.add("newer_version", *self._spans[place], text)


def mend_tail(descriptor: int, path: Path, scan: Scan) -> OpenReport:
    """Move a torn tail aside and end the last line; durable on return.

    A crash in between leaves a log that is mended the same way at the next open.
    """
    side_file = ""
    if scan.good_size < scan.size:
        side_file = _copy_aside(descriptor, path, scan)
        os.ftruncate(descriptor, scan.good_size)
    if scan.needs_newline:
        write_all(descriptor, LF)
    if side_file or scan.needs_newline:
        sync_file(descriptor)
    return scan.findings.report(side_file)


def _copy_aside(descriptor: int, path: Path, scan: Scan) -> str:
    number = 1
    while (side := path.with_name(f"{path.name}.torn-{number}")).exists():
        number += 1
    target = os.open(side, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        offset = scan.good_size
        while chunk := os.pread(descriptor, min(CHUNK, scan.size - offset), offset):
            write_all(target, chunk)
            offset += len(chunk)
        sync_file(target)
    finally:
        os.close(target)
    sync_folder(path.parent)
    return side.name
