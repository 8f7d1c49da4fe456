"""Questions answered by a callback of the embedding program."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Literal

import anyio.to_thread

from shard_jupyter.core.agent_session import AgentSession
from shard_jupyter.types.decisions import KeepScope, Rule
from shard_jupyter.types.events import AgentEvent, PermissionRequest, PermissionResolved
from shard_jupyter.types.wire_model import WireModel


class ApprovalAnswer(WireModel):
    """What a person decided.

    `rule` must be one of the request's `offered_rules`; it is used with `allow_always`, and so is
    `keep`: how long it holds.
    `note` is told to the model with a denial. `arguments`, with `allow`, run in place of the
    call's own; where they reach elsewhere, they are asked for again.
    """

    decision: Literal["allow", "allow_always", "deny"]
    note: str = ""
    rule: Rule | None = None
    keep: KeepScope = "session"
    arguments: dict[str, Any] | None = None


OnApproval = Callable[[PermissionRequest], Awaitable[ApprovalAnswer] | ApprovalAnswer]
"""A plain function is called in a thread, so it may block and ask somebody."""


class ApprovalCaller:
    """Runs the callback for each question; a question that is resolved elsewhere cancels it."""

    def __init__(self, session: AgentSession, on_approval: OnApproval, by: str) -> None:
        self._session = session
        self._on_approval = on_approval
        self._by = by
        self._running: dict[str, asyncio.Task[None]] = {}

    def handle_event(self, event: AgentEvent) -> None:
        if isinstance(event, PermissionRequest):
            task = asyncio.get_running_loop().create_task(self._ask(event))
            self._running[event.request_id] = task
        elif isinstance(event, PermissionResolved):
            task_or_none = self._running.pop(event.request_id, None)
            if task_or_none is not None:
                task_or_none.cancel()

    async def _ask(self, request: PermissionRequest) -> None:
        try:
            answer = await self._call(request)
            # Answering resolves the question, which would cancel this very task.
            self._running.pop(request.request_id, None)
            self._session.answer_permission(
                request.request_id,
                answer.decision,
                by=self._by,
                rule=answer.rule,
                keep=answer.keep,
                note=answer.note,
                arguments=answer.arguments,
            )
        except Exception as error:  # noqa: BLE001 - a callback that raises denies, and says why
            self._running.pop(request.request_id, None)
            note = f"the approval callback failed: {type(error).__name__}: {error}"
            self._session.answer_permission(request.request_id, "deny", by=self._by, note=note)

    async def _call(self, request: PermissionRequest) -> ApprovalAnswer:
        callback = self._on_approval
        is_plain = not inspect.iscoroutinefunction(callback)
        answer: object
        if is_plain:
            answer = await anyio.to_thread.run_sync(callback, request, abandon_on_cancel=True)
        else:
            answer = callback(request)
        if inspect.isawaitable(answer):
            answer = await answer
        if not isinstance(answer, ApprovalAnswer):
            raise TypeError(f"it returned {type(answer).__name__}, not an ApprovalAnswer")
        return answer

    async def aclose(self) -> None:
        tasks = tuple(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
