"""The file as its publisher offers it."""

from __future__ import annotations

from urllib.parse import quote

import anyio.to_thread

from shard_jupyter.capabilities.local_models.catalog.catalog_model import CatalogModel
from shard_jupyter.capabilities.local_models.catalog.fetch.addresses import (
    hide_secrets,
    parse_site,
)
from shard_jupyter.capabilities.local_models.catalog.fetch.download_file import (
    WantedFile,
    download_file,
    find_kept_bytes,
)
from shard_jupyter.capabilities.local_models.catalog.fetch.partial_file import PartialFile
from shard_jupyter.capabilities.local_models.catalog.fetch.web import Web
from shard_jupyter.capabilities.local_models.catalog.own_files import hub_part
from shard_jupyter.capabilities.local_models.catalog.pull_progress import PullPhase, PullProgress
from shard_jupyter.capabilities.local_models.catalog.sources.errand import Errand


def name_hub(model: CatalogModel, hub: str) -> str:
    host = hide_secrets(hub).removeprefix("https://").removeprefix("http://").rstrip("/")
    return f"{host}/{model.hub.repository}"


async def fetch_from_hub(errand: Errand, web: Web) -> PartialFile:
    """Give the whole, checked file. The caller closes it.

    Raises:
        SourceFailed: the hub did not give it.
        OSError, StorageError: the disk.
    """
    model, sources = errand.model, errand.sources
    title = name_hub(model, sources.hub)
    await errand.tell("ask", title)
    site = parse_site(sources.hub, sources.hub_token)
    parts = (model.hub.repository, "resolve", model.hub.revision, model.hub.file_name)
    url = "/".join((site.url.rstrip("/"), *map(quote, parts)))
    part = hub_part(errand.target)

    def report(phase: PullPhase, size: int) -> None:
        errand.meter.report(PullProgress(phase, title, size, model.size_bytes))

    kept = await anyio.to_thread.run_sync(find_kept_bytes, part)
    await errand.check_space(model.size_bytes - kept)
    wanted = WantedFile(site, url, model.size_bytes, model.sha256)
    return await download_file(web, wanted, part, report)
