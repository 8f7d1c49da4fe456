"""Drive one turn for a cell: prompt, events, questions, interrupts, its end.

The first interrupt aborts the turn; a second one, or an agent that has not stopped in time, lets
the cell go, and the agent ends the turn by itself.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from shard_jupyter.protocol.agent_commands import Abort, PermissionResponse, Prompt
from shard_jupyter.protocol.results import Aborted, AnswerTaken, PromptAccepted
from shard_jupyter.surfaces.conversation.answer_dialog import Reply
from shard_jupyter.surfaces.magics.agents.agent_roster import OpenedAgent
from shard_jupyter.surfaces.magics.cells.inbox import Ended, Inbox, Press
from shard_jupyter.surfaces.magics.cells.questions import Answered, Questions
from shard_jupyter.surfaces.magics.cells.turn_feed import Lost, TurnFeed
from shard_jupyter.surfaces.magics.outputs.cell_output import CellOutput
from shard_jupyter.types.events import (
    AgentEvent,
    PermissionRequest,
    PermissionResolved,
    TurnEnd,
    TurnStart,
)
from shard_jupyter.types.ids import new_id
from shard_jupyter.types.turns import ErrorInfo, Outcome
from shard_jupyter.types.wire_model import Unknown

STOP_SECONDS = 1.6
"""How long an interrupted cell waits for its agent; the prompt is back within 2 s."""
LeaveBehind = Callable[[str, Any], None]


@dataclass(frozen=True)
class Replied:
    """The reply to the prompt."""

    error: BaseException | None


class Refused(Exception):
    """The prompt was not taken: no turn has begun."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error


class TurnDrive:
    """Runs prompts in one agent, one after another.

    Attributes:
        was_stopped: the cell was interrupted.
        cancelled: its task was cancelled, which whoever cancelled it waits to see.
    """

    def __init__(
        self,
        agent: OpenedAgent,
        inbox: Inbox,
        output: CellOutput,
        questions: Questions,
        leave_behind: LeaveBehind,
    ) -> None:
        self.was_stopped = False
        self.cancelled = False
        self._agent = agent
        self._inbox = inbox
        self._output = output
        self._questions = questions
        self._leave_behind = leave_behind
        self._turn_id = ""
        self._first_turn = ""
        self._end: TurnEnd | None = None
        self._stop_by: float | None = None

    async def run(self, text: str, **limits: object) -> TurnEnd:
        """Send a prompt and carry its turn to the end.

        Raises:
            ShardError: the prompt was refused: there was no turn.
        """
        self._turn_id, self._end, self._stop_by = new_id("turn"), None, None
        self._first_turn = self._first_turn or self._turn_id
        agent_id = self._agent.info.id
        feed = TurnFeed(self._agent.connection, agent_id, self._turn_id, self._inbox)
        try:
            reply = self._agent.connection.request(
                Prompt,
                PromptAccepted,
                agent_id=agent_id,
                text=text,
                turn_id=self._turn_id,
                **limits,
            )
            reply.add_done_callback(self._take_reply)
            end = await self._follow()
            return end.model_copy(update={"turn_id": self._first_turn})
        except Refused as refusal:
            feed.call_off()
            raise refusal.error from None
        finally:
            self._questions.close()
            feed.let_go()
            if not feed.over.is_set():
                self._abort()
                self._leave_behind(agent_id, feed.over)

    def _take_reply(self, reply: Future[PromptAccepted]) -> None:
        self._inbox.put(Replied(reply.exception()))

    async def _follow(self) -> TurnEnd:
        while True:
            for item in await self._take():
                self._handle(item)
            if self._stop_by is not None and time.monotonic() >= self._stop_by:
                self._detach("The agent has not stopped yet; it will, without this cell.")
            if self._end is not None:
                return self._end

    async def _take(self) -> tuple[object, ...]:
        wait = self._output.refresh()
        if self._stop_by is not None:
            left = max(0.0, self._stop_by - time.monotonic())
            wait = left if wait is None else min(wait, left)
        try:
            return await self._inbox.take(wait)
        except asyncio.CancelledError:
            self.cancelled = True
            return (Press(),)

    def _handle(self, item: object) -> None:
        match item:
            case Press():
                self._press()
            case Replied(error=error):
                self._take_replied(error)
            case Lost(error=error):
                self._end = self._make_end("failed", error.code, error.message, error.next_step)
            case Answered(request_id=request_id, reply=reply):
                self._answer(request_id, reply)
            case Ended(key="question", error=error) if error is not None:
                raise error
            case Ended():
                pass  # a reader of lines that has nothing more to tell
            case _:
                self._take_event(item)  # type: ignore[arg-type]

    def _take_event(self, event: AgentEvent) -> None:
        if isinstance(event, TurnEnd):
            self._end = event
            return
        self._show(event)
        if isinstance(event, PermissionRequest):
            self._questions.add(event)
        elif isinstance(event, PermissionResolved):
            self._close_question(event.request_id)
        elif isinstance(event, TurnStart) and self.was_stopped:
            self._abort()

    def _show(self, event: AgentEvent) -> None:
        """Show what comes as of one turn, though a correction of the answer is another."""
        if self._turn_id != self._first_turn and not isinstance(event, Unknown):
            if isinstance(event, TurnStart):
                return
            event = event.model_copy(update={"turn_id": self._first_turn})
        self._output.show(event)

    def _take_replied(self, error: BaseException | None) -> None:
        if error is not None:
            raise Refused(error)
        if self.was_stopped:
            self._abort()  # the first one may have come before there was a turn

    def _close_question(self, request_id: str) -> None:
        if self._questions.close_one(request_id):
            self._output.say("")
        self._questions.ask_next()

    def _answer(self, request_id: str, reply: Reply) -> None:
        rule = None if reply.rule is None else reply.rule.model_dump(mode="json")
        self._agent.connection.request(
            PermissionResponse,
            AnswerTaken,
            agent_id=self._agent.info.id,
            request_id=request_id,
            decision=reply.decision,
            note=reply.note,
            rule=rule,
            keep=reply.keep,
            arguments=reply.arguments,
        )
        self._close_question(request_id)

    def _press(self) -> None:
        if self.was_stopped:
            self._detach("You have left it; the agent ends the turn by itself.")
            return
        self.was_stopped = True
        self._stop_by = time.monotonic() + STOP_SECONDS
        self._abort()
        self._questions.close()
        self._output.say("Stopping…")

    def _abort(self) -> None:
        self._agent.connection.request(
            Abort, Aborted, agent_id=self._agent.info.id, turn_id=self._turn_id
        )

    def _detach(self, message: str) -> None:
        self._end = self._end or self._make_end("interrupted", "detached", message, "")

    def _make_end(self, outcome: Outcome, code: str, message: str, next_step: str) -> TurnEnd:
        return TurnEnd(
            agent_id=self._agent.info.id,
            turn_id=self._turn_id,
            outcome=outcome,
            error=ErrorInfo(code=code, message=message, next_step=next_step),
        )
