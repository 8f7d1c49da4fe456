"""A server and the thread that owns it: it starts it, waits, and stops it.

The kernel ends a child when the *thread* that started it ends. So the thread that owns a server
lives as long as the server does, whatever becomes of the threads and event loops that use it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass

from shard_jupyter.capabilities.local_models.servers.managed_server import ManagedServer
from shard_jupyter.capabilities.local_models.servers.server_spec import Tell

Start = Callable[[Tell, threading.Event], ManagedServer]
"""Starts the server; the event is set when nobody waits for it any more."""
_FIRST_PAUSE = 0.01
_LONGEST_PAUSE = 5.0


@dataclass(frozen=True)
class Listener:
    """Whom to tell what happens while the server starts, on the event loop it belongs to."""

    loop: asyncio.AbstractEventLoop
    tell: Tell

    def hear(self, words: str) -> None:
        with suppress(RuntimeError):  # its loop is closed: nobody is there
            self.loop.call_soon_threadsafe(self.tell, words)


class SharedServer:
    """Counted by the pool: `holders` is who waits for it or uses it, guarded by the pool's lock."""

    def __init__(self, start: Start, previous: SharedServer | None) -> None:
        """Start it in a thread of its own, as soon as `previous` has ended: both may not fit."""
        self.holders = 0
        self.started: Future[ManagedServer] = Future()
        self.ended: Future[None] = Future()
        for future in (self.started, self.ended):
            future.set_running_or_notify_cancel()  # a waiter that is cancelled cancels only itself
        self._start = start
        self._previous = previous
        self._wake = threading.Event()
        self._unwanted = threading.Event()
        self._listeners: list[Listener] = []
        self._last_words = ""
        self._lock = threading.Lock()
        threading.Thread(target=self._own, name="shard-local-server", daemon=True).start()

    @property
    def is_usable(self) -> bool:
        """Whether it starts, or runs and answers. Blocks, for seconds at most."""
        if self._unwanted.is_set() or self.ended.done():
            return False
        return not self.started.done() or self.started.result().is_up()

    def listen(self, listener: Listener) -> None:
        with self._lock:
            self._listeners.append(listener)
            words = self._last_words
        if words and not self.started.done():
            listener.hear(words)

    def stop(self) -> None:
        """Have it stopped; `ended` says when it is."""
        self._unwanted.set()
        self._wake.set()

    def let_go(self) -> None:
        """In a forked copy of this process: close what belongs to the original."""
        if self.started.done() and self.started.exception() is None:
            self.started.result().let_go()

    def _own(self) -> None:
        try:
            if self._previous is not None:
                self._previous.ended.result()
                self._previous = None
            server = self._start(self._tell_all, self._unwanted)
        except BaseException as error:  # noqa: BLE001 - whoever waits for the server raises it
            self.ended.set_result(None)
            self.started.set_exception(error)
            return
        self.started.set_result(server)
        try:
            self._stay(server)
        finally:
            server.stop()
            self.ended.set_result(None)

    def _stay(self, server: ManagedServer) -> None:
        """Return when the server is unwanted or has ended by itself."""
        server.call_at_end(self._wake.set)
        self._wake.wait()
        pause = _FIRST_PAUSE
        while server.is_running() and not self._unwanted.wait(pause):  # it may only be mute
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _tell_all(self, words: str) -> None:
        with self._lock:
            self._last_words = words
            listeners = list(self._listeners)
        for listener in listeners:
            listener.hear(words)
