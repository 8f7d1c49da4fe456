"""Tokens and money. Unknown stays unknown: `None`, never 0."""

from __future__ import annotations

from shard_jupyter.types.wire_model import KeptModel


class TokenUsage(KeptModel):
    """Tokens of one model call. `input_tokens` counts all input, cached parts included."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


class UsageRecord(KeptModel):
    """One model call, as the usage log keeps it. No prompt text, no path."""

    agent_id: str
    turn_id: str
    model: str
    tokens: TokenUsage
    cost_usd: float | None = None
    """None when no price is configured for the model."""
    timestamp: str = ""
    attempts: int = 1


class UsageTotals(KeptModel):
    """Sums over a turn or a session. A sum with an unknown part is a lower bound."""

    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    unknown_calls: int = 0
    """Calls for which the provider told no tokens."""
