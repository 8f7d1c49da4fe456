"""Which tools a mode has. The registry offers by it, and the gate judges by it. Pure."""

from __future__ import annotations

from fnmatch import fnmatchcase

from shard_jupyter.contracts.mode import Mode


def is_offered(name: str, read_only: bool, mode: Mode) -> bool:
    if mode.read_only and not read_only:
        return False
    return any(fnmatchcase(name, glob) for glob in mode.tools)
