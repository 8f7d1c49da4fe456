"""Turns a request into an assistant message (Shard §4.8)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, Literal, Protocol, runtime_checkable

from pydantic import Field

from shard_jupyter.contracts.tool import Arguments, ToolSpec
from shard_jupyter.contracts.tool_context import BlobStore
from shard_jupyter.types.decisions import Rule
from shard_jupyter.types.ids import Id
from shard_jupyter.types.messages import Message
from shard_jupyter.types.model_rows import ModelRow
from shard_jupyter.types.refusals import Refusal
from shard_jupyter.types.turns import ErrorInfo
from shard_jupyter.types.usage import TokenUsage
from shard_jupyter.types.wire_model import WireModel

FailureKind = Literal[
    "auth", "not_found", "bad_request", "context_full", "rate_limit", "overloaded", "server",
    "network", "cut", "refused", "mismatch",
]  # fmt: skip
StopReason = Literal["end", "tool_calls", "length", "refusal"]


class ProviderRequest(WireModel):
    """All that a model is asked with. Nothing in it depends on the clock or on chance."""

    model: str
    """The part of the routing id behind the prefix."""
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_output_tokens: int | None = None


class ProviderFailure(WireModel):
    """A model call that gave no answer.

    `retry_after_seconds` is what the server asked for, whatever its length; who retries decides.
    `next_step` is for what only the provider knows; without it the kind says what to do.
    """

    kind: FailureKind
    message: str
    status: int | None = None
    retryable: bool = False
    retry_after_seconds: float | None = None
    next_step: str = ""

    def as_error(self, next_step: str = "") -> ErrorInfo:
        return ErrorInfo(
            code=self.kind, message=self.message, next_step=self.next_step or next_step
        )


class TextDelta(WireModel):
    kind: Literal["text"] = "text"
    text: str


class ThinkingDelta(WireModel):
    kind: Literal["thinking"] = "thinking"
    text: str


class ArgumentsDelta(WireModel):
    """A piece of a call's arguments, for display only. Nothing is ever run from it."""

    kind: Literal["arguments"] = "arguments"
    call_id: Id
    tool: str
    text: str


class ProviderNotice(WireModel):
    """What a person should know while nothing comes, such as that a model is being loaded."""

    kind: Literal["notice"] = "notice"
    code: str
    message: str


class Answered(WireModel):
    """Last event of a good answer. Calls in it have ids of ours (`call-…`), unique for ever."""

    kind: Literal["answered"] = "answered"
    message: Message
    stop_reason: StopReason
    tokens: TokenUsage


class Failed(WireModel):
    """Last event of a failed one. What was streamed before it is void."""

    kind: Literal["failed"] = "failed"
    failure: ProviderFailure


ProviderEvent = TextDelta | ThinkingDelta | ArgumentsDelta | ProviderNotice | Answered | Failed


class RouteInfo(WireModel):
    """Where requests of a model go."""

    model_id: str
    cloud: bool
    """False only for loopback hosts and for providers that use no network."""
    host: str = ""
    refusal: Refusal | None = None
    context_window: int | None = None
    asks_every_call: bool = False
    """True: the model is too weak for the allowances of a mode; only rules and people allow."""


class Provider(Protocol):
    """One wire protocol. Made by a factory for one route; owned and closed by the session."""

    @property
    def route(self) -> RouteInfo: ...

    def stream(self, request: ProviderRequest) -> AsyncGenerator[ProviderEvent, None]:
        """Ask once; never retries.

        Never raises for anything the model, the server or the network does: the last event is
        then `Failed`. The last event is always `Answered` or `Failed`. An answer without its
        terminal mark (a finish reason, a stop, a done item) is `Failed(kind="cut")`.

        Closing the generator early (`aclose`), or cancellation, closes the connection at once.
        """
        ...

    async def aclose(self) -> None: ...


class RecordedAnswer(WireModel):
    """What a person answered to the question about one call, as a cassette keeps it."""

    decision: Literal["allow", "allow_always", "deny"]
    note: str = ""
    """With a denial: what the model is told."""
    rule: Rule | None = None
    """With `allow_always`: what is stored."""
    arguments: dict[str, Any] | None = None
    """With `allow`: what the person made of the call's arguments."""
    recovered: bool = False
    """The call was read from a model's text; its answer is none to a real call, nor the reverse."""


@runtime_checkable
class AnswersAsks(Protocol):
    """What a provider may be besides: one that holds the answers of a recorded run."""

    def find_answer(
        self, tool: str, arguments: Arguments, *, recovered: bool = False
    ) -> RecordedAnswer | None:
        """Take the next answer to exactly this call; each is given once, None when none is left.

        `arguments` and `recovered` are those that the question shows.
        """
        ...


@runtime_checkable
class KeepsAnswers(Protocol):
    """What a provider may be besides: one that records a run."""

    async def keep_answer(self, tool: str, arguments: Arguments, answer: RecordedAnswer) -> None:
        """Keep what a person answered. Called in the order in which the calls run.

        Raises:
            StorageError: it could not be written.
        """
        ...


class ProviderFactory(Protocol):
    """What an extension registers for a prefix, `openai` in `openai:gpt-5`."""

    @property
    def prefix(self) -> str: ...

    def describe(self, model: str, settings: ProviderSettings) -> RouteInfo:
        """Say where `model` would go and what is missing; imports no SDK, asks no network."""
        ...

    def create(
        self, model: str, settings: ProviderSettings, blobs: BlobStore | None = None
    ) -> Provider:
        """Make a provider; heavy imports happen here. Blocks: never call it on an event loop.

        `blobs` is where the bytes of an `ImageBlock` are read when a request is sent; without
        it the model is told in words that there was an image.

        Raises:
            UserError: something is missing or the model name is not usable.
        """
        ...


@runtime_checkable
class ListsModels(Protocol):
    """What a factory may be besides: one that knows which models there are."""

    def list_models(self, settings: ProviderSettings) -> tuple[ModelRow, ...]:
        """Look at this machine, and nowhere else. Reads files: call it off the event loop."""
        ...


@runtime_checkable
class ProposesModel(Protocol):
    """What a factory may be besides: one whose model can be used where none was chosen."""

    def propose_model(self, settings: ProviderSettings) -> str | None:
        """Return a routing id that can answer now, None when there is none. Reads files."""
        ...


class ProviderSettings(WireModel):
    """What configuration and environment say about one prefix. Holds a secret: never logged."""

    base_url: str | None = None
    api_key: str | None = Field(default=None, repr=False)
    timeout_seconds: float = 600.0
    """Silence on the wire after which the connection counts as cut."""
    context_window: int | None = None
    extra: dict[str, str] = Field(default_factory=dict)

    def __repr__(self) -> str:
        key = "set" if self.api_key else "not set"
        return f"ProviderSettings(base_url={self.base_url!r}, api_key={key})"

    __str__ = __repr__
