"""What `path` and `glob` of grep and find stand for."""

from __future__ import annotations

import posixpath
import stat
from dataclasses import replace

import anyio

from shard_jupyter.contracts.tool_context import ToolContext
from shard_jupyter.core.files.path_guard import is_within, locate_again, shown
from shard_jupyter.core.files.safe_open import status_of
from shard_jupyter.core.permissions.rules import may_mean_path
from shard_jupyter.core.tools.search.file_listing import Listing, list_files
from shard_jupyter.core.tools.search.glob_pattern import GlobPattern
from shard_jupyter.errors import ToolFailed


async def files_to_search(path: str, glob: str, context: ToolContext) -> tuple[Listing, str]:
    """The files, and what to put before their names; names left out already have it.

    A file that is named exactly is in, whatever rule ignores it.

    Raises:
        ToolFailed: `path` does not exist or is not usable.
    """
    located = await anyio.to_thread.run_sync(locate_again, context, path, abandon_on_cancel=True)
    status = await anyio.to_thread.run_sync(status_of, located, abandon_on_cancel=True)
    if status is not None and stat.S_ISREG(status.st_mode):
        listing = Listing(located.real.parent, (located.real.name,))
        return listing, posixpath.dirname(path)
    if status is None or not stat.S_ISDIR(status.st_mode):
        raise ToolFailed(f"{shown(path)} does not exist.")
    listing = await list_files(located.real, context)
    if context.leaves_out:
        listing = await anyio.to_thread.run_sync(
            _leave_out, listing, context, path, abandon_on_cancel=True
        )
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
        forbidden=tuple(joined(prefix, name) for name in listing.forbidden),
    )
    return listing, prefix


def _leave_out(listing: Listing, context: ToolContext, path: str) -> Listing:
    """Take away what a deny or ask rule may mean, by the real name or the one that was given."""
    folders = {str(listing.folder), posixpath.normpath(posixpath.join(context.cwd, path))}
    if is_within(listing.folder, context.cwd):
        folders.add(posixpath.relpath(listing.folder, context.cwd))
    folders.add(posixpath.normpath(path))

    def is_meant(name: str) -> bool:
        full = [joined(folder, name) for folder in folders]
        return any(may_mean_path(glob, each) for glob in context.leaves_out for each in full)

    forbidden = tuple(name for name in listing.names if is_meant(name))
    gone = set(forbidden)
    kept = tuple(name for name in listing.names if name not in gone)
    return replace(listing, names=kept, forbidden=forbidden)


def joined(prefix: str, name: str) -> str:
    """A name as the model would give it."""
    return name if prefix in ("", ".") else posixpath.join(prefix, name)
