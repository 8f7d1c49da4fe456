"""What a tool may use while it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from shard_jupyter.contracts.process_runner import ActiveSandbox, ProcessRunner
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
        command: the canonical form of a shell command, which runs in place of the given one; empty:
            the given bytes run.
        is_confined: nobody was asked: a command runs in a minimal environment, git hardened.
        sandbox: what commands run in; None: there is none, or it is switched off.
        has_network: a person has said yes to a question that named the network.
        leaves_out: path globs of rules that forbid or ask: a tool that looks through folders does
            not look into files that they may mean.
        contents: what each file that the call changes held when it was agreed to, in the order of
            `Reach.paths`: a SHA-256 in hex, or `absent`. Empty: nobody was asked.
        places: where each path of the call led when the gate allowed it, by the path as given; None:
            nothing was allowed yet. A path that leads elsewhere as the call runs is refused.
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
    command: str = ""
    is_confined: bool = False
    sandbox: ActiveSandbox | None = None
    has_network: bool = False
    leaves_out: tuple[str, ...] = ()
    contents: tuple[str, ...] = ()
    places: Mapping[str, str] | None = None
