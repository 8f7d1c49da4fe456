"""One small file for each server that runs, so that servers without an owner can be ended.

A server normally ends with its owner: the kernel or its lifeline sees to it. Where neither did, the
next process that uses local models finds the file, sees that the owner is gone, and ends what is
left. A process is known by its number and its start together, because numbers are used again.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil
from pydantic_core import from_json

FOLDER = Path("models") / "servers"
_CLOCK_SECONDS = 2.0
"""Two readings of one start may differ: it is counted from the boot, whose time is estimated."""
_GRACE_SECONDS = 5.0


@dataclass(frozen=True)
class LeaseFile:
    """Who serves and for whom. `place` tells machines, boots and containers apart."""

    pid: int
    started: float
    parent_pid: int
    parent_started: float
    place: str


def write_lease(state_home: Path, pid: int) -> Path | None:
    """Note that the child `pid` serves for this process; None when the child is gone already.

    Raises:
        OSError: it cannot be written.
    """
    started = _find_start(pid)
    parent_started = _find_start(os.getpid())
    if started is None or parent_started is None:
        return None
    folder = state_home / FOLDER
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    lease = LeaseFile(pid, started, os.getpid(), parent_started, find_place())
    path = folder / f"{pid}.json"
    temporary = folder / f".tmp-{secrets.token_hex(8)}"
    temporary.write_bytes(json.dumps(asdict(lease)).encode())
    temporary.replace(path)
    return path


def end_orphans(state_home: Path) -> int:
    """End servers whose owner is gone; return how many. Those of living owners are left alone."""
    ended = 0
    for path in sorted((state_home / FOLDER).glob("*.json")):
        lease = _read_lease(path)
        if lease is None or lease.place == find_place():
            if lease is not None and _is_same(lease.parent_pid, lease.parent_started):
                continue
            if lease is not None and _is_same(lease.pid, lease.started):
                _end(lease.pid)
                ended += 1
            with suppress(OSError):
                path.unlink()
    return ended


def find_place() -> str:
    """Name where numbers of processes count: this machine, since its start, in this container."""
    parts = [socket.gethostname()]
    if sys.platform == "linux":
        with suppress(OSError):
            boot = Path("/proc/sys/kernel/random/boot_id").read_bytes().decode("ascii").strip()
            parts += [boot, str(Path("/proc/self/ns/pid").readlink())]
    return " ".join(parts)


def _read_lease(path: Path) -> LeaseFile | None:
    try:
        said: Any = from_json(path.read_bytes())
        return LeaseFile(
            pid=int(said["pid"]),
            started=float(said["started"]),
            parent_pid=int(said["parent_pid"]),
            parent_started=float(said["parent_started"]),
            place=str(said["place"]),
        )
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _find_start(pid: int) -> float | None:
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return float(process.create_time())
    except (psutil.Error, ValueError, OverflowError):
        return None


def _is_same(pid: int, started: float) -> bool:
    found = _find_start(pid)
    return found is not None and abs(found - started) <= _CLOCK_SECONDS


def _end(pid: int) -> None:
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        process.terminate()
        with suppress(psutil.TimeoutExpired):
            process.wait(_GRACE_SECONDS)
            return
        process.kill()
        process.wait(_GRACE_SECONDS)
