from __future__ import annotations

import anyio
import pytest

from shard_jupyter.core.children.output_spill import PAUSE_BYTES, OutputSpill

pytestmark = pytest.mark.proves("A05", "H4f.60")


async def test_waiting_for_the_thread_never_spins_the_loop(tmp_path):
    # Woken between the end of the write and its callback, a waiter once never let go of the loop.
    spill = OutputSpill(tmp_path / "out", 1 << 40)
    offered = 0
    with anyio.fail_after(20):
        for _ in range(200):
            while not spill.is_behind:
                spill.offer(b"x" * 300_000)
                offered += 300_000
            await spill.wait_for_room()
        await spill.aclose()
    assert offered > 200 * PAUSE_BYTES // 4
    assert (tmp_path / "out").stat().st_size == offered
    assert spill.complete


async def test_existing_file_is_never_written_over(tmp_path):
    (tmp_path / "out").write_bytes(b"kept")
    spill = OutputSpill(tmp_path / "out", 100)
    spill.offer(b"new")
    await spill.aclose()
    assert not spill.complete
    assert (tmp_path / "out").read_bytes() == b"kept"
