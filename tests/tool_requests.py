"""Requests with the one call that is right for them, and how a model did on them.

`tests/data/tool_requests.jsonl`: `dev` and `held` may be looked at when examples are chosen;
`fresh` may not. An argument is right when the whole of it matches its pattern: a right first word
with an invented tail is wrong. Of questions the answer is looked at, leniently.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shard_jupyter.contracts.provider import Answered, Provider, ProviderEvent, ProviderRequest
from shard_jupyter.core.tools import builtin_tools
from shard_jupyter.types.messages import user_text
from tests.conftest import DATA

FILE = DATA / "tool_requests.jsonl"
CALL_SETS = ("dev", "held", "fresh")


@dataclass(frozen=True)
class ToolRequest:
    id: str
    set: str
    request: str
    tool: str
    arguments: dict[str, str]

    def is_right(self, tool: str, arguments: dict[str, Any]) -> bool:
        return tool == self.tool and all(
            re.fullmatch(pattern, str(arguments.get(name, "")).strip())
            for name, pattern in self.arguments.items()
        )


@dataclass
class Score:
    """Of one set. `wrong`: what was said in place of the right call."""

    right: int = 0
    asked: int = 0
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)


def read_requests(path: Path = FILE) -> list[ToolRequest]:
    lines = path.read_bytes().split(b"\n")
    return [ToolRequest(**json.loads(line)) for line in lines if line]


async def score_requests(provider: Provider, requests: Sequence[ToolRequest]) -> dict[str, Score]:
    """Ask each once, as the first prompt of a session, with the real tools of the package."""
    specs = tuple(tool.spec for tool in builtin_tools())
    scores: dict[str, Score] = {}
    for wanted in requests:
        asked = ProviderRequest(
            model="", system="", messages=(user_text(wanted.request),), tools=specs
        )
        started = time.perf_counter()
        last = None
        async for event in provider.stream(asked):
            last = event
        score = scores.setdefault(wanted.set, Score())
        score.seconds += time.perf_counter() - started
        score.asked += 1
        tool, arguments = _read(last)
        if wanted.is_right(tool, arguments):
            score.right += 1
        else:
            score.wrong.append(f"{wanted.id} {wanted.request!r}: {tool} {arguments}")
    return scores


def _read(event: ProviderEvent | None) -> tuple[str, dict[str, Any]]:
    if not isinstance(event, Answered):
        return "failed", {"event": str(event)[:200]}
    calls = event.message.tool_calls
    if calls:
        return calls[0].name, calls[0].arguments
    return "answer", {"text": event.message.text}


def wilson(right: int, asked: int, z: float = 1.96) -> tuple[float, float]:
    """The 95 % interval of a share."""
    share = right / asked
    low = 1 + z * z / asked
    middle = share + z * z / (2 * asked)
    half = z * math.sqrt(share * (1 - share) / asked + z * z / (4 * asked * asked))
    return (middle - half) / low, (middle + half) / low
