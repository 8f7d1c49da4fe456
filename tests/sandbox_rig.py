"""A sandbox for tests: a workspace, things around it that must not be reached, and real children."""

from __future__ import annotations

import ctypes
import os
import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import anyio.to_thread
import pytest

from shard_jupyter.capabilities.sandbox.bubblewrap import BubblewrapProvider
from shard_jupyter.capabilities.sandbox.landlock import LandlockProvider
from shard_jupyter.capabilities.sandbox.launch import find_machine, interpreter_folders
from shard_jupyter.contracts.process_runner import (
    ProcessOutcome,
    ProcessSpec,
    SandboxAbilities,
    SandboxPolicy,
    SandboxProvider,
)
from shard_jupyter.core.processes import SystemProcessRunner

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/proc")
PROVIDERS = ("bubblewrap", "landlock")
PATIENCE_SECONDS = 30.0
PYTHON = os.path.realpath(sys.executable)


def find_bwrap() -> Path | None:
    found = os.environ.get("SHARD_TEST_BWRAP") or shutil.which("bwrap")
    return Path(found) if found else None


def make_provider(name: str) -> SandboxProvider:
    return LandlockProvider() if name == "landlock" else BubblewrapProvider(find_bwrap())


def landlock_version() -> int:
    """What the kernel says, asked without the provider; below 1: it has none."""
    return int(ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), ctypes.c_uint(1)))


async def demand(provider: SandboxProvider, scratch: Path) -> SandboxAbilities:
    """Try it out; where it cannot work, and for one of the known reasons, the test is skipped."""
    abilities = await provider.probe(SystemProcessRunner(), scratch)
    if not abilities.reason:
        return abilities
    if provider.name == "landlock":
        assert landlock_version() < 1 or find_machine() is None, abilities.reason
    else:
        assert "not installed" in abilities.reason or "bwrap: " in abilities.reason
    pytest.skip(f"{provider.name}: {abilities.reason}")


@dataclass
class Box:
    """`ws` may be written; `shared` read; `closed` neither; each hidden part holds a `secret`."""

    root: Path
    provider: SandboxProvider
    policy: SandboxPolicy
    sockets: dict[str, socket.socket] = field(default_factory=dict)

    @property
    def ws(self) -> Path:
        return self.root / "ws"

    def spec(self, *argv: str | bytes, **options: object) -> ProcessSpec:
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.root)}
        made = ProcessSpec(
            argv=argv,  # type: ignore[arg-type]
            cwd=self.ws,
            env=env,
            timeout_seconds=PATIENCE_SECONDS,
        )
        return replace(made, **options)  # type: ignore[arg-type]

    def wrap(self, spec: ProcessSpec, *, network: bool = False) -> ProcessSpec:
        return self.provider.wrap(spec, replace(self.policy, network=network))

    async def run(self, spec: ProcessSpec, *, network: bool = False) -> ProcessOutcome:
        wrap = partial(self.wrap, spec, network=network)
        return await SystemProcessRunner().run(await anyio.to_thread.run_sync(wrap))

    async def bash(self, text: str, *, network: bool = False) -> tuple[int | None, str]:
        outcome = await self.run(self.spec("bash", "-c", text), network=network)
        return outcome.exit_code, outcome.output.head.decode()

    async def python(self, text: str, *, network: bool = False) -> tuple[int | None, str]:
        spec = self.spec(PYTHON, "-I", "-S", "-c", text)
        outcome = await self.run(spec, network=network)
        return outcome.exit_code, outcome.output.head.decode()


@contextmanager
def open_box(root: Path, provider: SandboxProvider) -> Iterator[Box]:
    for folder in ("ws/hidden", "mixed/hidden", "shared/hidden", "closed", "tmp"):
        (root / folder).mkdir(parents=True)
    for folder in ("shared", "mixed/hidden", "shared/hidden", "closed"):
        (root / folder / "secret").write_text("SECRET", encoding="utf-8")
    (root / "ws/hidden").rmdir()
    (root / "ws/out").symlink_to("../closed")
    (root / "mixed/file").write_text("MIXED", encoding="utf-8")
    policy = SandboxPolicy(
        writable=(root / "ws", root / "mixed", root / "tmp"),
        readable=(*(p for p in map(Path, SYSTEM) if p.exists()), root / "shared",
                  *interpreter_folders()),
        hidden=(root / "mixed/hidden", root / "shared/hidden", root / "absent"),
        temporary=root / "tmp",
    )  # fmt: skip
    with ExitStack() as stack:
        box = Box(root, provider, policy)
        for name, (family, kind) in _SOCKETS.items():
            box.sockets[name] = stack.enter_context(socket.socket(family, kind))
        for name in ("tcp", "udp"):
            box.sockets[name].bind(("127.0.0.1", 0))
        for name, folder in (("near", "ws"), ("far", "closed")):
            descriptor = os.open(root / folder, os.O_PATH)
            box.sockets[name].bind(f"/proc/self/fd/{descriptor}/socket")
            os.close(descriptor)
        box.sockets["abstract"].bind(f"\0shard-test-{os.getpid()}")
        for name in ("tcp", "near", "far", "abstract"):
            box.sockets[name].listen()
        yield box


_SOCKETS = {
    "tcp": (socket.AF_INET, socket.SOCK_STREAM),
    "udp": (socket.AF_INET, socket.SOCK_DGRAM),
    "near": (socket.AF_UNIX, socket.SOCK_STREAM),
    "far": (socket.AF_UNIX, socket.SOCK_STREAM),
    "abstract": (socket.AF_UNIX, socket.SOCK_STREAM),
}
