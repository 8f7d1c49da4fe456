"""A real worker process at the other end of a bare socket: a client that sends what it likes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import psutil

from shard_jupyter.core.children.peer import Peer
from shard_jupyter.core.processes import start_peer
from shard_jupyter.errors import FrameError
from shard_jupyter.protocol.framing import FrameDecoder, encode_record
from shard_jupyter.surfaces.transports.worker import _command
from tests.worker_rig import PATIENCE_SECONDS, plain_environ

Record = dict[str, Any]


class RawWorker:
    def __init__(self, folder: Path) -> None:
        self.sock, theirs = socket.socketpair()
        self.sock.settimeout(PATIENCE_SECONDS)
        with theirs, (folder / "stderr").open("wb") as log:
            self.peer: Peer = start_peer(
                _command(theirs.fileno()),
                sock=theirs,
                env=plain_environ(folder),
                cwd=Path("/"),
                log=log.fileno(),
            )
        self._decoder = FrameDecoder()
        self._came: list[Any] = []

    def send(self, data: bytes | Iterable[bytes]) -> None:
        for piece in [data] if isinstance(data, bytes) else data:
            self.sock.sendall(piece)

    def say(self, **record: Any) -> None:
        self.send(encode_record({"v": 1, **record}))

    def read(self) -> Record:
        while not self._came:
            data = self.sock.recv(262_144)
            assert data, "the worker has closed its end"
            self._came += self._decoder.feed(data)
        item = self._came.pop(0)
        assert not isinstance(item, FrameError)
        return item

    def read_until(self, command_id: str) -> list[Record]:
        """What comes before the reply to a command, which must be a good one."""
        came = []
        while (record := self.read()).get("re") != command_id:
            came.append(record)
        assert record["ok"] is True, record
        return came

    def ask(self, command_id: str, **command: Any) -> list[Record]:
        self.say(id=command_id, **command)
        return self.read_until(command_id)

    def memory(self) -> int:
        return int(psutil.Process(self.peer.pid).memory_info().rss)


@contextmanager
def raw_worker(folder: Path, *, hello: bool = True) -> Iterator[RawWorker]:
    """At the end it has ended in good order, without a word on stderr."""
    worker = RawWorker(folder)
    try:
        if hello:
            worker.ask("hello", type="hello", client="raw")
        yield worker
    finally:
        worker.sock.close()
        code = worker.peer.wait(PATIENCE_SECONDS)
        if code is None:
            worker.peer.kill()
            worker.peer.wait(PATIENCE_SECONDS)
    assert (code, (folder / "stderr").read_bytes()) == (0, b"")


class Flood(threading.Thread):
    """Sends while another thread reads."""

    def __init__(self, worker: RawWorker, pieces: Iterable[bytes]) -> None:
        super().__init__(daemon=True)
        self._worker = worker
        self._pieces = pieces

    def run(self) -> None:
        self._worker.send(self._pieces)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.join(PATIENCE_SECONDS)
