"""How much one provider costs: `python -m tests.perf.bench_providers`. Decides nothing.

Prints, for each protocol, a 200,000-character answer in 50,000 deltas and a small answer, from
request to last event, with the mock model in its own process; and what importing an SDK costs.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time

import anyio

from tests.fakes.model_server import PATHS, MockModel, ask_once, request_of, running_server

LONG = "go @@text 200000 @@chunk 4"
IMPORTS = ("openai, httpx2", "anthropic, httpx2", "openai, anthropic, httpx2")


def cpu_seconds(who: int = resource.RUSAGE_SELF) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


async def measure(protocol: str, server: MockModel, prompt: str, times: int) -> str:
    provider = await server.provider(protocol)
    await ask_once(provider, request_of("warm up"))
    walls, cpus, count = [], [], 0
    for _ in range(times):
        wall, cpu = time.perf_counter(), cpu_seconds()
        count = len(await ask_once(provider, request_of(prompt)))
        walls.append(1000 * (time.perf_counter() - wall))
        cpus.append(1000 * (cpu_seconds() - cpu))
    await provider.aclose()
    wall, cpu = statistics.median(walls), statistics.median(cpus)
    return f"{protocol:10} {count:6} events  wall {wall:7.1f} ms  cpu {cpu:7.1f} ms"


def measure_import(names: str) -> str:
    cpus = []
    for _ in range(5):
        before = cpu_seconds(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", f"import {names}"], check=True)
        cpus.append(1000 * (cpu_seconds(resource.RUSAGE_CHILDREN) - before))
    return f"import {names:26} cpu {min(cpus):6.0f} ms, interpreter included"


async def main() -> None:
    with running_server() as server:
        for protocol in PATHS:
            print(await measure(protocol, server, LONG, 7))
        for protocol in PATHS:
            print(await measure(protocol, server, "hello", 50))
    for names in IMPORTS:
        print(measure_import(names))


if __name__ == "__main__":
    anyio.run(main)
