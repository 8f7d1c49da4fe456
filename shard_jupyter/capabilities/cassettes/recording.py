"""Records whatever provider it is put around."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from shard_jupyter.capabilities.cassettes.approvals import approval_entry
from shard_jupyter.capabilities.cassettes.canonical import (
    Json,
    canonical_message,
    canonical_request,
)
from shard_jupyter.capabilities.cassettes.cassette import (
    ASKS_EVERY_CALL,
    CassetteWriter,
    entries_of,
)
from shard_jupyter.capabilities.cassettes.placeholders import (
    Numbering,
    Placeholders,
    map_strings,
)
from shard_jupyter.capabilities.cassettes.replay import ReplayProvider
from shard_jupyter.contracts.provider import (
    Answered,
    AnswersAsks,
    Failed,
    KeepsAnswers,
    Provider,
    ProviderEvent,
    ProviderRequest,
    RecordedAnswer,
    RouteInfo,
)
from shard_jupyter.contracts.tool import Arguments


class RecordingProvider:
    """A `Provider` that also `KeepsAnswers`. Closes `inner` with itself; the writer may be shared.

    Recorded are answers and failures that asking again would not mend. A call that was cancelled
    or that may be retried leaves nothing, so that a replay has no delays of its own.
    """

    def __init__(self, inner: Provider, writer: CassetteWriter, placeholders: Placeholders) -> None:
        self._inner = inner
        self.writer = writer
        self._placeholders = placeholders

    @property
    def route(self) -> RouteInfo:
        return self._inner.route

    @property
    def answered_by(self) -> str:
        """The model of the last answer: in a replay the recorded one, so that no recording of a
        recording differs.
        """  # noqa: D205 - a sentence of two lines
        inner = self._inner
        if isinstance(inner, ReplayProvider | RecordingProvider):
            return inner.answered_by
        return inner.route.model_id

    async def aclose(self) -> None:
        await self._inner.aclose()

    def find_answer(
        self, tool: str, arguments: Arguments, *, recovered: bool = False
    ) -> RecordedAnswer | None:
        inner = self._inner
        if not isinstance(inner, AnswersAsks):
            return None
        return inner.find_answer(tool, arguments, recovered=recovered)

    async def keep_answer(self, tool: str, arguments: Arguments, answer: RecordedAnswer) -> None:
        """Write the answer down, here and in whatever else records.

        Raises:
            StorageError: the cassette cannot be written.
        """
        if isinstance(self._inner, KeepsAnswers):
            await self._inner.keep_answer(tool, arguments, answer)
        await self.writer.add([approval_entry(tool, arguments, answer, self._placeholders)])

    async def stream(self, request: ProviderRequest) -> AsyncGenerator[ProviderEvent, None]:
        """Pass everything on.

        Raises:
            StorageError: the cassette cannot be written.
        """
        async with aclosing(self._inner.stream(request)) as events:
            async for event in events:
                if isinstance(event, (Answered, Failed)):
                    await self._record(request, event)
                yield event

    async def _record(self, request: ProviderRequest, event: Answered | Failed) -> None:
        if isinstance(event, Failed) and event.failure.retryable:
            return
        numbering = Numbering()
        asked = canonical_request(request, self._placeholders, numbering)
        answer: Json | None = None
        outcome: Json
        if isinstance(event, Answered):
            answer = canonical_message(event.message, self._placeholders, numbering)
            tokens = event.tokens.model_dump(mode="json", exclude_none=True)
            outcome = {"stop_reason": event.stop_reason, "tokens": tokens}
        else:
            failure = event.failure.model_dump(mode="json", exclude_defaults=True)
            outcome = {
                "failure": map_strings(
                    failure, lambda text: self._placeholders.hide(text, numbering)
                )
            }
        if self.route.asks_every_call:
            outcome[ASKS_EVERY_CALL] = True
        await self.writer.add(entries_of(asked, answer, {**outcome, "model": self.answered_by}))
