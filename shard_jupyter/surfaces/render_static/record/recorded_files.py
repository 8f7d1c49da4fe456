"""Which files a turn has changed, from the diffs of its steps. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from shard_jupyter.surfaces.render_static.record.record_items import ChangedFile, StepItem
from shard_jupyter.types.render_descriptors import DiffDescriptor


def list_changed_files(
    steps: Iterable[StepItem], undrawn: Mapping[int, Sequence[str]]
) -> tuple[ChangedFile, ...]:
    """Put the edits of each file together, in the order of its first change.

    `undrawn` has, by number of the step, the changed paths that a tool told; they are listed by
    name where the step shows no diff. Number 0 is for those of no known step.
    """
    files: dict[str, ChangedFile] = {}
    for step in steps:
        if step.state != "ok":
            continue
        diffs = list(diffs_of(step))
        for diff in diffs:
            file = files.get(diff.path) or ChangedFile(path=diff.path)
            changes = {
                "added": file.added + diff.added,
                "removed": file.removed + diff.removed,
                "steps": tuple(dict.fromkeys((*file.steps, step.number))),
            }
            files[diff.path] = file.model_copy(update=changes)
        if not diffs:
            for path in undrawn.get(step.number, ()):
                name = _short_name(path, step.target)
                files.setdefault(name, ChangedFile(path=name))
    for path in undrawn.get(0, ()):
        name = _short_name(path, "")
        files.setdefault(name, ChangedFile(path=name))
    return tuple(files.values())


def _short_name(path: str, target: str) -> str:
    """Where a project lies differs from machine to machine: show what the call named, or the name."""
    if target and (path == target or path.endswith(f"/{target.removeprefix('./')}")):
        return target
    return path.rstrip("/").rpartition("/")[2] or path


def diffs_of(step: StepItem, path: str | None = None) -> Iterator[DiffDescriptor]:
    for part in step.render:
        if isinstance(part, DiffDescriptor) and path in (None, part.path):
            yield part
