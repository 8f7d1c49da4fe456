"""The sending half of a client's socket: in order, and without ever making the caller wait.

A caller may be the event loop of a kernel, or the very thread that would have to read before the
other end takes more. What the socket does not take at once is sent by a thread that lives as long
as something is left.
"""

from __future__ import annotations

import select
import socket
import threading
from collections import deque
from contextlib import suppress

SEND_SECONDS = 30.0
"""How long the other end may take nothing at all; after that it counts as gone."""
_FLAGS = socket.MSG_DONTWAIT | getattr(socket, "MSG_NOSIGNAL", 0)


class Outbox:
    """Owns the descriptor: nothing is sent, shut down or closed but under its lock.

    So a number that was closed, and may be another file by then, is never used.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._lock = threading.Lock()
        self._waiting: deque[memoryview] = deque()
        self._sender: threading.Thread | None = None

    def send(self, data: bytes) -> None:
        """Send a record, now or later. Where that cannot be, the reading half sees the end."""
        with self._lock:
            if self._sock.fileno() < 0:
                return
            self._waiting.append(memoryview(data))
            if self._sender is None and not self._send_some():
                self._sender = threading.Thread(target=self._send_rest, name="shard-client-sender")
                self._sender.daemon = True
                self._sender.start()

    def shut_down(self, how: int) -> None:
        with self._lock:
            self._shut_down(how)

    def close(self) -> None:
        """Close the socket; what was not sent is dropped."""
        with self._lock:
            self._shut_down(socket.SHUT_RDWR)  # wakes the thread
            self._waiting.clear()
            self._sock.close()

    def leave_to_parent(self) -> None:
        """Close this copy of the descriptor in a forked process; the connection stays up."""
        self._lock = threading.Lock()  # may be held by a thread that does not exist here
        self._waiting.clear()
        self._sock.close()

    def _send_some(self) -> bool:
        """Send what the socket takes; True when nothing is left, or nothing can be sent."""
        try:
            while self._waiting:
                sent = self._sock.send(self._waiting[0], _FLAGS)
                if sent < len(self._waiting[0]):
                    self._waiting[0] = self._waiting[0][sent:]
                else:
                    self._waiting.popleft()
        except BlockingIOError:
            return False
        except OSError:
            self._give_up()
        return True

    def _send_rest(self) -> None:
        writable = select.poll()
        writable.register(self._sock, select.POLLOUT)
        while True:
            is_writable = bool(writable.poll(SEND_SECONDS * 1000))
            with self._lock:
                if not is_writable:
                    self._give_up()
                if self._sock.fileno() < 0 or self._send_some():
                    self._sender = None
                    return

    def _give_up(self) -> None:
        """Half of a record may be out, so that nothing more can be said."""
        self._waiting.clear()
        self._shut_down(socket.SHUT_RDWR)

    def _shut_down(self, how: int) -> None:
        if self._sock.fileno() >= 0:
            with suppress(OSError):
                self._sock.shutdown(how)
