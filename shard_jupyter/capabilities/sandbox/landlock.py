"""Landlock for files, seccomp for the rest: works where no namespace may be made (containers)."""

from __future__ import annotations

import platform
from dataclasses import dataclass, replace
from pathlib import Path

from shard_jupyter.capabilities.sandbox.launch import find_machine, write_command
from shard_jupyter.capabilities.sandbox.trial import try_out
from shard_jupyter.contracts.process_runner import (
    ProcessRunner,
    ProcessSpec,
    SandboxAbilities,
    SandboxPolicy,
)


@dataclass(frozen=True)
class LandlockProvider:
    """A `SandboxProvider` of this process alone: no program, no rights, no namespace is needed.

    What it leaves open is told in docs/how-to/sandbox.md: mode, owner and times of files outside,
    and names in folders that hold something hidden.
    """

    @property
    def name(self) -> str:
        return "landlock"

    async def probe(self, processes: ProcessRunner, scratch: Path) -> SandboxAbilities:
        if find_machine() is None:
            reason = f"there is no filter of system calls for {platform.machine()} machines"
            return SandboxAbilities(reason=reason)
        return await try_out(self, processes, scratch)

    def wrap(self, spec: ProcessSpec, policy: SandboxPolicy) -> ProcessSpec:
        argv = write_command(spec, policy, find_machine(), landlock=True)
        return replace(spec, argv=argv)
