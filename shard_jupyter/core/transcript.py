"""The conversation of one agent: what is written to the log, and what the model sees of it.

Entries are chained to the leaf as they are written. The messages for the model grow with them, so
that a round late in a long turn costs what the first one did.

Recording is never a point of cancellation: every `record_…` is synchronous and returns the
`Commit` of its entries, for whoever must wait until they are on disk.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shard_jupyter.contracts.clock import Clock
from shard_jupyter.contracts.compactor import Compactor
from shard_jupyter.core.lineage.active_branch import active_branch
from shard_jupyter.core.lineage.message_window import build_window
from shard_jupyter.store.group_commit import Commit
from shard_jupyter.store.session_log import SessionLog
from shard_jupyter.store.text_spill import spill_large_texts
from shard_jupyter.types.content import TextBlock, ToolCallBlock, ToolResultBlock
from shard_jupyter.types.decisions import Decision, Grant
from shard_jupyter.types.ids import new_id
from shard_jupyter.types.messages import Message
from shard_jupyter.types.plans import PlanArtifact
from shard_jupyter.types.session_entries import (
    CheckpointEntry,
    CompactionEntry,
    Entry,
    GrantEntry,
    IntentEntry,
    MessageEntry,
    PermissionEntry,
    SessionEntry,
    ToolResultEntry,
    TurnEndEntry,
)
from shard_jupyter.types.tool_results import ToolResult
from shard_jupyter.types.turns import TurnResult
from shard_jupyter.types.usage import TokenUsage


class Transcript:
    """Owns the log and closes it."""

    def __init__(
        self, log: SessionLog, clock: Clock, full_texts: Mapping[str, str] | None = None
    ) -> None:
        """Take over `log`. `full_texts`: see `lineage.message_window.build_window`."""
        self._log = log
        self._clock = clock
        self._full_texts = dict(full_texts or {})
        self._open_results: dict[str, ToolResultBlock | None] = {}
        self._newest: Commit | None = None
        self.repairs: tuple[str, ...] = ()
        self.messages: list[Message] = []
        self.plan: PlanArtifact | None = None
        self.grants: list[Grant] = []
        self.leaf_id: str | None = log.leaf_id
        self.rebuild()

    @property
    def session_id(self) -> str:
        if self._log.header is None:
            return self._log.path.parent.name
        return self._log.header.session_id

    @property
    def last_timestamp(self) -> str:
        """When the newest entry was made; empty for a log without any."""
        return next((e.timestamp for e in reversed(self._log.entries) if isinstance(e, Entry)), "")

    def branch(self) -> list[SessionEntry]:
        """Entries from the root to the leaf."""
        return list(active_branch(self._log.entries, self.leaf_id).entries)

    def rebuild(self) -> None:
        """Derive messages, plan and grants from the active branch; repairs are in `repairs`."""
        view = active_branch(self._log.entries, self.leaf_id)
        window = build_window(view.entries, self._full_texts)
        self.messages = list(window.messages)
        self.repairs = tuple(repair.message for repair in (*view.repairs, *window.notes))
        self.plan = None
        self.grants = []
        for entry in view.entries:
            if isinstance(entry, CheckpointEntry) and entry.artifact_kind == "plan":
                self.plan = PlanArtifact.model_validate(entry.artifact)
            elif isinstance(entry, GrantEntry):
                self.grants.append(entry.grant)
        self._open_results = {}

    def record_prompt(self, turn_id: str, text: str, *, steer: bool = False) -> tuple[str, Commit]:
        """Write a user message; returns its entry id."""
        content = (TextBlock(text=text),)
        entry = MessageEntry(
            **self._head(), turn_id=turn_id, role="user", content=content, steer=steer
        )
        commit = self._append(entry)
        self.messages.append(Message(role="user", content=content))
        return entry.id, commit

    def record_answer(
        self, turn_id: str, message: Message, *, model: str, stop_reason: str, tokens: TokenUsage
    ) -> tuple[str, Commit]:
        """Write an assistant message; its calls are open until each has a result."""
        entry = MessageEntry(
            **self._head(),
            turn_id=turn_id,
            role="assistant",
            content=message.content,
            model=model,
            stop_reason=stop_reason,
            tokens=tokens,
        )
        commit = self._append(entry)
        self.messages.append(message)
        self._open_results = {call.call_id: None for call in message.tool_calls}
        return entry.id, commit

    def record_intent(self, turn_id: str, call: ToolCallBlock) -> Commit:
        return self._append(
            IntentEntry(**self._head(), turn_id=turn_id, call_id=call.call_id, name=call.name)
        )

    def record_permission(
        self,
        turn_id: str,
        call_id: str,
        decision: Decision,
        *,
        by: str = "",
        request_id: str | None = None,
        arguments: dict[str, Any] | None = None,
    ) -> Commit:
        return self._append(
            PermissionEntry(
                **self._head(),
                turn_id=turn_id,
                call_id=call_id,
                decision=decision,
                by=by,
                request_id=request_id,
                arguments=arguments,
            )
        )

    def record_grant(self, grant: Grant) -> Commit:
        return self._append(GrantEntry(**self._head(), grant=grant))

    def is_open(self, call_id: str) -> bool:
        """True while a call of the last answer has no result."""
        return call_id in self._open_results and self._open_results[call_id] is None

    def record_result(
        self, turn_id: str, call: ToolCallBlock, result: ToolResult
    ) -> tuple[str, Commit]:
        """Write the result of an open call. The last one completes the tool message."""
        assert self.is_open(call.call_id), call.call_id
        entry = ToolResultEntry(
            **self._head(),
            turn_id=turn_id,
            call_id=call.call_id,
            name=call.name,
            content=result.content,
            is_error=result.is_error,
            status=result.status,
            render=result.render,
            details=result.details,
        )
        commit = self._append(entry)
        self._open_results[call.call_id] = ToolResultBlock(
            call_id=call.call_id,
            name=call.name,
            content=result.content,
            is_error=result.is_error,
            is_denied=result.status == "denied",
        )
        blocks = [block for block in self._open_results.values() if block is not None]
        if len(blocks) == len(self._open_results):
            self.messages.append(Message(role="tool", content=tuple(blocks)))
        return entry.id, commit

    def record_plan(self, plan: PlanArtifact) -> Commit:
        commit = self.record_checkpoint("plan", plan.model_dump(mode="json"))
        self.plan = plan
        return commit

    def record_checkpoint(self, artifact_kind: str, artifact: dict[str, Any]) -> Commit:
        return self._append(
            CheckpointEntry(**self._head(), artifact_kind=artifact_kind, artifact=artifact)
        )

    def record_turn_end(self, result: TurnResult) -> Commit:
        return self._append(
            TurnEndEntry(
                **self._head(),
                turn_id=result.turn_id,
                outcome=result.outcome,
                error=result.error,
                usage=result.usage,
            )
        )

    def compact(self, compactor: Compactor) -> CompactionEntry | None:
        """Fold the branch and start a new window. Call it at a boundary only (Shard §5)."""
        assert self.leaf_id is not None
        entry = compactor.compact(self.branch(), self.leaf_id)
        if entry is not None:
            self._append(entry)
            self.rebuild()
        return entry

    async def wait_for_disk(self) -> None:
        """Return when all that was recorded until now is on disk.

        Raises:
            StorageError: it never will be.
        """
        if self._newest is not None:
            await self._newest.wait()

    async def aclose(self) -> None:
        await self._log.aclose()

    def _head(self) -> dict[str, Any]:
        return {
            "id": new_id("entry"),
            "parent_id": self.leaf_id,
            "timestamp": self._clock.now().isoformat(timespec="milliseconds"),
        }

    def _append(self, entry: SessionEntry) -> Commit:
        commit = self._newest = self._log.append(entry)
        if isinstance(entry, MessageEntry):
            # The log keeps head and tail of a long text; a rebuilt window needs all of it.
            for spill in spill_large_texts(entry)[1]:
                self._full_texts[spill.sha256] = spill.data.decode("utf-8")
        self.leaf_id = entry.id  # type: ignore[union-attr]
        return commit
