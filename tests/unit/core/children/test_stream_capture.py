from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import anyio
import pytest

from shard_jupyter.core.children.output_ring import OutputRing
from shard_jupyter.core.children.output_spill import PAUSE_BYTES, OutputSpill
from shard_jupyter.core.children.stream_capture import StreamCapture

pytestmark = pytest.mark.proves("A05", "H4f.60")


async def fill_until_blocked(write_end: int) -> int:
    """Write until the reader has taken nothing for many turns of the loop."""
    written = idle = 0
    while idle < 50:
        try:
            written += os.write(write_end, b"x" * 65_536)
            idle = 0
        except BlockingIOError:
            idle += 1
        await anyio.lowlevel.checkpoint()
    return written


async def test_disk_slower_than_the_child_stops_the_reading_and_loses_nothing(tmp_path):
    loop = asyncio.get_running_loop()
    disk_is_back = threading.Event()
    with ThreadPoolExecutor(1) as executor:
        loop.set_default_executor(executor)
        waiting = loop.run_in_executor(None, disk_is_back.wait)
        read_end, write_end = os.pipe()
        os.set_blocking(write_end, False)
        spill = OutputSpill(tmp_path / "out", 1 << 40)
        capture = StreamCapture(read_end, OutputRing(10, 10), spill, None)
        try:
            with anyio.fail_after(10):
                written = await fill_until_blocked(write_end)
                assert written < PAUSE_BYTES + (1 << 20)
                disk_is_back.set()
                await waiting
                written += await fill_until_blocked(write_end)
                os.close(write_end)
                await capture.ended.wait()
                captured = await capture.aclose()
        finally:
            disk_is_back.set()
    assert captured.total_bytes == written
    assert captured.spill_complete
    assert (tmp_path / "out").stat().st_size == written


async def test_draining_is_bounded_while_somebody_goes_on_writing():
    read_end, write_end = os.pipe()
    os.write(write_end, b"x" * 60_000)
    capture = StreamCapture(read_end, OutputRing(10, 10), None, None)
    capture.drain(1)
    assert not capture.ended.is_set()
    os.close(write_end)
    capture.drain(1 << 20)
    assert capture.ended.is_set()
    assert (await capture.aclose()).total_bytes == 60_000
