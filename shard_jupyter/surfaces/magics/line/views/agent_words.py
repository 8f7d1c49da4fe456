"""An agent's state and use in words (UI §4). Pure."""

from __future__ import annotations

from shard_jupyter.surfaces.render_static.words.numbers import show_cost, show_count
from shard_jupyter.types.agents import AgentInfo
from shard_jupyter.types.usage import UsageTotals

_RUNTIME = {"failed": "Failed", "stopped": "Stopped", "starting": "Starting"}
_STATUS = {"error": "Failed", "streaming": "Running", "idle": "Idle"}
NOT_CONNECTED = "Not connected"


def name_state(info: AgentInfo) -> str:
    """Return the one word, or short phrase, that says what the agent does or waits for."""
    if info.status == "waiting-for-permission":
        more = f" ({info.pending} requests)" if info.pending > 1 else ""
        return f"Needs your answer{more}"
    return _RUNTIME.get(info.runtime_state) or _STATUS.get(info.status, info.status)


def show_tokens(usage: UsageTotals) -> str:
    """Sum up tokens; a sum with unknown parts is a lower bound, and says so."""
    if not usage.model_calls:
        return "nothing yet"
    calls = f"{usage.model_calls} model call{'' if usage.model_calls == 1 else 's'}"
    if usage.unknown_calls and not usage.input_tokens + usage.output_tokens:
        return f"tokens unknown · {calls}"
    more = "+" if usage.unknown_calls else ""
    tokens_in, tokens_out = map(show_count, (usage.input_tokens, usage.output_tokens))
    return f"{tokens_in}{more} in · {tokens_out}{more} out · {calls}"


def show_money(usage: UsageTotals) -> str:
    """Return the cost, nothing while there was no call. Unknown is not 0."""
    return show_cost(usage.cost_usd) if usage.model_calls else ""
