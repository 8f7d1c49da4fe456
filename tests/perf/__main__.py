"""`poe bench`: measure, print, decide nothing.

    python -m tests.perf [--only NAME] [--repeat N] [--json FILE] [--peer pi]

Every figure is a median; the machine's load is printed beside them, because walls mean little on a
busy machine and CPU seconds do.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import tempfile
from pathlib import Path

from tests.fakes.model_server import running_server
from tests.perf import measurements, peers
from tests.perf.report import Row, print_rows


async def measure_all(options: argparse.Namespace) -> list[Row]:
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="shard-bench-") as folder, running_server() as mock:
        os.environ.update(measurements.environment(Path(folder), mock.url))
        for measure in measurements.ALL:
            if options.only and options.only not in measure.__name__:
                continue
            rows += await measure(Path(folder), mock, options.repeat)
        if options.peer:
            rows += peers.measure(options.peer, Path(folder), mock, options.repeat)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="only measurements whose name holds this text")
    parser.add_argument("--repeat", type=int, default=5, help="how often each is repeated")
    parser.add_argument("--json", help="also write the rows here")
    parser.add_argument("--peer", action="append", choices=sorted(peers.KNOWN), default=[])
    options = parser.parse_args()
    load = os.getloadavg()[0]
    rows = asyncio.run(measure_all(options))
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load {load:.1f} at start\n")
    print_rows(rows)
    if options.json:
        text = json.dumps([row.as_dict() for row in rows], indent=1)
        Path(options.json).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
