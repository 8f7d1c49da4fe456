"""A stored turn as the events that told of it, so that it is shown as it was shown then. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from shard_jupyter.surfaces.magics.line.stored_turns import StoredTurn, result_paths, text_of
from shard_jupyter.types.content import ToolCallBlock
from shard_jupyter.types.decisions import Ask, Deny
from shard_jupyter.types.events import (
    AgentEvent,
    CompactionEvent,
    FilesChanged,
    MessageComplete,
    PermissionRequest,
    PermissionResolved,
    SteerInjected,
    ToolCallEvent,
    ToolResultEvent,
    TurnEnd,
    TurnStart,
)
from shard_jupyter.types.session_entries import (
    CompactionEntry,
    Entry,
    MessageEntry,
    PermissionEntry,
    SessionEntry,
    ToolResultEntry,
)
from shard_jupyter.types.turns import Denial, ErrorInfo
from shard_jupyter.types.usage import UsageTotals

NO_END = ErrorInfo(
    code="no_end",
    message="The end of this turn was never written down: its process was killed.",
)


class TurnReplay:
    """Gives the events of one turn, and meanwhile the time at which each of them came."""

    def __init__(self, turn: StoredTurn, agent_id: str) -> None:
        self._turn = turn
        self._agent_id = agent_id
        self._calls: dict[str, ToolCallBlock] = {}
        self._seconds = 0.0

    def clock(self) -> float:
        """Return when the last event given came, in seconds of no particular start."""
        return self._seconds

    def events(self) -> Iterator[AgentEvent]:
        yield self._start()
        for entry in self._turn.entries:
            self._keep_time(entry)
            yield from self._of_entry(entry)
        yield from self._end()

    def _keep_time(self, entry: SessionEntry) -> None:
        if not isinstance(entry, Entry):
            return
        try:
            self._seconds = datetime.fromisoformat(entry.timestamp).timestamp()
        except ValueError:
            return  # a log made by hand; the time of the entry before it is near enough

    def _start(self) -> TurnStart:
        first = self._turn.messages[0]
        self._keep_time(first)
        return TurnStart(
            agent_id=self._agent_id,
            turn_id=self._turn.turn_id,
            prompt=text_of(first.content),
            model=self._turn.answered_by,
            mode=self._turn.mode,
        )

    def _of_entry(self, entry: SessionEntry) -> Iterator[AgentEvent]:
        match entry:
            case MessageEntry(role="assistant"):
                yield from self._answer(entry)
            case MessageEntry(steer=True):
                yield SteerInjected(
                    agent_id=self._agent_id,
                    turn_id=entry.turn_id,
                    entry_id=entry.id,
                    text=text_of(entry.content),
                )
            case ToolResultEntry():
                yield from self._result(entry)
            case PermissionEntry(request_id=str() as request_id):
                yield self._permission(entry, request_id)
            case CompactionEntry():
                yield CompactionEvent(
                    agent_id=self._agent_id,
                    turn_id=self._turn.turn_id,
                    entry_id=entry.id,
                    index=entry.index,
                    tokens_before=entry.tokens_before,
                    tokens_after=entry.tokens_after,
                )
            case _:
                return

    def _answer(self, entry: MessageEntry) -> Iterator[AgentEvent]:
        yield MessageComplete(
            agent_id=self._agent_id,
            turn_id=entry.turn_id,
            entry_id=entry.id,
            item_id=entry.id,
            content=entry.content,
            stop_reason=entry.stop_reason,
        )
        for call in entry.content:
            if isinstance(call, ToolCallBlock):
                self._calls[call.call_id] = call
                yield ToolCallEvent(
                    agent_id=self._agent_id,
                    turn_id=entry.turn_id,
                    call_id=call.call_id,
                    tool=call.name,
                    arguments=call.arguments,
                    recovered=call.recovered,
                )

    def _permission(self, entry: PermissionEntry, request_id: str) -> AgentEvent:
        call = self._calls.get(entry.call_id)
        if isinstance(entry.decision, Ask):
            return PermissionRequest(
                agent_id=self._agent_id,
                turn_id=entry.turn_id,
                request_id=request_id,
                call_id=entry.call_id,
                tool=call.name if call else "",
                prompt=entry.decision.prompt,
                arguments=call.arguments if call else {},
                why=entry.decision.why,
                recovered=call.recovered if call else False,
            )
        return PermissionResolved(
            agent_id=self._agent_id,
            turn_id=entry.turn_id,
            request_id=request_id,
            call_id=entry.call_id,
            decision=entry.decision,
            by=entry.by,
        )

    def _result(self, entry: ToolResultEntry) -> Iterator[AgentEvent]:
        yield ToolResultEvent(
            agent_id=self._agent_id,
            turn_id=entry.turn_id,
            entry_id=entry.id,
            call_id=entry.call_id,
            tool=entry.name,
            status=entry.status,
            is_error=entry.is_error,
            content=entry.content,
            render=entry.render,
            details=entry.details,
        )
        paths = result_paths(entry)
        if paths:
            yield FilesChanged(
                agent_id=self._agent_id,
                turn_id=entry.turn_id,
                call_id=entry.call_id,
                paths=paths,
            )

    def _end(self) -> Iterator[TurnEnd]:
        end = self._turn.end
        if end is None and self._turn.is_running:
            return
        answers = [message for message in self._turn.messages if message.role == "assistant"]
        changed = (path for result in self._turn.results for path in result_paths(result))
        yield TurnEnd(
            agent_id=self._agent_id,
            turn_id=self._turn.turn_id,
            outcome=end.outcome if end else "interrupted",
            text=text_of(answers[-1].content) if answers else "",
            error=end.error if end else NO_END,
            usage=end.usage if end else UsageTotals(),
            denials=tuple(self._denials()),
            changed_paths=tuple(dict.fromkeys(changed)),
        )

    def _denials(self) -> Iterator[Denial]:
        """Those that fail a headless run. Whether a rule's did, the log does not say."""
        for entry in self._turn.entries:
            if not isinstance(entry, PermissionEntry) or not isinstance(entry.decision, Deny):
                continue
            if entry.decision.by in ("headless", "expired"):
                call = self._calls.get(entry.call_id)
                yield Denial(
                    call_id=entry.call_id,
                    tool=call.name if call else "",
                    reason=entry.decision.reason,
                    would_allow=entry.decision.would_allow,
                )
