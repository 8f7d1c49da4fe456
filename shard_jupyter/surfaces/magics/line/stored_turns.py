"""The turns of a conversation, read from its entries. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from shard_jupyter.types.content import ContentBlock, TextBlock, ToolCallBlock
from shard_jupyter.types.session_entries import (
    CheckpointEntry,
    MessageEntry,
    SessionEntry,
    ToolResultEntry,
    TurnEndEntry,
)
from shard_jupyter.types.turns import Outcome
from shard_jupyter.types.usage import UsageTotals


@dataclass(frozen=True)
class StoredTurn:
    """What the log holds of one turn, oldest entry first; the first is the prompt.

    Attributes:
        number: counted from 1 on the active branch.
        mode, model: the last ones that the log names before the turn; empty: it names none.
        is_running: it has no end, because it goes on.
    """

    number: int
    turn_id: str
    entries: tuple[SessionEntry, ...]
    mode: str = ""
    model: str = ""
    is_running: bool = False

    @property
    def end(self) -> TurnEndEntry | None:
        ends = (entry for entry in self.entries if isinstance(entry, TurnEndEntry))
        return next(ends, None)

    @property
    def messages(self) -> list[MessageEntry]:
        return [entry for entry in self.entries if isinstance(entry, MessageEntry)]

    @property
    def answered_by(self) -> str:
        """The model that gave the first answer; while there is none, the one that was chosen."""
        return next((message.model for message in self.messages if message.model), self.model)

    @property
    def results(self) -> list[ToolResultEntry]:
        return [entry for entry in self.entries if isinstance(entry, ToolResultEntry)]


@dataclass(frozen=True)
class TurnSummary:
    """One row of the history.

    Attributes:
        prompt: all of it, with what was attached.
        answer: the last message of the model; empty when it said nothing.
        outcome: None: it runs, or its end was never written down.
        steps: how many calls the model made.
        denied: how many of them did not run because somebody or something said no.
        changed_paths: absolute.
        started: when it began; RFC 3339, UTC.
    """

    number: int
    turn_id: str
    prompt: str
    answer: str
    outcome: Outcome | None
    is_running: bool
    steps: int
    denied: int
    changed_paths: tuple[str, ...]
    started: str
    model: str
    usage: UsageTotals


def split_turns(
    branch: Iterable[SessionEntry], *, last_is_running: bool = False
) -> tuple[StoredTurn, ...]:
    """Cut a branch (oldest entry first) into its turns. What stands between them is left out."""
    groups: list[_Group] = []
    chosen = {"mode": "", "model": ""}
    for entry in branch:
        if isinstance(entry, MessageEntry) and entry.role == "user" and not entry.steer:
            groups.append(_Group(entry.turn_id, chosen["mode"], chosen["model"], [entry]))
        elif groups and getattr(entry, "turn_id", None) == groups[-1].turn_id:
            groups[-1].entries.append(entry)
        chosen |= _choice_of(entry)
    turns = [
        StoredTurn(number, group.turn_id, tuple(group.entries), group.mode, group.model)
        for number, group in enumerate(groups, 1)
    ]
    if turns and last_is_running and turns[-1].end is None:
        turns[-1] = replace(turns[-1], is_running=True)
    return tuple(turns)


@dataclass
class _Group:
    turn_id: str
    mode: str
    model: str
    entries: list[SessionEntry]


def _choice_of(entry: SessionEntry) -> dict[str, str]:
    """Return what holds from this entry on, if it says so."""
    if isinstance(entry, MessageEntry) and entry.model:
        return {"model": entry.model}
    if isinstance(entry, CheckpointEntry) and entry.artifact_kind in ("mode", "model"):
        return {entry.artifact_kind: str(entry.artifact.get(f"new_{entry.artifact_kind}", ""))}
    return {}


def summarise(turn: StoredTurn) -> TurnSummary:
    answers = [message for message in turn.messages if message.role == "assistant"]
    blocks = (block for message in answers for block in message.content)
    end = turn.end
    first = turn.messages[0]
    return TurnSummary(
        number=turn.number,
        turn_id=turn.turn_id,
        prompt=text_of(first.content),
        answer=text_of(answers[-1].content) if answers else "",
        outcome=end.outcome if end else None,
        is_running=turn.is_running,
        steps=sum(isinstance(block, ToolCallBlock) for block in blocks),
        denied=sum(result.status == "denied" for result in turn.results),
        changed_paths=_changed_paths(turn.results),
        started=first.timestamp,
        model=turn.answered_by,
        usage=end.usage if end else UsageTotals(),
    )


def text_of(content: Iterable[ContentBlock]) -> str:
    return "".join(block.text for block in content if isinstance(block, TextBlock))


def result_paths(result: ToolResultEntry) -> tuple[str, ...]:
    paths = result.details.get("changed_paths")
    return tuple(map(str, paths)) if isinstance(paths, list | tuple) else ()


def _changed_paths(results: Iterable[ToolResultEntry]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(path for result in results for path in result_paths(result)))
