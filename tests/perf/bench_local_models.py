"""How well the default local model calls tools: `python -m tests.perf --only local`. Decides nothing.

The real provider, the real engine and the real tools of the package. Walls mean little on a busy
machine; the scores do not depend on it.
"""

from __future__ import annotations

from pathlib import Path

import anyio.to_thread

from tests.fakes.model_server import MockModel
from tests.local_rig import local_provider, name_default_model
from tests.perf.report import Row
from tests.tool_requests import CALL_SETS, Score, read_requests, score_requests, wilson

REFERENCE = {"dev": "9/10", "held": "20/20", "fresh": "16/20"}
REFERENCE_ALL = "45 of 50, 0.79-0.96"


async def measure_local_models(folder: Path, mock: MockModel, repeat: int) -> list[Row]:
    del mock, repeat  # at temperature 0 a second run says the same
    try:
        name = await anyio.to_thread.run_sync(name_default_model)
    except LookupError as error:
        return [Row("tool calls of the default local model", f"not measured: {error}")]
    requests = await anyio.to_thread.run_sync(read_requests)
    async with local_provider(name, folder) as provider:
        scores = await score_requests(provider, requests)
    return make_rows(scores)


def make_rows(scores: dict[str, Score]) -> list[Row]:
    rows = [
        Row(f"tool calls, {name}", _say(scores[name]), f"reference {REFERENCE[name]}")
        for name in CALL_SETS
    ]
    calls = [scores[name] for name in CALL_SETS]
    right, asked = sum(score.right for score in calls), sum(score.asked for score in calls)
    low, high = wilson(right, asked)
    whole = f"{right} of {asked}, {low:.2f}-{high:.2f}"
    rows.append(Row("tool calls, all, Wilson 95 %", whole, f"reference {REFERENCE_ALL}"))
    rows.append(Row("questions answered in words", _say(scores["question"])))
    everything = [*calls, scores["question"]]
    seconds = sum(score.seconds for score in everything) / sum(s.asked for s in everything)
    rows.append(
        Row("one request to the local model", f"{seconds:.2f} s wall", "reference 1.0-1.6 s")
    )
    rows += [Row("  not right", text) for score in everything for text in score.wrong]
    return rows


def _say(score: Score) -> str:
    return f"{score.right}/{score.asked}"
