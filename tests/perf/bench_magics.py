"""What the magic costs a kernel: loading it, its first cell, and a stop."""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

import anyio.to_thread

from tests.fakes.model_server import MockModel
from tests.jupyter.kernel import Kernel, open_kernel
from tests.perf.report import Row, Stopwatch

PLAIN = "from IPython.core.interactiveshell import InteractiveShell as S; s = S.instance()"
LOADED = f"{PLAIN}; s.run_line_magic('load_ext', 'shard_jupyter')"
NOTEBOOK = {"cellId": "bench"}


async def measure_magics(folder: Path, mock: MockModel, repeat: int) -> list[Row]:
    plain, loaded = [await _cpu_of(code, max(5, repeat)) for code in (PLAIN, LOADED)]
    rows = [
        Row("loading the magic over IPython, CPU", f"{loaded - plain:.0f} ms", "≤ 250 ms"),
    ]
    return rows + await anyio.to_thread.run_sync(_measure_cells, folder, mock, repeat)


async def _cpu_of(code: str, repeat: int) -> float:
    """Median CPU milliseconds of a fresh interpreter."""
    spent = []
    for _ in range(repeat):
        watch = Stopwatch()
        await anyio.run_process([sys.executable, "-c", code])
        spent.append(watch.read()[1])
    return statistics.median(spent)


def _measure_cells(folder: Path, mock: MockModel, repeat: int) -> list[Row]:
    own = {
        "OPENAI_API_KEY": "bench",
        "OPENAI_BASE_URL": f"{mock.url}/v1",
        "SHARD_MODEL": "openai:mock",
    }
    with open_kernel(folder / "kernel", environ=own) as kernel:
        kernel.execute("%load_ext shard_jupyter")
        first = _time_cell(kernel, "%%shard\nhi")
        later = [_time_cell(kernel, "%%shard\nhi") for _ in range(4 * repeat)]
        stops = [_time_stop(kernel) for _ in range(repeat)]
    wall = statistics.median(later)
    return [
        Row("first %%shard cell, worker and SDK started", f"{first:.0f} ms wall", ""),
        Row("later %%shard cell with a short answer", f"{wall:.1f} ms wall", ""),
        Row(
            "interrupt of a silent stream, until the prompt is back",
            f"{statistics.median(stops):.0f} ms wall",
            "< 2,000 ms",
        ),
    ]


def _time_cell(kernel: Kernel, code: str) -> float:
    started = time.perf_counter()
    run = kernel.execute(code, allow_stdin=True, metadata=NOTEBOOK)
    assert run.status == "ok", run.error
    return (time.perf_counter() - started) * 1000


def _time_stop(kernel: Kernel) -> float:
    cell = kernel.start_cell(
        "%%shard\nhi @@text 4000 @@delay 60000 @@", allow_stdin=True, metadata=NOTEBOOK
    )
    kernel.wait_until(cell, lambda run: len(run.outputs) > 1)
    started = time.perf_counter()
    kernel.interrupt()
    kernel.finish(cell)
    return (time.perf_counter() - started) * 1000
