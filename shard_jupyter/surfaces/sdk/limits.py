"""What an agent and a turn may use, and how they ask. Pure."""

from __future__ import annotations

from shard_jupyter.core.config.settings import Settings
from shard_jupyter.core.limits.budget import Budget, parse_budget
from shard_jupyter.core.limits.pricing import Price
from shard_jupyter.core.providers.retry import RetryPolicy
from shard_jupyter.core.turn import TurnSettings
from shard_jupyter.errors import UsageError
from shard_jupyter.types.decisions import AskSetting


def make_turn_settings(settings: Settings, ask: AskSetting, budget: Budget) -> TurnSettings:
    return TurnSettings(
        ask=ask,
        ask_timeout_seconds=settings.ask_timeout_seconds,
        max_rounds=settings.limits.max_rounds,
        max_output_tokens=settings.limits.max_output_tokens,
        output_limit_bytes=settings.tools.output_limit_bytes,
        bash_timeout_seconds=settings.tools.bash_timeout_seconds,
        retry=RetryPolicy(
            max_attempts=settings.retry.max_attempts,
            longest_obeyed_seconds=settings.retry.max_wait_seconds,
        ),
        budget=budget,
    )


def read_budget(given: Budget | str | None, model_id: str, price: Price | None) -> Budget:
    """Read what was given, for a model with this price.

    Raises:
        UsageError: it cannot be read, or is money and the price is not known.
    """
    budget = parse_budget(given) if isinstance(given, str) else given or Budget()
    if budget.usd is not None and (price is None or not price.is_complete):
        raise UsageError(
            f"A budget in money needs a price, and {model_id!r} has none.",
            next_step=f"Set prices.{model_id} in the configuration, or give tokens: 200k.",
        )
    return budget


def check_timeout(seconds: float | None) -> None:
    """Refuse a limit that leaves no time.

    Raises:
        UsageError: says so.
    """
    if seconds is not None and not seconds > 0:
        raise UsageError(
            f"timeout_seconds={seconds!r} leaves no time.",
            next_step="Give a positive number of seconds, or None for no limit.",
        )
