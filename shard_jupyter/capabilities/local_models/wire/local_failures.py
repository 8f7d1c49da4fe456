"""What went wrong with a server of ours, as data. Pure.

The kind is never `network`: nothing here leaves this machine.
"""

from __future__ import annotations

import json
import re
from typing import Any

from shard_jupyter.contracts.provider import FailureKind, ProviderFailure

LONGEST_MESSAGE = 400
CONTEXT_STEP = (
    "Start a new session, raise local_models.context_tokens, or choose a model with a larger "
    "context."
)
_CONTEXT_WORDS = re.compile(
    r"exceed_context_size|context_length_exceeded|context (size|length|window|limit|shift)"
    r"|(maximum|max|available) context|KV cache|(prompt|input|request) (is|was) too (long|large)"
    r"|too many tokens|exceeds? .{0,40}n_ctx",
    re.IGNORECASE,
)


def status_failure(status: int, body: str, *, secret: str) -> ProviderFailure:
    """Read an answer that is no 200."""
    error = _error_of(body)
    told = _tell(error) or f"HTTP {status}"
    if is_context_full(error, told):
        return context_full(told, secret=secret, status=status)
    kind: FailureKind = "bad_request" if 400 <= status < 500 else "server"
    if status in (401, 403, 404):  # our key, our route: what listens there is not ours any more
        kind = "server"
    return failure(kind, f"The local server: {told}", secret=secret, status=status)


def event_failure(event: dict[str, Any], *, secret: str) -> ProviderFailure:
    """Read an error that came inside the stream of a 200."""
    error = event.get("error")
    told = _tell(error) or "the answer ended with an error"
    if is_context_full(error, told):
        return context_full(told, secret=secret)
    return failure("server", f"The local server: {told}", secret=secret)


def context_full(told: str, *, secret: str, status: int | None = None) -> ProviderFailure:
    return failure("context_full", told, secret=secret, status=status, next_step=CONTEXT_STEP)


def is_context_full(error: object, told: str) -> bool:
    """By type, by the counts, or by any wording that servers have used for it."""
    named = error if isinstance(error, dict) else {}
    asked, limit = named.get("n_prompt_tokens"), named.get("n_ctx")
    if isinstance(asked, int) and isinstance(limit, int) and asked > limit:
        return True
    text = f"{named.get('type', '')} {named.get('code', '')} {told}"
    return bool(_CONTEXT_WORDS.search(text))


def failure(
    kind: FailureKind,
    message: str,
    *,
    secret: str,
    status: int | None = None,
    next_step: str = "",
    retryable: bool = False,
) -> ProviderFailure:
    """One line for a person, without the key."""
    text = " ".join((message.replace(secret, "***") if secret else message).split())
    text = text.encode("utf-8", "replace").decode("utf-8")
    if len(text) > LONGEST_MESSAGE:
        text = text[: LONGEST_MESSAGE - 1] + "…"
    return ProviderFailure(
        kind=kind, message=text, status=status, retryable=retryable, next_step=next_step
    )


def _error_of(body: str) -> object:
    try:
        value: Any = json.loads(body)
    except (ValueError, RecursionError):
        return body.strip()
    if isinstance(value, dict):
        return value.get("error") or value.get("detail") or value
    return value


def _tell(error: object) -> str:
    if isinstance(error, str):
        return error
    if isinstance(error, dict):
        for key in ("message", "detail", "type"):
            if isinstance(told := error.get(key), str) and told.strip():
                return told.strip()
    return ""
