"""The client of the runner: nothing that a kernel says is missed, whenever it comes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from shard_jupyter.surfaces.notebook_runs.kernel_client import (
    Heard,
    KernelClient,
    open_client,
    wait_until_ready,
)
from shard_jupyter.surfaces.notebook_runs.kernel_process import KernelProcess
from shard_jupyter.surfaces.notebook_runs.presses import Inbox
from tests.jupyter.kernel import kernel_environ

pytestmark = [pytest.mark.proves("D12"), pytest.mark.timeout(120)]


@asynccontextmanager
async def ready_client(folder: Path) -> AsyncIterator[tuple[KernelClient, Inbox]]:
    environ = kernel_environ(folder)
    process = await anyio.to_thread.run_sync(KernelProcess.start, folder, environ)
    inbox: Inbox = asyncio.Queue()
    try:
        async with (
            anyio.create_task_group() as group,
            open_client(process, inbox, group) as client,
        ):
            await wait_until_ready(client, inbox)
            yield client, inbox
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(process.end)


async def hear_replies(inbox: Inbox, count: int) -> None:
    while count:
        item = await inbox.get()
        count -= isinstance(item, Heard) and item.kind == "kernel_info_reply"


async def test_a_message_that_comes_while_one_is_sent_is_heard(tmp_path: Path) -> None:
    async with ready_client(tmp_path) as (client, inbox):
        while not inbox.empty():
            inbox.get_nowait()
        await client.ask_info()
        time.sleep(1.0)  # noqa: ASYNC251 - the reply arrives while the loop cannot look
        await client.ask_info()
        with anyio.fail_after(20):
            await hear_replies(inbox, 2)
