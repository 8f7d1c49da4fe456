"""Pages that are made from code: check that they are what the code says, or write them.

python -m tests.docs_check           exit 1 and name the pages that differ
python -m tests.docs_check --write   write them
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from shard_jupyter.core.config.describe_settings import describe_settings
from shard_jupyter.surfaces.cli.command_tree import build_parser
from shard_jupyter.surfaces.cli.described_commands import describe_commands, write_reference
from tests import notebook_recording
from tests.demo_recording import make_cassette

ROOT = Path(__file__).parent.parent
GENERATED: dict[str, Callable[[], str]] = {
    "docs/reference/config.md": describe_settings,
    "docs/demo/cassette.jsonl": make_cassette,
    "notebooks/cassettes/02_replay.jsonl": notebook_recording.make_cassette,
    "docs/reference/cli.md": lambda: write_reference(describe_commands(build_parser())),
}


def outdated_pages(root: Path = ROOT) -> list[str]:
    """Return the pages that are missing or differ from what is generated."""
    return [
        page for page, make in GENERATED.items() if _read(root / page) != make().encode("utf-8")
    ]


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def write_pages(root: Path = ROOT) -> None:
    for page, make in GENERATED.items():
        (root / page).parent.mkdir(parents=True, exist_ok=True)
        (root / page).write_bytes(make().encode("utf-8"))


def main(arguments: list[str]) -> int:
    if arguments == ["--write"]:
        write_pages()
        notebook_recording.store_outputs()
        return 0
    if arguments:
        print(__doc__, file=sys.stderr)
        return 2
    pages = outdated_pages()
    for page in pages:
        print(f"{page} is not what the code says: python -m tests.docs_check --write")
    return 1 if pages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
