"""A provider's own hold on the server of its model: taken with the first request, given back at the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

import anyio
import anyio.to_thread

from shard_jupyter.capabilities.local_models.model_places import ModelPlaces
from shard_jupyter.capabilities.local_models.servers.server_spec import Lease, Servers, ServerSpec
from shard_jupyter.contracts.provider import ProviderNotice
from shard_jupyter.errors import AgentClosed

LOADING = "model_loading"


class OpenedServer:
    """Starts nothing until `open` is asked for. Belongs to one event loop."""

    def __init__(
        self,
        servers: Servers,
        spec: ServerSpec,
        places: ModelPlaces,
        check_file: Callable[[], None] = lambda: None,
    ) -> None:
        """`check_file` is called in a thread before each use; it raises a ShardError.

        Also while a server is up: one that was idle reads the file again.
        """
        self._servers = servers
        self._spec = spec
        self._places = places
        self._check_file = check_file
        self._lock = anyio.Lock()
        self._acquiring: asyncio.Future[Lease] | None = None
        self._is_closed = False
        self.lease: Lease | None = None

    async def open(self) -> AsyncGenerator[ProviderNotice, None]:
        """Take the lease if there is none, and yield what a person should know meanwhile.

        Closing the iterator, or cancellation, gives up the wait.

        Raises:
            ShardError: as `Servers.acquire`; it was closed meanwhile.
        """
        async with self._lock:
            await anyio.to_thread.run_sync(self._check_file)
            self._fail_if_closed()
            if self.lease is not None and await self.lease.is_up():
                return
            await self.drop()
            self._fail_if_closed()
            told: asyncio.Queue[str | None] = asyncio.Queue()
            acquiring = self._acquiring = asyncio.ensure_future(
                self._servers.acquire(self._spec, told.put_nowait, places=self._places)
            )
            acquiring.add_done_callback(lambda _: told.put_nowait(None))
            try:
                while (text := await told.get()) is not None:
                    yield ProviderNotice(code=LOADING, message=text)
                self._fail_if_closed()
                self.lease = acquiring.result()
            finally:
                self._acquiring = None
                if self.lease is None:
                    await _give_up(acquiring)

    def _fail_if_closed(self) -> None:
        if self._is_closed:
            raise AgentClosed("The model was closed.")

    async def aclose(self) -> None:
        """Give the lease back, and the wait for one up. Nothing can be opened afterwards."""
        self._is_closed = True
        if self._acquiring is not None:
            self._acquiring.cancel()
        await self.drop()

    async def drop(self) -> None:
        """Give the lease back. Idempotent; the next `open` takes a new one."""
        lease, self.lease = self.lease, None
        if lease is not None:
            with anyio.CancelScope(shield=True):
                await lease.release()


async def _give_up(acquiring: asyncio.Future[Lease]) -> None:
    """Stop waiting; a lease that came at the same moment goes back."""
    acquiring.cancel()
    with anyio.CancelScope(shield=True):
        (outcome,) = await asyncio.gather(acquiring, return_exceptions=True)
        if not isinstance(outcome, BaseException):
            await outcome.release()
