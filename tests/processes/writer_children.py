"""Starts `tests.processes.session_writer` and listens to it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


class WriterChild:
    def __init__(self, mode: str, path: Path, *arguments: str) -> None:
        command = [sys.executable, "-m", "tests.processes.session_writer", mode, str(path)]
        self.process = subprocess.Popen(
            [*command, *arguments], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def hear(self) -> dict[str, Any] | None:
        """Next thing it says; None when it said its last."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        # A line cut by the kill was never said.
        return json.loads(line) if line.endswith(b"\n") else None

    def hear_all(self) -> list[dict[str, Any]]:
        return list(iter(self.hear, None))

    def tell(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"go\n")
        self.process.stdin.flush()

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


@contextmanager
def writer_child(mode: str, path: Path, *arguments: str) -> Iterator[WriterChild]:
    child = WriterChild(mode, path, *arguments)
    try:
        yield child
    finally:
        child.close()
