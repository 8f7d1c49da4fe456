"""`replay:FILE`: plays a cassette. No network, no clock, no chance but for ids."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import anyio.lowlevel

from shard_jupyter.capabilities.cassettes.approvals import approval_key, read_approval
from shard_jupyter.capabilities.cassettes.canonical import (
    CanonicalRequest,
    Json,
    canonical_request,
    read_answer,
)
from shard_jupyter.capabilities.cassettes.cassette import (
    ASKS_EVERY_CALL,
    Cassette,
    parse_cassette,
)
from shard_jupyter.capabilities.cassettes.mismatch import explain_mismatch
from shard_jupyter.capabilities.cassettes.placeholders import (
    Numbering,
    Placeholders,
    find_secrets,
    looks_secret,
    map_strings,
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
    RecordedAnswer,
    RouteInfo,
    TextDelta,
    ThinkingDelta,
)
from shard_jupyter.contracts.tool import Arguments
from shard_jupyter.contracts.tool_context import BlobStore
from shard_jupyter.errors import UserError
from shard_jupyter.types.content import TextBlock, ThinkingBlock, ToolCallBlock
from shard_jupyter.types.messages import Message
from shard_jupyter.types.usage import TokenUsage

PREFIX = "replay"
SEEN_FROM = "seen_from"
"""Key of `extra`: the folder from which a relative path behind the prefix is seen."""
CHUNK = 24
"""Characters in one delta, so that a replay streams like a model."""


class ReplayProvider:
    """A `Provider` that also `AnswersAsks`.

    Equal requests are answered in the order in which they were recorded, each once; so are equal
    questions.

    Attributes:
        answered_by: the model that gave the last answer when it was recorded.
    """

    def __init__(
        self, route: RouteInfo, name: str, cassette: Cassette, placeholders: Placeholders
    ) -> None:
        """Play `cassette`, which is called `name` where something is wrong."""
        self.answered_by = route.model_id
        self._route = route
        self._name = name
        self._cassette = cassette
        self._placeholders = placeholders
        self._played: Counter[tuple[str, str, str]] = Counter()
        self._approved: Counter[str] = Counter()

    @property
    def route(self) -> RouteInfo:
        """After an answer: also whether each call of its model is asked, as it was then."""
        return self._route

    async def aclose(self) -> None:
        """Nothing is held open."""

    async def stream(self, request: ProviderRequest) -> AsyncGenerator[ProviderEvent, None]:
        numbering = Numbering()
        asked = canonical_request(request, self._placeholders, numbering)
        recorded = self._next(asked.key)
        if recorded is None:
            yield Failed(failure=self._mismatch(asked))
            return
        self.answered_by = str(recorded.get("model", self._route.model_id))
        asks_every_call = recorded.get(ASKS_EVERY_CALL) is True
        self._route = self._route.model_copy(update={ASKS_EVERY_CALL: asks_every_call})
        outcome = self._read(recorded, numbering)
        if isinstance(outcome, Answered):
            for delta in _deltas(outcome.message):
                yield delta
                await anyio.lowlevel.checkpoint()
        yield outcome

    def find_answer(
        self, tool: str, arguments: Arguments, *, recovered: bool = False
    ) -> RecordedAnswer | None:
        numbering = Numbering()
        key = approval_key(tool, arguments, self._placeholders, numbering, recovered=recovered)
        recorded = self._cassette.approvals.get(key, [])
        if self._approved[key] >= len(recorded):
            return None
        self._approved[key] += 1
        return read_approval(recorded[self._approved[key] - 1], self._placeholders, numbering)

    def _read(self, recorded: Json, numbering: Numbering) -> Answered | Failed:
        try:
            if "failure" in recorded:
                shown = map_strings(
                    recorded["failure"], lambda text: self._placeholders.show(text, numbering)
                )
                return Failed(failure=ProviderFailure.model_validate(shown))
            message = read_answer(
                self._cassette.messages[recorded["message"]],
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
            told = f"The cassette {self._name} is damaged."
            step = "Record it again."
            return Failed(failure=ProviderFailure(kind="bad_request", message=told, next_step=step))

    def _next(self, key: tuple[str, str, str]) -> Json | None:
        recorded = self._cassette.answers.get(key, [])
        played = self._played[key]
        if played >= len(recorded):
            return None
        self._played[key] += 1
        return recorded[played]

    def _mismatch(self, asked: CanonicalRequest) -> ProviderFailure:
        times = len(self._cassette.answers.get(asked.key, []))
        why = (
            f"This request was recorded {times} times and is asked once more."
            if times
            else explain_mismatch(self._cassette, asked)
        )
        told = f"The cassette {self._name} has no answer to this request. {why}"
        return ProviderFailure(kind="mismatch", message=told)


def read_cassette(path: Path) -> Cassette:
    """Read a file; blocks.

    Raises:
        UserError: it cannot be read.
        ConfigError: it is no cassette.
    """
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL in it
        why = (isinstance(error, OSError) and error.strerror) or type(error).__name__
        raise UserError(
            f"The cassette {path} cannot be read: {why}.",
            code="not_found",
            next_step="Name a file that was made with --record, as this folder sees it.",
        ) from error
    return parse_cassette(data, path.name)


class ReplayFactory:
    """A `ProviderFactory`. The model behind the prefix is a path, as this process sees it.

    Settings: `SEEN_FROM` of `extra` is another folder to see it from. Each other key names a folder that the cassette calls so, or, where the name
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
        """Read the file.

        Raises:
            UserError: as `read_cassette`.
        """
        del blobs  # images are told apart by their hash alone
        path = Path(settings.extra.get(SEEN_FROM, ""), model)
        placeholders = Placeholders(places_of(settings), find_secrets(os.environ, settings.extra))
        route = self.describe(model, settings)
        return ReplayProvider(route, path.name, read_cassette(path), placeholders)


def places_of(settings: ProviderSettings) -> dict[str, str]:
    """The folders that differ between the machine that records and the one that replays."""
    own = {} if "cwd" in settings.extra else {"cwd": str(Path.cwd())}
    named = {
        name: path
        for name, path in settings.extra.items()
        if name != SEEN_FROM and not looks_secret(name)
    }
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
