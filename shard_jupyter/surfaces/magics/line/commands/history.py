"""`%shard history`: the turns of a conversation, one of them in full, or what is stored at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from shard_jupyter.errors import UsageError
from shard_jupyter.surfaces.magics.line.chosen_agent import (
    NO_AGENT,
    START,
    choose_agent,
    look_again,
)
from shard_jupyter.surfaces.magics.line.conversation import (
    find_here,
    list_stored_sessions,
    read_agent_turns,
    read_stored_turns,
)
from shard_jupyter.surfaces.magics.line.line_arguments import LineArguments
from shard_jupyter.surfaces.magics.line.stored_turns import StoredTurn, summarise
from shard_jupyter.surfaces.magics.line.views.history_view import HistoryView
from shard_jupyter.surfaces.magics.line.views.session_list import SessionsView
from shard_jupyter.surfaces.magics.line.views.turn_view import TurnView, show_turn
from shard_jupyter.surfaces.render_static.visible_text import make_visible_line

if TYPE_CHECKING:
    from shard_jupyter.surfaces.magics.kernel_agents import KernelAgents
    from shard_jupyter.types.agents import AgentInfo


@dataclass(frozen=True)
class _Conversation:
    """`name`: what a turn is headed with, the agent or the session."""

    name: str
    session_id: str
    turns: tuple[StoredTurn, ...]


def run_command(
    agents: KernelAgents, given: LineArguments
) -> HistoryView | TurnView | SessionsView:
    now = datetime.now(UTC)
    if "--sessions" in given.options:
        if len(given.options) > 1 or given.argument is not None:
            raise UsageError(
                "--sessions stands alone.", next_step="One of them: %shard history --session ID"
            )
        cwd = find_here()
        return SessionsView(cwd, list_stored_sessions(cwd), now)
    number = None if given.argument is None else _read_number(given.argument)
    found = _find_conversation(agents, given)
    if number is not None:
        if found is None:
            raise UsageError(f"{NO_AGENT}, so there is no turn {number}.", next_step=START)
        return show_turn(_pick_turn(found.turns, number), found.name, now)
    if found is None:
        return HistoryView(None, (), find_here(), now)
    return HistoryView(found.session_id, tuple(map(summarise, found.turns)), find_here(), now)


def _read_number(word: str) -> int:
    try:
        number = int(word)
    except ValueError:
        number = 0
    if number == 0:
        raise UsageError(
            f"{word!r} is no number of a turn.",
            next_step="Turns are counted from 1; %shard history lists them.",
        )
    return number


def _find_conversation(agents: KernelAgents, given: LineArguments) -> _Conversation | None:
    session_id = given.options.get("--session")
    if session_id is None:
        chosen = choose_agent(agents, given)
        return None if chosen is None else _read_agent(agents, chosen)
    if "--agent" in given.options:
        raise UsageError(
            "--agent and --session name two conversations.", next_step="Leave one of them out."
        )
    if session_id == "last":
        session_id = _find_newest()
    for info in agents.all():
        if info.session_id == session_id:
            return _read_agent(agents, info)
    return _Conversation(session_id, session_id, read_stored_turns(session_id))


def _find_newest() -> str:
    cwd = find_here()
    stored = list_stored_sessions(cwd)
    if not stored:
        raise UsageError(
            f"No conversation is stored for {make_visible_line(cwd)}.", next_step=START
        )
    return stored[0].session_id


def _read_agent(agents: KernelAgents, info: AgentInfo) -> _Conversation:
    info = look_again(agents, info)
    return _Conversation(info.name, info.session_id, read_agent_turns(agents, info))


def _pick_turn(turns: Sequence[StoredTurn], number: int) -> StoredTurn:
    if not turns:
        raise UsageError("This conversation has no turn yet.", next_step=START)
    place = number - 1 if number > 0 else len(turns) + number
    if not 0 <= place < len(turns):
        last = f"the last one is {len(turns)}" if len(turns) > 1 else "there is only turn 1"
        raise UsageError(f"There is no turn {number}; {last}.", next_step="See %shard history.")
    return turns[place]
