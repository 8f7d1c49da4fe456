"""Records whatever provider it is put around."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from shard_jupyter.capabilities.cassettes.canonical import (
    Json,
    canonical_message,
    canonical_request,
)
from shard_jupyter.capabilities.cassettes.cassette import CassetteWriter, entries_of
from shard_jupyter.capabilities.cassettes.placeholders import (
    Numbering,
    Placeholders,
    map_strings,
)
from shard_jupyter.contracts.provider import (
    Answered,
    Failed,
    Provider,
    ProviderEvent,
    ProviderRequest,
    RouteInfo,
)


class RecordingProvider:
    """A `Provider`. Owns `inner`; the writer may be shared and is not closed.

    Recorded are answers and failures that asking again would not mend. A call that was cancelled
    or that may be retried leaves nothing, so that a replay has no delays of its own.
    """

    def __init__(self, inner: Provider, writer: CassetteWriter, placeholders: Placeholders) -> None:
        self._inner = inner
        self._writer = writer
        self._placeholders = placeholders

    @property
    def route(self) -> RouteInfo:
        return self._inner.route

    async def aclose(self) -> None:
        await self._inner.aclose()

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
        model = self.route.model_id
        await self._writer.add(entries_of(asked, answer, {**outcome, "model": model}))
