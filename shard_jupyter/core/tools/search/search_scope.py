"""What `path` and `glob` of grep and find stand for."""

from __future__ import annotations

import posixpath
from dataclasses import replace

import anyio

from shard_jupyter.contracts.tool_context import ToolContext
from shard_jupyter.core.files.path_guard import locate, shown
from shard_jupyter.core.tools.search.file_listing import Listing, list_files
from shard_jupyter.core.tools.search.glob_pattern import GlobPattern
from shard_jupyter.errors import ToolFailed


async def files_to_search(path: str, glob: str, context: ToolContext) -> tuple[Listing, str]:
    """The files, and what to put before their names; names left out already have it.

    A file that is named exactly is in, whatever rule ignores it.

    Raises:
        ToolFailed: `path` does not exist or is not usable.
    """
    located = await anyio.to_thread.run_sync(locate, context.cwd, path, abandon_on_cancel=True)
    if await anyio.to_thread.run_sync(located.real.is_file, abandon_on_cancel=True):
        listing = Listing(located.real.parent, (located.real.name,))
        return listing, posixpath.dirname(path)
    if not await anyio.to_thread.run_sync(located.real.is_dir, abandon_on_cancel=True):
        raise ToolFailed(f"{shown(path)} does not exist.")
    listing = await list_files(located.real, context)
    names = listing.names
    if glob:
        pattern = GlobPattern(glob)
        names = tuple(name for name in names if pattern.matches(name))
    prefix = posixpath.normpath(path)
    listing = replace(
        listing,
        names=names,
        left_out=tuple(joined(prefix, name) for name in listing.left_out),
        secrets=tuple(joined(prefix, name) for name in listing.secrets),
    )
    return listing, prefix


def joined(prefix: str, name: str) -> str:
    """A name as the model would give it."""
    return name if prefix in ("", ".") else posixpath.join(prefix, name)
