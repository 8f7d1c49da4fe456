"""What is measured: the turn's own cost, with a model that needs no time to think."""

from __future__ import annotations

import itertools
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from shard_jupyter import Shard
from shard_jupyter.types.events import AgentEvent
from tests.fakes.model_server import MockModel
from tests.perf.bench_local_models import measure_local_models
from tests.perf.bench_magics import measure_magics
from tests.perf.bench_permission_gate import measure_permission_gate
from tests.perf.bench_sandbox import measure_sandbox
from tests.perf.report import Row, Stopwatch, median_pair

CALL = "go @@shell true @@"
PREFIXES = {"openai": "chat", "openai-responses": "responses", "anthropic": "messages"}


def environment(folder: Path, url: str) -> dict[str, str]:
    return {
        "SHARD_HOME": str(folder / "state"),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "OPENAI_API_KEY": "bench",
        "OPENAI_BASE_URL": f"{url}/v1",
        "ANTHROPIC_API_KEY": "bench",
        "ANTHROPIC_BASE_URL": url,
    }


def make_agent(folder: Path, prefix: str = "openai", durability: str = "full") -> Shard:
    workspace = folder / "workspace"
    workspace.mkdir(exist_ok=True)
    overrides = {"durability": durability}
    return Shard(cwd=workspace, model=f"{prefix}:mock", ask="yes", overrides=overrides)


async def measure_prompts(folder: Path, mock: MockModel, repeat: int) -> list[Row]:
    """20 prompts with one shell call each, in one running session."""
    rows = []
    for durability in ("full", "normal"):
        async with make_agent(folder, durability=durability) as agent:
            await agent.prompt(CALL)
            pairs = []
            for _ in range(20 * max(1, repeat // 5)):
                watch = Stopwatch()
                await agent.prompt(CALL)
                pairs.append(watch.read())
        goal = "CPU below pi 15 ms" if durability == "full" else "wall below pi 14 ms"
        what = f"one prompt, one shell call, durability={durability}: wall / CPU"
        rows.append(Row(what, median_pair(pairs), goal))
    return rows


async def measure_protocols(folder: Path, mock: MockModel, repeat: int) -> list[Row]:
    """The same prompt through each wire protocol."""
    rows = []
    for prefix in PREFIXES:
        async with make_agent(folder, prefix, "normal") as agent:
            await agent.prompt(CALL)
            pairs = []
            for _ in range(4 * repeat):
                watch = Stopwatch()
                await agent.prompt(CALL)
                pairs.append(watch.read())
        rows.append(Row(f"one prompt, one shell call, {prefix}: wall / CPU", median_pair(pairs)))
    return rows


async def measure_rounds(folder: Path, mock: MockModel, repeat: int) -> list[Row]:
    """200 tool rounds in one prompt: does a late round cost more than an early one?"""
    ratios, totals = [], []
    for _ in range(max(1, repeat // 2)):
        async with make_agent(folder, durability="normal") as agent:
            await agent.prompt(CALL)
            stamps: list[float] = []

            def note(event: AgentEvent, stamps: list[float] = stamps) -> None:
                if event.type == "tool_result":
                    stamps.append(time.perf_counter())

            agent.subscribe(note)
            watch = Stopwatch()
            await agent.prompt("go @@shell true @@times 199 @@")
            totals.append(watch.read())
        gaps = [b - a for a, b in itertools.pairwise(stamps)]
        ratios.append(statistics.median(gaps[-10:]) / statistics.median(gaps[:10]))
    return [
        Row("199 tool rounds: wall / CPU", median_pair(totals)),
        Row("last ten rounds against first ten", f"{statistics.median(ratios):.2f}", "≤ 1.1"),
    ]


async def measure_deltas(folder: Path, mock: MockModel, repeat: int) -> list[Row]:
    """An answer of 200,000 characters in 50,000 deltas, to one subscriber."""
    rows = []
    for prefix in PREFIXES:
        pairs, seen = [], 0
        for _ in range(max(1, repeat // 2)):
            async with make_agent(folder, prefix, "normal") as agent:
                await agent.prompt("hi @@text 8 @@")
                count = [0]

                def note(event: AgentEvent, count: list[int] = count) -> None:
                    count[0] += event.type == "message_delta"

                agent.subscribe(note)
                watch = Stopwatch()
                result = await agent.prompt("hi @@text 200000 @@chunk 4 @@")
                pairs.append(watch.read())
                assert len(result.text) == 200_000
                seen = count[0]
        goal = "≤ pi 850 ms" if prefix == "openai" else ""
        rows.append(Row(f"50,000 deltas ({seen} seen), {prefix}", median_pair(pairs), goal))
    return rows


async def measure_request(folder: Path, mock: MockModel, repeat: int) -> list[Row]:
    """Bytes of the first request of a prompt, without project context."""
    rows = []
    for prefix, wire in PREFIXES.items():
        mock.reset()
        async with make_agent(folder, prefix) as agent:
            await agent.prompt("hi")
        size = (await mock.get("/__log"))[0]["req_bytes"]
        rows.append(Row(f"first request, {wire}", f"{size} bytes", "≤ 6 kB"))
    return rows


def run_process(argv: list[str], folder: Path) -> None:
    subprocess.run(argv, cwd=folder, env=os.environ, check=True, capture_output=True)


async def measure_run(folder: Path, mock: MockModel, repeat: int) -> list[Row]:
    """One-shot `shard run` without a daemon: a fresh process that imports everything."""
    rows = []
    command = [sys.executable, "-m", "shard_jupyter.surfaces.cli.main"]
    run = [*command, "run", "--model", "openai:mock", "--ask", "yes", CALL]
    for what, argv in (("shard --version", [*command, "--version"]), ("shard run", run)):
        pairs = []
        for _ in range(repeat + 1):
            watch = Stopwatch()
            run_process(argv, folder)
            pairs.append(watch.read())
        rows.append(Row(f"{what}, fresh process: wall / CPU", median_pair(pairs[1:])))
    return rows


ALL = (
    measure_prompts,
    measure_protocols,
    measure_rounds,
    measure_deltas,
    measure_request,
    measure_run,
    measure_magics,
    measure_local_models,
    measure_sandbox,
    measure_permission_gate,
)
