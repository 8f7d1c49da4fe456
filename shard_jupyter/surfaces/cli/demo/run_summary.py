"""What an executed notebook says of itself: how much its agents have done. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nbformat import NotebookNode

from shard_jupyter.surfaces.render_static.bundle import TRANSCRIPT_MIME


@dataclass(frozen=True)
class RunSummary:
    """`files` are the paths that were changed, as the records name them."""

    tool_calls: int
    files: tuple[str, ...]
    denied: int = 0
    """So many of the calls."""


def sum_up(notebook: NotebookNode) -> RunSummary:
    """Sum up the records of all turns in the outputs."""
    records = list(_find_records(notebook))
    steps = [item for record in records for item in record["items"] if item["kind"] == "step"]
    files = [file["path"] for record in records for file in record["changed_files"]]
    denied = sum(step.get("state") == "denied" for step in steps)
    return RunSummary(len(steps), tuple(dict.fromkeys(files)), denied)


def _find_records(notebook: NotebookNode) -> Iterator[dict[str, Any]]:
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            record = output.get("data", {}).get(TRANSCRIPT_MIME)
            if record is not None:
                yield record
