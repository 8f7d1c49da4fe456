"""What a run may use at most, as a person writes it. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from shard_jupyter.errors import UsageError
from shard_jupyter.types.usage import UsageTotals

_TOKENS = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,9})?)([kKmM]?)")
_DOLLARS = re.compile(r"\$([0-9]{1,9}(?:\.[0-9]{1,9})?)")
_FACTORS = {"": 1, "k": 1_000, "m": 1_000_000}
_MAX_TOKENS = 2**53 - 1


@dataclass(frozen=True)
class Budget:
    """A limit in tokens (input and output together), in US dollars, or none."""

    tokens: int | None = None
    usd: float | None = None


def parse_budget(text: str) -> Budget:
    """Read `200k`, `1.5M`, `40000` or `$1.50`.

    Raises:
        UsageError: it is none of them, nothing, or no whole number of tokens.
    """
    text = text.strip()
    if (dollars := _DOLLARS.fullmatch(text)) and float(dollars[1]) > 0:
        return Budget(usd=float(dollars[1]))
    if tokens := _TOKENS.fullmatch(text):
        number = Decimal(tokens[1]) * _FACTORS[tokens[2].lower()]
        if number == number.to_integral_value() and 0 < number <= _MAX_TOKENS:
            return Budget(tokens=int(number))
    raise UsageError(
        f"{text!r} is no budget.",
        next_step="Write tokens as 200k, 1.5M or 40000, and dollars as $1.50 (quoted in a shell).",
    )


def find_exceeded(
    budget: Budget, totals: UsageTotals, *, name: str = "budget"
) -> tuple[Literal["budget_tokens", "budget_usd"], str] | None:
    """Say which limit is used up, and so in words. What is unknown counts as nothing.

    `name` is what the words call it.
    """
    used = totals.input_tokens + totals.output_tokens
    if budget.tokens is not None and used >= budget.tokens:
        return (
            "budget_tokens",
            f"The {name} of {budget.tokens} tokens is used up: {used} were used.",
        )
    spent = totals.cost_usd or 0.0
    if budget.usd is not None and spent >= budget.usd:
        return "budget_usd", f"The {name} of ${budget.usd:g} is used up: ${spent:.4f} were spent."
    return None
