"""Sums of what turns have used. Pure."""

from __future__ import annotations

from shard_jupyter.types.usage import UsageTotals


def add_totals(first: UsageTotals, second: UsageTotals) -> UsageTotals:
    """Add two sums; a cost is known as soon as one part of it is."""
    costs = [cost for cost in (first.cost_usd, second.cost_usd) if cost is not None]
    return UsageTotals(
        model_calls=first.model_calls + second.model_calls,
        input_tokens=first.input_tokens + second.input_tokens,
        output_tokens=first.output_tokens + second.output_tokens,
        cost_usd=sum(costs) if costs else None,
        unknown_calls=first.unknown_calls + second.unknown_calls,
    )
