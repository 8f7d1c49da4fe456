"""What a sandbox adds to a command, and what trying it out costs."""

from __future__ import annotations

from pathlib import Path

import anyio.to_thread

from shard_jupyter.contracts.process_runner import ProcessSpec, SandboxProvider
from shard_jupyter.core.processes import SystemProcessRunner
from shard_jupyter.core.sandbox.sandbox_policy import make_policy
from shard_jupyter.core.sandbox.watched_names import take_snapshot
from tests.fakes.model_server import MockModel
from tests.perf.report import Row, Stopwatch, median_pair
from tests.sandbox_rig import PROVIDERS, make_provider

TIMES = 4
"""Runs for each repeat that is asked for."""


async def measure_sandbox(folder: Path, mock: MockModel, repeat: int) -> list[Row]:
    del mock
    workspace = folder / "sandbox"
    scratch = folder / "scratch"
    for made in (workspace, scratch / "tmp"):
        made.mkdir(parents=True, exist_ok=True)
    spec = ProcessSpec(argv=("bash", "-c", "true"), cwd=workspace, env={"PATH": "/usr/bin:/bin"})
    rows = [Row("bash -c true: wall / CPU", await _run_often(spec, repeat))]
    for name in PROVIDERS:
        rows += await _measure_provider(make_provider(name), spec, scratch, repeat)
    pairs = []
    for _ in range(TIMES * repeat):
        watch = Stopwatch()
        await anyio.to_thread.run_sync(take_snapshot, Path.cwd())
        pairs.append(watch.read())
    rows.append(Row("look at the protected names here, once: wall / CPU", median_pair(pairs)))
    return rows


async def _measure_provider(
    provider: SandboxProvider, spec: ProcessSpec, scratch: Path, repeat: int
) -> list[Row]:
    watch = Stopwatch()
    found = await provider.probe(SystemProcessRunner(), scratch)
    tried = median_pair([watch.read()])
    if found.reason:
        return [Row(f"{provider.name}: {found.reason}", "-")]
    policy = make_policy(
        spec.cwd, dict(spec.env), scratch=scratch, temporary=scratch / "tmp", state=scratch.parent
    )
    wrapped = provider.wrap(spec, policy)
    return [
        Row(f"try {provider.name} out: wall / CPU", tried),
        Row(
            f"bash -c true in {provider.name}: wall / CPU",
            await _run_often(wrapped, repeat),
            "adds at most 15 ms",
        ),
    ]


async def _run_often(spec: ProcessSpec, repeat: int) -> str:
    pairs = []
    for _ in range(TIMES * repeat):
        watch = Stopwatch()
        outcome = await SystemProcessRunner().run(spec)
        assert outcome.exit_code == 0, outcome
        pairs.append(watch.read())
    return median_pair(pairs)
