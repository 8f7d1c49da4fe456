"""Who decides what no rule covers, where the caller leaves it open. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from shard_jupyter.capabilities.cassettes.replay import PREFIX
from shard_jupyter.errors import UsageError
from shard_jupyter.types.decisions import AskSetting

WITHOUT_ANYONE: Mapping[str, AskSetting] = {"deny": "deny", "rules": "rules", "queue": "inline"}
"""What `headless_policy` means for an agent of this process."""


def plays_cassette(model_id: str) -> bool:
    return model_id.startswith(f"{PREFIX}:")


def choose_ask(
    asked: AskSetting | None, model_id: str, *, has_callback: bool, headless_policy: str
) -> AskSetting:
    """Take what was asked for, else what fits: a callback, then a cassette, then nobody."""
    if asked is not None:
        return asked
    if has_callback:
        return "inline"
    return "recorded" if plays_cassette(model_id) else WITHOUT_ANYONE[headless_policy]


def check_ask(asked: AskSetting | None, model_id: str) -> None:
    """Refuse a word that is none, and answers of a cassette where none is played.

    Raises:
        UsageError: names what there is.
    """
    known = get_args(AskSetting)
    if asked is not None and asked not in known:
        raise UsageError(
            f"ask={asked!r} is not known.", next_step=f"Choose one of {', '.join(known)}."
        )
    if asked == "recorded" and not plays_cassette(model_id):
        raise UsageError(
            f"With ask='recorded' a cassette answers, and {model_id!r} plays none.",
            next_step=f"Choose a model {PREFIX}:FILE, or leave out ask.",
        )


def check_callback(asked: AskSetting | None, *, has_callback: bool) -> None:
    """Refuse a callback that would never be called.

    Raises:
        UsageError: says so.
    """
    if has_callback and asked not in (None, "inline"):
        raise UsageError(
            f"With ask={asked!r} the approval callback is never called.",
            next_step="Leave out ask or on_approval.",
        )
