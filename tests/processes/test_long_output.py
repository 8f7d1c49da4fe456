"""Output of any length in bounded memory; measured in a process of its own."""

from __future__ import annotations

import sys

import pytest

from tests.processes.test_process_runner import run

pytestmark = pytest.mark.proves("A05", "H4f.60")

MEASURE = """
import asyncio, os, resource, sys
from pathlib import Path
from shard_jupyter.contracts.process_runner import ProcessSpec
from shard_jupyter.core.processes import SystemProcessRunner

command, spill = sys.argv[1:]

async def main():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    outcome = await SystemProcessRunner().run(ProcessSpec(
        argv=("bash", "-c", command), cwd=Path("/"), env=dict(os.environ), merge_stderr=False,
        spill_path=Path(spill), max_spill_bytes=64 << 20))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(outcome.exit_code, outcome.output.total_bytes, outcome.stderr.total_bytes, after - before)

asyncio.run(main())
"""


@pytest.mark.parametrize("redirect", ["", ">&2"])
async def test_output_of_any_length_takes_bounded_memory(redirect, tmp_path, thorough):
    size = 2 << 30 if thorough else 256 << 20
    outcome = await run(
        sys.executable,
        "-c",
        MEASURE,
        f"yes | head -c {size} {redirect}",
        str(tmp_path / "spill"),
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path)},
    )
    code, out, err, grown_kib = map(int, outcome.output.head.split())
    assert code == 0
    assert out + err == size
    assert grown_kib < 24 << 10
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) == 64 << 20
