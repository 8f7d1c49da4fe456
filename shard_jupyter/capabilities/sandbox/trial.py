"""Trying a sandbox out: a real child attempts what must fail, with real things to reach."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import anyio
import anyio.to_thread

from shard_jupyter.capabilities.sandbox.launch import find_interpreter, interpreter_folders
from shard_jupyter.contracts.process_runner import (
    ProcessOutcome,
    ProcessRunner,
    ProcessSpec,
    SandboxAbilities,
    SandboxPolicy,
    SandboxProvider,
)
from shard_jupyter.errors import ToolFailed

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/proc")
SECONDS = 20.0


@dataclass(frozen=True)
class Ground:
    """Where a trial takes place. `sockets`: what must not hear anything."""

    folder: Path
    tcp: socket.socket
    udp: socket.socket

    @property
    def was_reached(self) -> bool:
        try:
            return bool(self.udp.recv(1))
        except BlockingIOError:
            return False


async def try_out(
    provider: SandboxProvider, processes: ProcessRunner, scratch: Path
) -> SandboxAbilities:
    """Run the trial in a new folder below `scratch`, which is gone when it returns."""
    folder = scratch / f"trial-{secrets.token_hex(6)}"
    with ExitStack() as stack:
        try:
            ground = await anyio.to_thread.run_sync(stack.enter_context, _prepare(folder))
            spec = await anyio.to_thread.run_sync(_wrapped, provider, ground)
            outcome = await processes.run(spec)
            return _read(outcome, heard=ground.was_reached)
        except (OSError, ToolFailed) as error:
            return SandboxAbilities(reason=f"it could not be tried: {error}")
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(stack.close)


@contextmanager
def _prepare(folder: Path) -> Iterator[Ground]:
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        for part in ("open", "mixed/hidden", "closed"):
            (folder / part).mkdir(parents=True, mode=0o700)
        for part in ("mixed/hidden", "closed"):
            (folder / part / "secret").write_bytes(b"x")
        (folder / "open/link").symlink_to("../closed")
        sockets = [stack.enter_context(socket.socket(*kind)) for kind in _KINDS]
        tcp, udp, named = sockets
        for sock in (tcp, udp):
            sock.bind(("127.0.0.1", 0))
            sock.setblocking(False)
        tcp.listen()
        _bind_in(named, folder / "closed", "socket")
        named.listen()
        yield Ground(folder, tcp, udp)


_KINDS = (
    (socket.AF_INET, socket.SOCK_STREAM),
    (socket.AF_INET, socket.SOCK_DGRAM),
    (socket.AF_UNIX, socket.SOCK_STREAM),
)


def _bind_in(sock: socket.socket, folder: Path, name: str) -> None:
    """The address of a socket holds 108 bytes; a folder may be deeper."""
    descriptor = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    try:
        sock.bind(f"/proc/self/fd/{descriptor}/{name}")
    finally:
        os.close(descriptor)


@cache
def _read_child() -> str:
    return Path(__file__).with_name("trial_child.py").read_text(encoding="utf-8")


def _wrapped(provider: SandboxProvider, ground: Ground) -> ProcessSpec:
    folder = Path(os.path.realpath(ground.folder))
    ports = [str(sock.getsockname()[1]) for sock in (ground.tcp, ground.udp)]
    seen = (str(os.getpid()), str(Path("/proc/self/ns/pid").readlink()))
    python = [str(find_interpreter()), "-I", "-S", "-X", "utf8", "-c", _read_child()]
    spec = ProcessSpec(
        argv=[*python, str(folder / "open"), *ports, *seen],
        cwd=folder / "open",
        env={"PATH": "/usr/bin:/bin"},
        timeout_seconds=SECONDS,
    )
    policy = SandboxPolicy(
        writable=(folder / "open", folder / "mixed"),
        readable=(*(Path(name) for name in SYSTEM if Path(name).exists()), *interpreter_folders()),
        hidden=(folder / "mixed/hidden",),
    )
    return provider.wrap(spec, policy)


def _read(outcome: ProcessOutcome, *, heard: bool) -> SandboxAbilities:
    text = (outcome.output.head + outcome.output.tail).decode("utf-8", "replace")
    lines = [line for line in text.split("\n") if line]
    if outcome.exit_code != 0 or "works" not in lines:
        last = lines[-1][:300] if lines else f"exit code {outcome.exit_code}"
        return SandboxAbilities(reason=f"a trial with it failed: {last}")
    held = {line.removesuffix(" held") for line in lines if line.endswith(" held")}
    return SandboxAbilities(
        fs_write="fs_write" in held,
        fs_read="fs_read" in held,
        net_tcp="net_tcp" in held,
        net_udp="net_udp" in held and not heard,
        unix_sockets="unix_sockets" in held,
        pids="pids" in held,
        mixed_folders="mixed_folders" in lines,
    )
