"""What is asked of a server and what comes back, the same for both dialects. Plain data."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any, Protocol

from shard_jupyter.capabilities.local_models.engines.engine import Dialect
from shard_jupyter.contracts.provider import ProviderFailure


@dataclass(frozen=True)
class CompletionRequest:
    """Go on with `prompt` by the rules of `grammar`. Nothing in it depends on chance."""

    prompt: str
    grammar: str
    max_tokens: int
    temperature: float = 0.0
    seed: int = 1


@dataclass(frozen=True)
class CompletionPart:
    """A piece of the text, or of the prompt's way through the model.

    Attributes:
        is_last: the server said that nothing follows.
        is_limit: it ended because of a limit, not because the text was complete.
        is_truncated: that limit was the model's context.
    """

    text: str = ""
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    is_last: bool = False
    is_limit: bool = False
    is_truncated: bool = False


class Complete(Protocol):
    def __call__(
        self, request: CompletionRequest
    ) -> AsyncGenerator[CompletionPart | ProviderFailure, None]:
        """Yield parts; a failure is the last item, else a part with `is_last`.

        Closing the iterator closes the connection, upon which the server stops.
        """
        ...


def completion_path(dialect: Dialect) -> str:
    return "/completion" if dialect == "llama-server" else "/v1/completions"


def completion_body(request: CompletionRequest, dialect: Dialect) -> dict[str, Any]:
    body: dict[str, Any] = {
        "prompt": request.prompt,
        "grammar": request.grammar,
        "temperature": request.temperature,
        "seed": request.seed,
        "stream": True,
    }
    if dialect == "llama-server":
        # What is kept of the prompt before saves seconds, and may turn a near tie the other way.
        # With progress something is heard while a long prompt is read, so silence means silence.
        return {
            **body, "n_predict": request.max_tokens, "cache_prompt": True, "return_progress": True
        }  # fmt: skip
    return {**body, "max_tokens": request.max_tokens}


class PartReader:
    """Turns events of one answer into parts. Pure."""

    def __init__(self, dialect: Dialect, max_tokens: int, prompt_tokens: int | None) -> None:
        self._dialect = dialect
        self._max_tokens = max_tokens
        self._prompt_tokens = prompt_tokens
        self._pieces = 0

    def read(self, event: dict[str, Any]) -> CompletionPart:
        if self._dialect == "llama-server":
            return _read_native(event)
        choices = event.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else {}
        if not isinstance(choice, dict):
            return CompletionPart()
        text = choice.get("text")
        self._pieces += bool(text)
        is_limit = choice.get("finish_reason") == "length"
        return CompletionPart(
            text=text if isinstance(text, str) else "",
            prompt_tokens=self._prompt_tokens,
            is_last=choice.get("finish_reason") is not None,
            is_limit=is_limit,
            # It does not say which limit; a token is at least one piece, or none.
            is_truncated=is_limit and self._pieces < self._max_tokens // 2,
        )


def _read_native(event: dict[str, Any]) -> CompletionPart:
    text = event.get("content")
    is_last = event.get("stop") is True
    timings = event.get("timings")
    return CompletionPart(
        text=text if isinstance(text, str) else "",
        prompt_tokens=_count(event.get("tokens_evaluated")),
        cached_tokens=_count(timings.get("cache_n")) if isinstance(timings, dict) else None,
        output_tokens=_count(event.get("tokens_predicted")),
        is_last=is_last,
        is_limit=is_last and event.get("stop_type") == "limit",
        is_truncated=event.get("truncated") is True,
    )


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
