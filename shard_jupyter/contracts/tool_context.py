"""What a tool may use while it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from shard_jupyter.contracts.process_runner import ProcessRunner
from shard_jupyter.types.content import ImageBlock


class PathLocks(Protocol):
    def hold(self, path: Path) -> AbstractAsyncContextManager[None]:
        """Serialise changes to one file, by real path. Held by one call at a time, in order."""
        ...


class BlobStore(Protocol):
    async def put(self, data: bytes, media_type: str) -> ImageBlock:
        """Keep bytes by hash, once. Durable when it returns.

        Raises:
            StorageError: it could not be written.
        """
        ...

    async def get(self, sha256: str) -> bytes:
        """Read them back.

        Raises:
            StorageError: missing, or not the bytes that the hash names.
        """
        ...


@dataclass(frozen=True)
class ToolContext:
    """One call's surroundings. Owned by the turn loop, valid until the call returns.

    Attributes:
        cwd: the workspace root, absolute and real. Fixed at agent creation.
        environment: what children get: no key, no token (`core/children/child_environment.py`).
        scratch: a folder for spill files, private to the agent, which outlives the call.
        report: shows a piece of output while the call runs; ephemeral.
        output_limit_bytes: at most this much text goes to the model from one call.
        bash_timeout_seconds: what a command gets when the model asks for no time of its own.
    """

    agent_id: str
    turn_id: str
    call_id: str
    cwd: Path
    environment: Mapping[str, str]
    processes: ProcessRunner
    locks: PathLocks
    blobs: BlobStore
    scratch: Path
    report: Callable[[str], None]
    output_limit_bytes: int = 32_768
    bash_timeout_seconds: float = 120.0
