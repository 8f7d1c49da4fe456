"""What changed between two texts, as hunks: data that every client draws in its own way."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Literal

import anyio

from shard_jupyter.contracts.process_runner import ProcessSpec
from shard_jupyter.contracts.tool_context import ToolContext
from shard_jupyter.core.children.git_call import git_environment
from shard_jupyter.core.text.text_lines import split_keeping_ends, split_lines
from shard_jupyter.core.text.truncation import clean_text, cut_line
from shard_jupyter.errors import ToolFailed
from shard_jupyter.types.render_descriptors import DiffDescriptor, Hunk

CONTEXT_LINES = 3
MAX_DIFFLIB_LINES = 5000
"""Changed lines, first to last, up to which difflib is quick enough."""
MAX_SHOWN_LINES = 2000
NO_NEWLINE = "\\ No newline at end of file"

Opcode = tuple[Literal["equal", "replace", "delete", "insert"], int, int, int, int]
Change = tuple[int, int, int, int]
"""Old lines from, to; new lines from, to."""

_HEADER = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(frozen=True)
class _Pair:
    """Two texts as lines; equal ones at both ends are counted and left alone."""

    old: list[str]
    new: list[str]
    ahead: int
    behind: int

    @property
    def middle(self) -> tuple[list[str], list[str]]:
        return (
            self.old[self.ahead : len(self.old) - self.behind],
            self.new[self.ahead : len(self.new) - self.behind],
        )


async def describe_change(path: str, old: str, new: str, context: ToolContext) -> DiffDescriptor:
    """Hunks from `old` to `new`; computed in a thread, or by git where the change is long."""
    pair = await anyio.to_thread.run_sync(_pair_up, old, new)
    if max(map(len, pair.middle)) > MAX_DIFFLIB_LINES:
        hunks = await _hunks_by_git(old, new, context)
        if hunks is None:
            hunks = _hunks_from(pair, [("replace", 0, len(pair.middle[0]), 0, len(pair.middle[1]))])
    else:
        hunks = await anyio.to_thread.run_sync(_hunks_by_difflib, pair)
    return _bounded(path, hunks)


def hunks_between(old: str, new: str) -> tuple[Hunk, ...]:
    """The same without a process; quadratic at worst, so for short texts."""
    return _hunks_by_difflib(_pair_up(old, new))


def _pair_up(old: str, new: str) -> _Pair:
    old_lines, new_lines = split_keeping_ends(old), split_keeping_ends(new)
    shorter = min(len(old_lines), len(new_lines))
    ahead = 0
    while ahead < shorter and old_lines[ahead] == new_lines[ahead]:
        ahead += 1
    behind = 0
    while behind < shorter - ahead and old_lines[-1 - behind] == new_lines[-1 - behind]:
        behind += 1
    return _Pair(old_lines, new_lines, ahead, behind)


def _hunks_by_difflib(pair: _Pair) -> tuple[Hunk, ...]:
    before, after = pair.middle
    return _hunks_from(pair, SequenceMatcher(None, before, after).get_opcodes())


def _hunks_from(pair: _Pair, middle: Sequence[Opcode]) -> tuple[Hunk, ...]:
    changes = [
        (i1 + pair.ahead, i2 + pair.ahead, j1 + pair.ahead, j2 + pair.ahead)
        for kind, i1, i2, j1, j2 in middle
        if kind != "equal"
    ]
    return tuple(_hunk_of(pair, group) for group in _group(changes))


def _group(changes: list[Change]) -> list[list[Change]]:
    """Changes whose context would touch go into one hunk."""
    groups: list[list[Change]] = []
    for change in changes:
        if groups and change[0] - groups[-1][-1][1] <= 2 * CONTEXT_LINES:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _hunk_of(pair: _Pair, group: list[Change]) -> Hunk:
    start = max(group[0][0] - CONTEXT_LINES, 0)
    new_start = group[0][2] - (group[0][0] - start)
    end, new_end = group[-1][1], group[-1][3]
    more = min(CONTEXT_LINES, len(pair.old) - end)
    lines: list[str] = []
    at = start
    for i1, i2, j1, j2 in group:
        lines += _marked(" ", pair.old[at:i1])
        lines += _marked("-", pair.old[i1:i2])
        lines += _marked("+", pair.new[j1:j2])
        at = i2
    lines += _marked(" ", pair.old[at : end + more])
    old_lines, new_lines = end + more - start, new_end + more - new_start
    return Hunk(
        old_start=start + 1 if old_lines else start,
        old_lines=old_lines,
        new_start=new_start + 1 if new_lines else new_start,
        new_lines=new_lines,
        lines=tuple(lines),
    )


def _marked(sign: str, lines: list[str]) -> list[str]:
    marked: list[str] = []
    for line in lines:
        marked.append(sign + line.removesuffix("\n"))
        if not line.endswith("\n"):
            marked.append(NO_NEWLINE)
    return marked


def _bounded(path: str, hunks: tuple[Hunk, ...]) -> DiffDescriptor:
    kept: list[Hunk] = []
    room = MAX_SHOWN_LINES
    for hunk in hunks:
        lines = tuple(cut_line(clean_text(line)) for line in hunk.lines[:room])
        room -= len(lines)
        if lines:
            kept.append(hunk.model_copy(update={"lines": lines}))
    every = [line for hunk in hunks for line in hunk.lines]
    return DiffDescriptor(
        path=path,
        hunks=tuple(kept),
        added=sum(line.startswith("+") for line in every),
        removed=sum(line.startswith("-") for line in every),
        cut_lines=len(every) - (MAX_SHOWN_LINES - room),
    )


async def _hunks_by_git(old: str, new: str, context: ToolContext) -> tuple[Hunk, ...] | None:
    """None where there is no git."""
    stem = context.scratch / f"diff-{secrets.token_hex(8)}"
    files = (Path(f"{stem}.old"), Path(f"{stem}.new"))

    def write() -> None:
        for file, text in zip(files, (old, new), strict=True):
            file.write_bytes(text.encode("utf-8", "surrogatepass"))

    def remove() -> None:
        for file in files:
            file.unlink(missing_ok=True)

    try:
        await anyio.to_thread.run_sync(write)
        outcome = await context.processes.run(
            ProcessSpec(
                argv=("git", "diff", "--no-index", "--no-ext-diff", "--no-textconv", "--no-color",
                      "--text", f"-U{CONTEXT_LINES}", "--", *map(str, files)),
                cwd=context.scratch,
                env=git_environment(context.environment),
                timeout_seconds=20,
                head_bytes=32 << 20,
                merge_stderr=False,
            )
        )  # fmt: skip
    except ToolFailed:
        return None
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(remove)
    if outcome.exit_code not in (0, 1) or outcome.output.dropped_bytes:
        return None
    return parse_unified(outcome.output.head.decode("utf-8", "replace"))


def parse_unified(text: str) -> tuple[Hunk, ...]:
    """Hunks of a unified diff of one file; what stands before the first is skipped."""
    hunks: list[Hunk] = []
    lines: list[str] = []
    for line in split_lines(text):
        header = _HEADER.match(line)
        if header is None:
            if hunks:
                lines.append(line)
            continue
        if hunks:
            hunks[-1] = hunks[-1].model_copy(update={"lines": tuple(lines)})
        lines = []
        start, count, new_start, new_count = (int(part or 1) for part in header.groups())
        hunks.append(
            Hunk(
                old_start=start, old_lines=count, new_start=new_start, new_lines=new_count, lines=()
            )
        )
    if hunks:
        hunks[-1] = hunks[-1].model_copy(update={"lines": tuple(lines)})
    return tuple(hunks)
