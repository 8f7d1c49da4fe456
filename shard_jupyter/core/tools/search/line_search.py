"""Finds matching lines in a list of files: by ripgrep where it is, else by a child of our own."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from shutil import which

import anyio

from shard_jupyter.contracts.process_runner import ProcessOutcome, ProcessSpec
from shard_jupyter.contracts.tool_context import ToolContext
from shard_jupyter.core.tools.search import byte_search
from shard_jupyter.core.tools.search.match_records import MatchReader
from shard_jupyter.errors import ToolFailed

SEARCH_SECONDS = 30
BATCH_BYTES = 1 << 19
"""Names on one command line; the kernel takes 2 MiB with the environment."""
MESSAGE_BYTES = 4096
OPTIONS = (
    "--no-config", "--no-ignore", "--hidden", "--no-messages", "--null", "--line-number",
    "--column", "--no-heading", "--with-filename", "--color=never", "--no-context-separator",
    "--crlf", "--threads=1",
)  # fmt: skip


@dataclass(frozen=True)
class LineQuery:
    pattern: str
    literal: bool = False
    ignore_case: bool = False
    context: int = 0


async def search_lines(
    query: LineQuery, folder: Path, names: Sequence[str], reader: MatchReader, context: ToolContext
) -> bool:
    """Feed every match in `names` (relative to `folder`) to `reader`; False if time ran out.

    Raises:
        ToolFailed: the pattern is no regular expression.
    """
    if not names:
        return True
    path = context.environment.get("PATH", os.defpath)
    ripgrep = await anyio.to_thread.run_sync(find_ripgrep, path)
    search = _Search(query, folder, reader, context)
    with anyio.move_on_after(SEARCH_SECONDS) as limit:
        if ripgrep is None or not await _by_ripgrep(search, ripgrep, names):
            # Also for patterns that only Python knows, such as look-ahead.
            await _by_child(search, names)
    return not limit.cancelled_caught


@lru_cache(maxsize=8)
def find_ripgrep(path: str) -> str | None:
    """On the PATH, or where the extra `[search]` puts it: beside the interpreter."""
    return which("rg", path=path) or which("rg", path=str(Path(sys.executable).parent))


@dataclass(frozen=True)
class _Search:
    query: LineQuery
    folder: Path
    reader: MatchReader
    context: ToolContext

    async def run(self, argv: Sequence[str], stdin: bytes | None = None) -> ProcessOutcome:
        environment = self.context.environment
        spec = ProcessSpec(
            argv=argv,
            cwd=self.folder,
            env={
                name: value for name, value in environment.items() if name != "RIPGREP_CONFIG_PATH"
            },
            stdin=stdin,
            head_bytes=MESSAGE_BYTES,
            tail_bytes=0,
            merge_stderr=False,
        )
        return await self.context.processes.run(spec, self.reader.feed)


async def _by_ripgrep(search: _Search, ripgrep: str, names: Sequence[str]) -> bool:
    """False: it does not understand the pattern."""
    query = search.query
    options = [f"--context={query.context}"]
    options += ["--fixed-strings"] * query.literal + ["--ignore-case"] * query.ignore_case
    for batch in _batches(names):
        outcome = await search.run((ripgrep, *OPTIONS, *options, "-e", query.pattern, "--", *batch))
        # Files that cannot be read are not reported, so that this is about the pattern.
        if outcome.exit_code == 2 and outcome.stderr.head:
            return False
    return True


async def _by_child(search: _Search, names: Sequence[str]) -> None:
    query = search.query
    flags = "l" * query.literal + "i" * query.ignore_case
    asked = (flags, str(query.context), query.pattern)
    stdin = b"\0".join((*(part.encode() for part in asked), *map(os.fsencode, names)))
    outcome = await search.run((sys.executable, "-I", "-S", byte_search.__file__), stdin)
    if outcome.exit_code == byte_search.BAD_PATTERN:
        reason = outcome.stderr.head.decode("utf-8", "replace")
        raise ToolFailed(
            f"The pattern is no regular expression: {reason}.",
            next_step="Mend it, or set literal to search for the text itself.",
        )
    if outcome.exit_code:
        reason = outcome.stderr.head.decode("utf-8", "replace")
        raise ToolFailed(f"The search failed (exit code {outcome.exit_code}): {reason[-500:]}")


def _batches(names: Sequence[str]) -> Iterator[Sequence[str]]:
    batch: list[str] = []
    size = 0
    for name in names:
        size += len(name) * 4 + 9
        if batch and size > BATCH_BYTES:
            yield batch
            batch, size = [], len(name) * 4 + 9
        batch.append(name)
    yield batch
