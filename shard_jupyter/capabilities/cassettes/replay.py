"""`replay:FILE`: plays a cassette. No network, no clock, no chance but for ids."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread

from shard_jupyter.capabilities.cassettes.canonical import (
    CanonicalRequest,
    Json,
    canonical_request,
    read_answer,
)
from shard_jupyter.capabilities.cassettes.cassette import Cassette, parse_cassette
from shard_jupyter.capabilities.cassettes.mismatch import explain_mismatch
from shard_jupyter.capabilities.cassettes.placeholders import (
    Numbering,
    Placeholders,
    find_secrets,
    looks_secret,
)
from shard_jupyter.contracts.provider import (
    Answered,
    ArgumentsDelta,
    Failed,
    Provider,
    ProviderEvent,
    ProviderFailure,
    ProviderRequest,
    ProviderSettings,
    RouteInfo,
    TextDelta,
    ThinkingDelta,
)
from shard_jupyter.contracts.tool_context import BlobStore
from shard_jupyter.errors import ConfigError
from shard_jupyter.types.content import TextBlock, ThinkingBlock, ToolCallBlock
from shard_jupyter.types.messages import Message
from shard_jupyter.types.usage import TokenUsage

PREFIX = "replay"
CHUNK = 24
"""Characters in one delta, so that a replay streams like a model."""


class ReplayProvider:
    """A `Provider`. The file is read once, at the first request.

    Equal requests are answered in the order in which they were recorded, each once.
    """

    def __init__(self, route: RouteInfo, path: Path, placeholders: Placeholders) -> None:
        self._route = route
        self._path = path
        self._placeholders = placeholders
        self._cassette: Cassette | None = None
        self._played: Counter[tuple[str, str, str]] = Counter()
        self._lock = anyio.Lock()

    @property
    def route(self) -> RouteInfo:
        return self._route

    async def aclose(self) -> None:
        """Nothing is held open."""

    async def stream(self, request: ProviderRequest) -> AsyncGenerator[ProviderEvent, None]:
        try:
            cassette = await self._load()
        except (OSError, ConfigError) as error:
            yield Failed(failure=self._unreadable(error))
            return
        numbering = Numbering()
        asked = canonical_request(request, self._placeholders, numbering)
        recorded = self._next(cassette, asked.key)
        if recorded is None:
            yield Failed(failure=self._mismatch(cassette, asked))
            return
        outcome = self._read(cassette, recorded, numbering)
        if isinstance(outcome, Answered):
            for delta in _deltas(outcome.message):
                yield delta
                await anyio.lowlevel.checkpoint()
        yield outcome

    async def _load(self) -> Cassette:
        async with self._lock:
            if self._cassette is None:
                data = await anyio.to_thread.run_sync(self._path.read_bytes)
                self._cassette = parse_cassette(data, self._path.name)
        return self._cassette

    def _read(self, cassette: Cassette, recorded: Json, numbering: Numbering) -> Answered | Failed:
        try:
            if "failure" in recorded:
                return Failed(failure=ProviderFailure.model_validate(recorded["failure"]))
            message = read_answer(
                cassette.messages[recorded["message"]],
                self._placeholders,
                numbering,
                self._route.model_id,
            )
            return Answered(
                message=message,
                stop_reason=recorded["stop_reason"],
                tokens=TokenUsage.model_validate(recorded.get("tokens", {})),
            )
        except (KeyError, TypeError, ValueError):  # somebody has edited the file
            told = f"The cassette {self._path.name} is damaged."
            step = "Record it again."
            return Failed(failure=ProviderFailure(kind="bad_request", message=told, next_step=step))

    def _next(self, cassette: Cassette, key: tuple[str, str, str]) -> Json | None:
        recorded = cassette.answers.get(key, [])
        played = self._played[key]
        if played >= len(recorded):
            return None
        self._played[key] += 1
        return recorded[played]

    def _mismatch(self, cassette: Cassette, asked: CanonicalRequest) -> ProviderFailure:
        times = len(cassette.answers.get(asked.key, []))
        why = (
            f"This request was recorded {times} times and is asked once more."
            if times
            else explain_mismatch(cassette, asked)
        )
        told = f"The cassette {self._path.name} has no answer to this request. {why}"
        return ProviderFailure(kind="mismatch", message=told)

    def _unreadable(self, error: OSError | ConfigError) -> ProviderFailure:
        if isinstance(error, ConfigError):
            return ProviderFailure(
                kind="bad_request", message=error.message, next_step=error.next_step
            )
        why = error.strerror or type(error).__name__
        told = f"The cassette {self._path} cannot be read: {why}."
        step = "Name a file that was made with --record, as this folder sees it."
        return ProviderFailure(kind="not_found", message=told, next_step=step)


class ReplayFactory:
    """A `ProviderFactory`. The model behind the prefix is a path, as this process sees it.

    Settings: each key of `extra` names a folder that the cassette calls so, or, where the name
    looks secret, a value that it hides. `cwd` and `home` are this process's own without them.
    """

    @property
    def prefix(self) -> str:
        return PREFIX

    def describe(self, model: str, settings: ProviderSettings) -> RouteInfo:
        return RouteInfo(
            model_id=f"{PREFIX}:{model}", cloud=False, context_window=settings.context_window
        )

    def create(
        self, model: str, settings: ProviderSettings, blobs: BlobStore | None = None
    ) -> Provider:
        del blobs  # images are told apart by their hash alone
        places = places_of(settings)
        path = Path(model)
        placeholders = Placeholders(places, find_secrets(os.environ, settings.extra))
        return ReplayProvider(self.describe(model, settings), path, placeholders)


def places_of(settings: ProviderSettings) -> dict[str, str]:
    """The folders that differ between the machine that records and the one that replays."""
    own = {} if "cwd" in settings.extra else {"cwd": str(Path.cwd())}
    named = {name: path for name, path in settings.extra.items() if not looks_secret(name)}
    return {**own, "home": str(Path.home()), **named}


def _deltas(message: Message) -> Iterator[ProviderEvent]:
    for block in message.content:
        if isinstance(block, ToolCallBlock):
            text = json.dumps(block.arguments, ensure_ascii=False)
            for piece in _chunks(text):
                yield ArgumentsDelta(call_id=block.call_id, tool=block.name, text=piece)
        elif isinstance(block, TextBlock):
            yield from (TextDelta(text=piece) for piece in _chunks(block.text))
        elif isinstance(block, ThinkingBlock):
            yield from (ThinkingDelta(text=piece) for piece in _chunks(block.text))


def _chunks(text: str) -> Iterator[str]:
    return (text[start : start + CHUNK] for start in range(0, len(text), CHUNK))
