"""What a model call cost. Pure. A cost that is not known is None, never zero."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from shard_jupyter.types.usage import TokenUsage

_MILLION = 1_000_000
Usd = Annotated[float, Field(ge=0)]


class Price(BaseModel):
    """What a model costs. Without a price the cost of a turn is unknown, not zero."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True
    )

    input_usd_per_million: Usd | None = None
    """US dollars for a million input tokens."""
    output_usd_per_million: Usd | None = None
    """US dollars for a million output tokens."""
    cache_read_usd_per_million: Usd | None = None
    """US dollars for a million input tokens read from the cache; null: as other input."""

    @property
    def is_complete(self) -> bool:
        """True when every call that reports its tokens can be priced."""
        return self.input_usd_per_million is not None and self.output_usd_per_million is not None


FREE = Price(input_usd_per_million=0, output_usd_per_million=0)


def cost_usd(tokens: TokenUsage, price: Price | None) -> float | None:
    """Price one call.

    Input read from the cache costs as other input where no price is set for it; a provider that
    does not tell how much was read is taken to have read none, so that the sum is not too low.
    Input written to the cache costs as other input.
    """
    if price is None or tokens.input_tokens is None or tokens.output_tokens is None:
        return None
    cached = min(tokens.cache_read_tokens or 0, tokens.input_tokens)
    cached_price = price.cache_read_usd_per_million
    if cached_price is None:
        cached_price = price.input_usd_per_million
    parts = (
        _part(tokens.input_tokens - cached, price.input_usd_per_million),
        _part(cached, cached_price),
        _part(tokens.output_tokens, price.output_usd_per_million),
    )
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def _part(tokens: int, usd_per_million: float | None) -> float | None:
    if tokens == 0:
        return 0.0
    return None if usd_per_million is None else tokens * usd_per_million / _MILLION
