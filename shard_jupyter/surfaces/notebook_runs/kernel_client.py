"""Talk to a kernel: one stream of what it says on all its channels, and what is sent to it."""

from __future__ import annotations

import struct
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import anyio
import anyio.abc
import anyio.to_thread

from shard_jupyter.errors import UserError
from shard_jupyter.surfaces.notebook_runs.kernel_process import KernelProcess
from shard_jupyter.surfaces.notebook_runs.presses import Inbox, Press, Stopped

if TYPE_CHECKING:
    from jupyter_client.asynchronous.client import AsyncKernelClient
    from jupyter_client.connect import KernelConnectionInfo

START_SECONDS = 60.0
HANDSHAKE_DONE = 0x1000
"""ZMQ_EVENT_HANDSHAKE_SUCCEEDED."""
LOOK_SECONDS = 0.2
"""How often is looked whether the process still lives."""
Message = dict[str, Any]
Channel = Literal["iopub", "shell", "stdin"]
CHANNELS: tuple[Channel, ...] = ("iopub", "shell", "stdin")


class KernelDied(UserError):
    """The kernel's process has ended by itself."""

    code = "kernel_died"


@dataclass(frozen=True)
class Heard:
    """A message of the kernel."""

    channel: Channel
    message: Message

    @property
    def kind(self) -> str:
        return str(self.message["msg_type"])

    @property
    def content(self) -> dict[str, Any]:
        content: dict[str, Any] = self.message["content"]
        return content

    @property
    def parent(self) -> str:
        """Id of the request that it belongs to."""
        return str(self.message["parent_header"].get("msg_id", ""))


class KernelClient:
    """Use `open_client`. What comes is put into `inbox`, and `KernelDied` after the last of it."""

    def __init__(
        self,
        client: AsyncKernelClient,
        process: KernelProcess,
        inbox: Inbox,
    ) -> None:
        self.last_output_at = 0.0
        """When something was shown last; seconds of `time.monotonic`."""
        self.can_be_asked = anyio.Event()
        """A kernel drops what it asks before the channel for it is connected."""
        self._client = client
        self._asked_by = client.stdin_channel.socket
        self._connections = self._asked_by.get_monitor_socket()
        self._process = process
        self._inbox = inbox

    async def pump(self, channel: Channel) -> None:
        """Put all that comes on a channel into the inbox; runs until it is cancelled."""
        source = getattr(self._client, f"{channel}_channel")
        while True:
            message = await source.get_msg()
            if channel == "iopub":
                self.last_output_at = time.monotonic()
            self._inbox.put_nowait(Heard(channel, message))

    async def watch(self) -> None:
        """Put `KernelDied` into the inbox when the process has ended."""
        while not await anyio.to_thread.run_sync(self._process.is_dead):
            await anyio.sleep(LOOK_SECONDS)
        words = await anyio.to_thread.run_sync(self._process.last_words)
        code = self._process.exit_code
        self._inbox.put_nowait(
            KernelDied(
                f"The kernel ended with exit code {code}{': ' if words else '.'}{words}",
                next_step="Run it again.",
            )
        )

    async def watch_connection(self) -> None:
        """Set `can_be_asked` as soon as it is so."""
        event = 0
        try:
            while event != HANDSHAKE_DONE:
                (event,) = struct.unpack_from("=H", (await self._connections.recv_multipart())[0])
        finally:
            self._asked_by.disable_monitor()
        self.can_be_asked.set()

    async def execute(
        self, code: str, cell_id: str, *, allow_stdin: bool, stop_on_error: bool
    ) -> str:
        """Send a cell; returns the id of the request."""
        content = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": allow_stdin,
            "stop_on_error": stop_on_error,
        }
        return await self._send("shell", "execute_request", content, {"cellId": cell_id})

    async def ask_info(self) -> None:
        await self._send("shell", "kernel_info_request", {}, {})

    async def ask_shutdown(self) -> None:
        await self._send("control", "shutdown_request", {"restart": False}, {})

    async def reply_input(self, line: str) -> None:
        await self._send("stdin", "input_reply", {"value": line}, {})

    async def _send(
        self, channel: str, kind: str, content: dict[str, Any], metadata: dict[str, Any]
    ) -> str:
        session = self._client.session
        message = session.msg(kind, content, metadata=metadata)
        # Not by the channel's own `send`: it goes past the event loop, which then may never learn
        # of a message that arrives at that moment, and of none after it.
        socket = getattr(self._client, f"{channel}_channel").socket
        await socket.send_multipart(session.serialize(message))
        return str(message["header"]["msg_id"])


@asynccontextmanager
async def open_client(
    process: KernelProcess,
    inbox: Inbox,
    group: anyio.abc.TaskGroup,
) -> AsyncIterator[KernelClient]:
    """Connect; `group` carries what listens, until the block is left."""
    from jupyter_client.asynchronous.client import (  # noqa: PLC0415 - loads ZeroMQ
        AsyncKernelClient,
    )

    raw = AsyncKernelClient()
    raw.load_connection_info(cast("KernelConnectionInfo", process.connection))
    raw.start_channels(hb=False)
    client = KernelClient(raw, process, inbox)
    scope = anyio.CancelScope()
    is_over = anyio.Event()
    group.start_soon(_listen, client, scope, is_over)
    try:
        yield client
    finally:
        scope.cancel()
        with anyio.CancelScope(shield=True):
            await is_over.wait()
        raw.stop_channels()


async def _listen(client: KernelClient, scope: anyio.CancelScope, is_over: anyio.Event) -> None:
    try:
        with scope:
            async with anyio.create_task_group() as listeners:
                for channel in CHANNELS:
                    listeners.start_soon(client.pump, channel)
                listeners.start_soon(client.watch)
                listeners.start_soon(client.watch_connection)
    finally:
        is_over.set()


async def wait_until_ready(client: KernelClient, inbox: Inbox) -> dict[str, Any]:
    """Wait until the kernel answers and its outputs arrive; returns what it says of itself.

    Raises:
        KernelDied: it ended before.
        UserError: it does not answer in time.
        Stopped: somebody does not want it any more.
    """
    info: dict[str, Any] | None = None
    hears_outputs = False
    with anyio.move_on_after(START_SECONDS):
        while info is None or not hears_outputs:
            # Asked again and again: outputs that come before one listens are lost.
            await client.ask_info()
            with anyio.move_on_after(1.0):
                while info is None or not hears_outputs:
                    item = await inbox.get()
                    if isinstance(item, KernelDied):
                        raise item
                    if isinstance(item, Press):
                        raise Stopped
                    if isinstance(item, Heard):
                        hears_outputs = hears_outputs or item.channel == "iopub"
                        info = item.content if item.kind == "kernel_info_reply" else info
        await client.can_be_asked.wait()
    if info is None or not client.can_be_asked.is_set():
        raise UserError(
            f"The kernel did not answer within {START_SECONDS:g} s.",
            code="kernel_silent",
            next_step="Run it again when the machine has less to do.",
        )
    return info
