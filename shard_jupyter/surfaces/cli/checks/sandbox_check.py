"""What `shard doctor` says of the sandbox: each is tried out for real."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import anyio

from shard_jupyter.contracts.process_runner import SandboxProvider, SandboxSetting
from shard_jupyter.core.extensions.host import ExtensionHost
from shard_jupyter.core.processes import SystemProcessRunner
from shard_jupyter.core.sandbox.sandbox_choice import (
    ADVICE,
    Tried,
    choose,
    say_abilities,
)
from shard_jupyter.surfaces.cli.checks.doctor_check import Check
from shard_jupyter.surfaces.composition import install_bundled


def check_sandbox(setting: SandboxSetting) -> Iterator[Check]:
    """Yield a line for what is used, and one for each that cannot be."""
    if setting == "off":
        yield Check("sandbox", "warn", "switched off: commands reach the network and your keys")
        return
    with tempfile.TemporaryDirectory(prefix="shard-doctor-") as scratch:
        tried = anyio.run(_try_all, Path(scratch))
    yield from describe_trials(setting, tried)


def describe_trials(setting: SandboxSetting, tried: Sequence[Tried]) -> Iterator[Check]:
    """As `check_sandbox`, of what was tried. Pure."""
    choice = choose(setting, tried)
    if choice.used is not None:
        told = f"{choice.used.name} {say_abilities(choice.used.abilities)}"
        if choice.problem:
            yield Check("sandbox", "warn", f"{told}; {choice.problem}", ADVICE)
        else:
            yield Check("sandbox", "ok", told)
    elif setting == "required":
        yield Check("sandbox", "problem", f"one is required, and {choice.problem}", ADVICE)
    else:
        yield Check("sandbox", "warn", choice.problem, ADVICE)
    for one in tried:
        if choice.used is not None and one.abilities.reason:
            yield Check("sandbox", "ok", f"{one.name} is not used: {one.abilities.reason}")


async def _try_all(scratch: Path) -> list[Tried]:
    host = ExtensionHost()
    await install_bundled(host)
    providers: Sequence[SandboxProvider] = tuple(host.snapshot().sandboxes.values())
    return [
        Tried(provider.name, await provider.probe(SystemProcessRunner(), scratch))
        for provider in providers
    ]
