"""Tries what must fail, inside a sandbox, and says line by line what failed.

Run as `python -I -S -c SOURCE FOLDER TCP_PORT UDP_PORT PARENT_PID PID_NAMESPACE`; its folder is
the one that it may write. Each line is a name and `held` or `open`, or the name of what need not
work and does; the last is `works` when all that must work did.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path


def main(folder: str, tcp: str, udp: str, parent: str, namespace: str) -> None:
    closed = Path(folder).parent / "closed"
    say("fs_write", refused(lambda: (closed / "new").write_bytes(b"x")))
    secrets = (closed / "secret", Path("../mixed/hidden/secret"), Path("link/secret"))
    say("fs_read", all(refused(secret.read_bytes) for secret in secrets))
    say("net_tcp", refused(lambda: connect(socket.AF_INET, ("127.0.0.1", int(tcp)))))
    say("net_udp", refused(lambda: send(("127.0.0.1", int(udp)))))
    say("unix_sockets", refused(lambda: connect(socket.AF_UNIX, "../closed/socket")))
    say("pids", in_other_namespace(namespace) or cannot_reach(int(parent)))
    check_what_must_work()
    if not refused(lambda: Path("../mixed/new").write_bytes(b"x")):
        tell("mixed_folders")
    tell("works")


def check_what_must_work() -> None:
    Path("made").write_bytes(b"x")
    Path(os.__file__).read_bytes()
    left, right = socket.socketpair()
    left.sendall(b"x")
    assert right.recv(1) == b"x"
    child = os.fork()
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def say(name: str, held: bool) -> None:
    tell(f"{name} {'held' if held else 'open'}")


def tell(text: str) -> None:
    os.write(1, f"{text}\n".encode())


def refused(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except OSError:
        return True
    return False


def connect(family: int, address: object) -> None:
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        sock.connect(address)  # type: ignore[arg-type]


def send(address: tuple[str, int]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.sendto(b"x", address)


def in_other_namespace(namespace: str) -> bool:
    """There the number of our parent means another process, or none."""
    return str(Path("/proc/self/ns/pid").readlink()) != namespace


def cannot_reach(parent: int) -> bool:
    environ = Path(f"/proc/{parent}/environ")
    return refused(partial(os.kill, parent, 0)) and refused(environ.read_bytes)


if __name__ == "__main__":
    main(*sys.argv[1:])
