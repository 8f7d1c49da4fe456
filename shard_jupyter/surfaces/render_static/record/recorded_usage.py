"""What a turn has used: unknown parts stay unknown. Pure."""

from __future__ import annotations

from typing import Any

from shard_jupyter.types.events import UsageEvent
from shard_jupyter.types.render_descriptors import UsageDescriptor
from shard_jupyter.types.usage import UsageTotals


def add_call(usage: UsageDescriptor, event: UsageEvent) -> UsageDescriptor:
    tokens = event.tokens
    told = tokens.input_tokens is not None or tokens.output_tokens is not None
    changes: dict[str, Any] = {
        "context_tokens": event.context_tokens,
        "context_window": event.context_window,
        "at_least": usage.at_least or not told,
    }
    if told:
        changes["input_tokens"] = (usage.input_tokens or 0) + (tokens.input_tokens or 0)
        changes["output_tokens"] = (usage.output_tokens or 0) + (tokens.output_tokens or 0)
    if event.cost_usd is not None:
        changes["cost_usd"] = (usage.cost_usd or 0.0) + event.cost_usd
    return usage.model_copy(update=changes)


def final_usage(totals: UsageTotals, seen: UsageDescriptor) -> UsageDescriptor:
    """The sums as the end of the turn tells them; `seen` knows how full the window is."""
    known = totals.model_calls > totals.unknown_calls
    return UsageDescriptor(
        input_tokens=totals.input_tokens if known else None,
        output_tokens=totals.output_tokens if known else None,
        cost_usd=totals.cost_usd,
        at_least=totals.unknown_calls > 0,
        context_tokens=seen.context_tokens,
        context_window=seen.context_window,
    )
