"""Download one file into a partial file: go on where it was, and check it at the end."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.from_thread
import anyio.to_thread

from shard_jupyter.capabilities.local_models.catalog.fetch.addresses import Site, hide_secrets
from shard_jupyter.capabilities.local_models.catalog.fetch.partial_file import (
    PartialFile,
    remove_partial,
)
from shard_jupyter.capabilities.local_models.catalog.fetch.source_failed import SourceFailed
from shard_jupyter.capabilities.local_models.catalog.fetch.web import Web
from shard_jupyter.capabilities.local_models.catalog.pull_progress import PullPhase

if TYPE_CHECKING:
    import httpx2

_WRITE_BYTES = 1 << 20
_WRITE_SECONDS = 0.2
_CONTENT_RANGE = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18}|\*)")
_LENGTH = re.compile(r"[0-9]{1,18}")
_VALIDATOR = re.compile(r"[ -~]{1,256}")
"""What a header of a request can carry."""


@dataclass(frozen=True)
class WantedFile:
    """A file on a server.

    Attributes:
        url: below `site`, or anywhere that `site` has led to.
        sha256: empty: nobody says.
    """

    site: Site
    url: str
    size_bytes: int
    sha256: str = ""


ReportBytes = Callable[[PullPhase, int], None]
"""Takes the phase, `check` or `download`, and the bytes that are here. Called in threads."""


def find_kept_bytes(part: Path) -> int:
    """How much an earlier pull has left."""
    try:
        return part.stat().st_size
    except FileNotFoundError:
        return 0


async def download_file(
    web: Web, wanted: WantedFile, part: Path, report: ReportBytes
) -> PartialFile:
    """Return `part`, whole and right; the caller closes it.

    Cancellation leaves what has come for the next time.

    Raises:
        SourceFailed: it did not come. A file that is wrong is removed, one that is cut is kept.
        OSError: the disk.
    """
    partial = await open_partial(
        part, hide_secrets(wanted.url), wanted.size_bytes, lambda size: report("check", size)
    )
    try:
        await _Download(web, wanted, partial, report).run()
    except BaseException:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(partial.close)
        raise
    return partial


async def open_partial(
    path: Path, origin: str, limit: int, on_block: Callable[[int], None]
) -> PartialFile:
    """Open in a thread; reading what is there can be cancelled."""

    def read_block(size: int) -> None:
        anyio.from_thread.check_cancelled()
        on_block(size)

    return await anyio.to_thread.run_sync(PartialFile.open, path, origin, limit, read_block)


class _Download:
    def __init__(
        self, web: Web, wanted: WantedFile, partial: PartialFile, report: ReportBytes
    ) -> None:
        self._web = web
        self._wanted = wanted
        self._partial = partial
        self._report = report
        self._came_bytes = 0
        # Bytes of another day may be of a file that was changed since.
        self._is_mixed = partial.size > 0

    async def run(self) -> None:
        pauses = self._web.patience.pauses
        tries, reached = 0, self._partial.size
        while True:
            try:
                if self._partial.size < self._wanted.size_bytes:
                    await self._fetch_rest()
                await self._check()
            except SourceFailed as failure:
                if self._partial.size - reached > self._wanted.size_bytes // 16:
                    # It gets on, only slowly. Bytes that come a second time do not count.
                    tries, reached = 0, self._partial.size
                gone = failure.unreachable and not self._came_bytes
                if not failure.again or gone or tries >= len(pauses):
                    raise
                await anyio.sleep(pauses[tries])
                tries += 1
            else:
                return

    async def _check(self) -> None:
        partial, wanted = self._partial, self._wanted
        if partial.size < wanted.size_bytes:
            raise SourceFailed(
                f"the connection was cut after {partial.size} of {wanted.size_bytes} bytes",
                again=True,
            )
        if wanted.sha256 in ("", partial.digest()):
            return
        reason = f"what came has the wrong SHA-256 ({partial.digest()})"
        if self._is_mixed:
            self._is_mixed = False
            await anyio.to_thread.run_sync(partial.restart)
            raise SourceFailed(reason, again=True)
        await anyio.to_thread.run_sync(remove_partial, partial.path)
        raise SourceFailed(f"{reason}; it was removed")

    async def _fetch_rest(self) -> None:
        partial = self._partial
        headers = {"Accept-Encoding": "identity"}
        if partial.size:
            headers["Range"] = f"bytes={partial.size}-"
            if partial.state.validator:
                headers["If-Range"] = partial.state.validator
        async with self._web.open(self._wanted.site, self._wanted.url, headers) as response:
            await self._begin(response)
            await self._receive(response)

    async def _receive(self, response: httpx2.Response) -> None:
        """Write in blocks, and on a slow line in smaller ones, so that it is seen to move."""
        waiting: list[bytes] = []
        size, written_at = 0, time.monotonic()
        try:
            async for chunk in response.aiter_raw():
                waiting.append(chunk)
                size += len(chunk)
                if size >= _WRITE_BYTES or time.monotonic() - written_at > _WRITE_SECONDS:
                    data, waiting, size = b"".join(waiting), [], 0
                    await anyio.to_thread.run_sync(self._write, data)
                    written_at = time.monotonic()
        finally:
            if waiting:
                with anyio.CancelScope(shield=True):
                    await anyio.to_thread.run_sync(self._write, b"".join(waiting))

    async def _begin(self, response: httpx2.Response) -> None:
        """Judge the head of the answer; bring the partial file to where the body begins."""
        partial = self._partial
        validator = read_validator(response.headers)
        kind = response.headers.get("content-type", "").lower()
        if response.status_code != 416 and kind.startswith("text/html"):
            # A login page of a network in between, for one. What is here stays.
            raise SourceFailed("a web page came instead of the file")
        if response.status_code == 416 or not self._fits(response):
            await anyio.to_thread.run_sync(partial.restart)
            self._is_mixed = False
            raise SourceFailed("the server does not go on where it was", again=True)
        if response.status_code == 200:
            length = read_length(response.headers)
            if length is not None and length != self._wanted.size_bytes:
                raise SourceFailed(
                    f"the file there has {length} bytes instead of {self._wanted.size_bytes}"
                )
            self._is_mixed = False
            await anyio.to_thread.run_sync(partial.restart, validator)
        encoding = response.headers.get("content-encoding", "identity").lower()
        if encoding != "identity":
            raise SourceFailed(f"the server sends it packed ({encoding}), though asked not to")

    def _fits(self, response: httpx2.Response) -> bool:
        if response.status_code != 206:
            return True
        found = _CONTENT_RANGE.fullmatch(response.headers.get("content-range", "").strip())
        if found is None or int(found[1]) != self._partial.size or not self._partial.size:
            return False
        return found[3] in ("*", str(self._wanted.size_bytes))

    def _write(self, data: bytes) -> None:
        try:
            self._partial.write(data)
        except SourceFailed:
            self._partial.restart()  # it was never this file
            raise
        self._came_bytes += len(data)
        self._report("download", self._partial.size)


def read_validator(headers: httpx2.Headers) -> str:
    """Return what If-Range may carry: a strong ETag, else the date, else nothing."""
    tag: str = headers.get("etag", "")
    date: str = headers.get("last-modified", "")
    mark = tag if tag and not tag.startswith("W/") else date
    return mark if _VALIDATOR.fullmatch(mark) else ""


def read_length(headers: httpx2.Headers) -> int | None:
    """Return what Content-Length says, where it speaks of the bytes of the file."""
    text: str = headers.get("content-length", "")
    return int(text) if _LENGTH.fullmatch(text) else None
