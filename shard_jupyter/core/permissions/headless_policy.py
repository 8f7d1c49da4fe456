"""What becomes of an ask when there is nobody to ask (Shard §6.2). Pure."""

from __future__ import annotations

import json

from shard_jupyter.contracts.permission_gate import Offer
from shard_jupyter.types.decisions import Allow, Ask, AskSetting, Deny, Rule


def is_headless(ask: AskSetting) -> bool:
    return ask != "inline"


def counts_allow_rules(ask: AskSetting) -> bool:
    return ask != "deny"


def settle_without_person(
    setting: AskSetting, ask: Ask, offer: Offer, *, is_recovered: bool = False
) -> Allow | Deny:
    """Decide an ask. A denial names the rule that would have allowed it, where one could.

    `is_recovered`: the call was read from text, and so not even `yes` allows it.
    """
    if setting == "yes" and is_recovered:
        return Deny(
            reason=f"Nobody has looked at it, and {ask.why}: ask=yes does not allow such a call.",
            by="headless",
        )
    if setting == "yes":
        return Allow(why="the run was started with ask=yes")
    if setting == "deny":
        return Deny(reason="What would be asked is denied in this run (ask=deny).", by="headless")
    missing = "Nobody could be asked"
    if setting == "recorded":
        missing = "The cassette holds no answer to this question"
    return Deny(
        reason=f"{missing}, and {ask.why}.",
        by="headless",
        would_allow=write_rule(offer.would_allow),
    )


def write_rule(rule: Rule | None) -> str:
    """Write a rule as a rule file has it; empty for none."""
    if rule is None:
        return ""
    kept = rule.model_dump(exclude_defaults=True, exclude={"source"})
    return json.dumps({"effect": rule.effect, **kept}, ensure_ascii=False)
