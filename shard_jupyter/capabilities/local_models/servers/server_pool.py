"""The servers of this process: shared by all who want the same, ended when nobody does."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
import weakref
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import wait
from pathlib import Path

import anyio
import anyio.to_thread

from shard_jupyter.capabilities.local_models.engines.engine import Engine
from shard_jupyter.capabilities.local_models.engines.find_engine import find_engine
from shard_jupyter.capabilities.local_models.model_places import ModelPlaces
from shard_jupyter.capabilities.local_models.servers.lease_files import end_orphans
from shard_jupyter.capabilities.local_models.servers.managed_server import (
    ManagedServer,
    StartLimits,
    StartRequest,
    start_server,
)
from shard_jupyter.capabilities.local_models.servers.server_spec import (
    RunningServer,
    ServerSpec,
    Tell,
)
from shard_jupyter.capabilities.local_models.servers.shared_server import Listener, SharedServer
from shard_jupyter.contracts.process_runner import ChildStarter
from shard_jupyter.errors import UserError

EngineChooser = Callable[[str, str, Mapping[str, str]], Engine]
_Key = tuple[ServerSpec, str, str, Path]
_pools: weakref.WeakSet[ServerPool] = weakref.WeakSet()


class ServerPool:
    """Implements `Servers`. One for each process; nothing starts before the first `acquire`.

    May be used from several threads and event loops. A forked copy of the process has none of the
    servers of the original, and leaves them alone.
    """

    def __init__(
        self,
        start_child: ChildStarter,
        *,
        choose_engine: EngineChooser = find_engine,
        limits: StartLimits = StartLimits(),  # noqa: B008 - frozen
    ) -> None:
        self._start_child = start_child
        self._choose_engine = choose_engine
        self._limits = limits
        self._is_closed = False
        self._is_registered = False
        self._forget()
        _pools.add(self)

    async def acquire(self, spec: ServerSpec, tell: Tell, *, places: ModelPlaces) -> PoolLease:
        """See `Servers.acquire`."""
        claim = _Claim(spec, places, Listener(asyncio.get_running_loop(), tell))
        kept = False
        try:
            shared = await anyio.to_thread.run_sync(self._join, claim)
            server = await asyncio.wrap_future(shared.started)
            kept = True
        finally:
            if not kept:
                await self._give_back(claim)
        return PoolLease(self._give_back, claim, server)

    def close(self) -> None:
        """Stop all and wait for their end; blocks. Nothing can be acquired afterwards."""
        with self._lock:
            self._is_closed = True
            living = list(self._living)
            self._current.clear()
        for shared in living:
            shared.stop()
        wait([shared.ended for shared in living])

    async def _give_back(self, claim: _Claim) -> None:
        if claim.process != os.getpid():  # a forked copy has neither the server nor threads
            return
        with anyio.CancelScope(shield=True):
            shared = await anyio.to_thread.run_sync(self._leave, claim)
            if shared is not None:
                await asyncio.wrap_future(shared.ended)

    def _join(self, claim: _Claim) -> SharedServer:
        places = claim.places
        self._end_orphans_once(places.state_home)
        with self._lock:
            if self._is_closed or claim.is_over:
                raise UserError("The models of this process are stopped.", code="closed")
            shared = self._current.get(claim.key)
            if shared is not None and not shared.is_usable:
                shared.stop()
                shared = self._make(claim, shared)
            elif shared is None:
                shared = self._make(claim, None)
            claim.shared = shared
            shared.holders += 1
        shared.listen(claim.listener)
        return shared

    def _make(self, claim: _Claim, previous: SharedServer | None) -> SharedServer:
        spec, places = claim.spec, claim.places

        def start(tell: Tell, given_up: threading.Event) -> ManagedServer:
            return start_server(
                StartRequest(
                    spec=spec,
                    engine=self._choose_engine(places.engine, places.server_path, places.environ),
                    state_home=places.state_home,
                    start_child=self._start_child,
                    tell=tell,
                    given_up=given_up,
                    limits=self._limits,
                )
            )

        if not self._is_registered:
            self._is_registered = True
            atexit.register(self.close)
        shared = SharedServer(start, previous)
        self._living.add(shared)
        self._current[claim.key] = shared
        shared.ended.add_done_callback(lambda _: self._drop(claim.key, shared))
        return shared

    def _leave(self, claim: _Claim) -> SharedServer | None:
        """Return the server that ends by this, None when others still hold it."""
        with self._lock:
            shared, claim.shared = claim.shared, None
            claim.is_over = True
            if shared is None:
                return None
            shared.holders -= 1
            if shared.holders > 0:
                return None
            shared.stop()  # before anybody else can join it
            return shared

    def _drop(self, key: _Key, shared: SharedServer) -> None:
        with self._lock:
            self._living.discard(shared)
            if self._current.get(key) is shared:
                del self._current[key]

    def _end_orphans_once(self, state_home: Path) -> None:
        with self._orphan_lock:
            if state_home not in self._searched:
                end_orphans(state_home)
                self._searched.add(state_home)

    def _forget(self) -> None:
        """Begin without servers, with locks that nobody holds."""
        self._lock = threading.RLock()  # a start may fail at once, while it is held
        self._orphan_lock = threading.Lock()
        self._current: dict[_Key, SharedServer] = {}
        self._living: set[SharedServer] = set()
        self._searched: set[Path] = set()
        self._is_closed = False
        self._is_registered = False

    def after_fork(self) -> None:
        """In a copy of the process: close our ends of what belongs to the original."""
        for shared in self._living:
            shared.let_go()
        self._forget()


class _Claim:
    """One caller's wish for a server. The fields below the first are guarded by the pool's lock."""

    def __init__(self, spec: ServerSpec, places: ModelPlaces, listener: Listener) -> None:
        self.spec = spec
        self.places = places
        self.listener = listener
        self.process = os.getpid()
        self.shared: SharedServer | None = None
        self.is_over = False

    @property
    def key(self) -> _Key:
        places = self.places
        return self.spec, places.engine, places.server_path, places.state_home


class PoolLease:
    """Implements `Lease`."""

    def __init__(
        self, give_back: Callable[[_Claim], Awaitable[None]], claim: _Claim, server: ManagedServer
    ) -> None:
        self._give_back = give_back
        self._claim = claim
        self._server = server

    @property
    def server(self) -> RunningServer:
        return self._server.running

    @property
    def server_pid(self) -> int:
        return self._server.pid

    async def is_up(self) -> bool:
        """See `Lease.is_up`."""
        return await anyio.to_thread.run_sync(self._server.is_up)

    async def release(self) -> None:
        """See `Lease.release`."""
        await self._give_back(self._claim)


def _after_fork() -> None:
    for pool in _pools:
        pool.after_fork()


os.register_at_fork(after_in_child=_after_fork)
