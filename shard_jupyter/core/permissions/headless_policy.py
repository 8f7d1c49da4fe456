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
    if setting == "yes" and not (is_recovered or ask.needs_person):
        return Allow(
            why="the run was started with ask=yes",
            command=ask.command,
            leaves_out=ask.leaves_out,
        )
    reason = {
        "yes": f"Nobody has looked at it, and {ask.why}: ask=yes does not allow such a call.",
        "deny": f"What would be asked is denied in this run (ask=deny), and {ask.why}."
        + (" With ask=rules a rule could allow it." if offer.would_allow else ""),
        "recorded": f"The cassette holds no answer to this question, and {ask.why}.",
    }.get(setting, f"Nobody could be asked, and {ask.why}.")
    only = offer.would_allow
    if only is not None and covers_whole_tool(only):
        reason += f" {say_how_wide(only)}"
    return Deny(reason=reason, by="headless", would_allow=write_rules(offer))


def covers_whole_tool(rule: Rule) -> bool:
    return rule.command is None and rule.path is None


def say_how_wide(rule: Rule) -> str:
    """Warn of a rule that lets a tool do anything, before somebody puts it into a file."""
    return f"No narrower rule than one for every call of {rule.tool} would allow it."


def write_rules(offer: Offer) -> str:
    """Write what a rule file needs: one rule, or a list of them; empty where none would help."""
    if offer.would_allow is None:
        return ""
    if not offer.also_needed:
        return write_rule(offer.would_allow)
    return f"[{', '.join(map(write_rule, (offer.would_allow, *offer.also_needed)))}]"


def write_rule(rule: Rule) -> str:
    """Write a rule as a rule file has it."""
    kept = rule.model_dump(exclude_defaults=True, exclude={"source"})
    return json.dumps({"effect": rule.effect, **kept}, ensure_ascii=False)
