"""What went wrong, as data: HTTP answers, error events and broken connections. Pure.

Messages are short, for people, and never hold the key, whatever a server echoes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from shard_jupyter.capabilities.model_providers.unicode_repair import mend_text
from shard_jupyter.contracts.provider import FailureKind, ProviderFailure

_LONGEST_MESSAGE = 400
_SHORTEST_SECRET = 6
_RETRYABLE: frozenset[FailureKind] = frozenset(
    {"rate_limit", "overloaded", "server", "network", "cut"}
)
_BY_STATUS: Mapping[int, FailureKind] = {
    401: "auth", 402: "auth", 403: "auth", 404: "not_found", 408: "network", 409: "server",
    413: "context_full", 429: "rate_limit", 503: "overloaded", 529: "overloaded",
}  # fmt: skip
_BY_WORD: tuple[tuple[str, FailureKind], ...] = (
    ("context_length", "context_full"),
    ("context length", "context_full"),
    ("context window", "context_full"),
    ("context size", "context_full"),
    ("context limit", "context_full"),
    ("input is too long", "context_full"),
    ("maximum number of tokens", "context_full"),
    ("prompt is too long", "context_full"),
    ("maximum context", "context_full"),
    ("too many tokens", "context_full"),
    ("content_filter", "refused"),
    ("content_policy", "refused"),
    ("invalid_prompt", "refused"),
    ("overloaded", "overloaded"),
    ("rate_limit", "rate_limit"),
    ("too many requests", "rate_limit"),
    ("authentication", "auth"),
    ("invalid_api_key", "auth"),
    ("permission", "auth"),
    ("not_found", "not_found"),
    ("invalid_request", "bad_request"),
)
_OUT_OF_MONEY = ("insufficient_quota", "billing", "credit balance")


def status_failure(
    status: int, headers: Mapping[str, str], body: str, *, secret: str, now: datetime
) -> ProviderFailure:
    """Read an answer that is no 200."""
    error = _error_of(body)
    told = _tell(error)
    kind = _BY_STATUS.get(status)
    if kind is None:
        kind = "server" if status >= 500 else "bad_request"
    if kind == "bad_request" or status == 413:
        kind = _kind_by_words(error, told, among=("context_full", "refused")) or kind
    if not told:
        told = f"HTTP {status}" + (
            ", with a web page in place of an answer" if _is_html(body) else ""
        )
    retryable = kind in _RETRYABLE and not _is_about_money(error, told)
    return ProviderFailure(
        kind=kind,
        message=scrub(told, secret),
        status=status,
        retryable=retryable,
        retry_after_seconds=retry_after(headers, now),
    )


def event_failure(error: object, *, secret: str) -> ProviderFailure:
    """Read an error that came inside the stream of a 200."""
    told = _tell(error) or "the answer ended with an error"
    kind = _kind_by_words(error, told) or "server"
    if isinstance(error, dict) and isinstance(code := error.get("code"), int):
        kind = _BY_STATUS.get(code, kind)
    return ProviderFailure(
        kind=kind,
        message=scrub(told, secret),
        retryable=kind in _RETRYABLE and not _is_about_money(error, told),
    )


def unstreamed_failure(content_type: str, body: str, *, secret: str) -> ProviderFailure:
    """Read a 200 that is no event stream: an error in disguise, a web page, a whole answer."""
    error = _error_of(body)
    if isinstance(error, str) or (isinstance(error, dict) and '"error"' in body):
        return event_failure(error, secret=secret)
    told = f"the server answered {content_type} in place of an event stream"
    return ProviderFailure(
        kind="server", message=told, status=200, retryable=content_type == "text/html"
    )


def broken_connection(why: str, *, secret: str, began: bool) -> ProviderFailure:
    """No answer, or (`began`) an answer that stopped before its end. Both may be asked again."""
    return ProviderFailure(
        kind="cut" if began else "network", message=scrub(why, secret), retryable=True
    )


def incomplete_answer() -> ProviderFailure:
    """The connection ended in good order, yet nothing said that the answer was complete."""
    return ProviderFailure(
        kind="cut", message="the answer ended before it was complete", retryable=True
    )


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds that a server asks to wait, whatever their number; None when it does not say.

    A date is taken against the server's own `Date`, so that clocks need not agree.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None:
        return seconds
    at = _http_date(value)
    if at is None:
        return None
    return max(0.0, (at - (_http_date(headers.get("date")) or now)).total_seconds())


def scrub(text: str, secret: str) -> str:
    """One line of plain text, without the key and not longer than a person reads."""
    if len(secret) >= _SHORTEST_SECRET:
        text = text.replace(secret, "***")
    text = " ".join(mend_text(text).split())
    return text if len(text) <= _LONGEST_MESSAGE else text[: _LONGEST_MESSAGE - 1] + "…"


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None


def _http_date(value: str | None) -> datetime | None:
    try:
        at = parsedate_to_datetime(value or "")
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _error_of(body: str) -> object:
    """Return the error object of a JSON body, the text of a plain one, None for a web page."""
    if _is_html(body):
        return None
    try:
        value: Any = json.loads(body)
    except (ValueError, RecursionError):
        return body
    if isinstance(value, list) and value:  # some proxies put it in a list
        value = value[0]
    if isinstance(value, dict):
        for key in ("error", "detail"):
            if value.get(key):
                return value[key]
    return value


def _is_html(body: str) -> bool:
    return bool(re.match(r"\s*<(!doctype|html|head|body|\?xml)", body, re.IGNORECASE))


def _tell(error: object) -> str:
    if isinstance(error, str):
        return error.strip()
    if isinstance(error, dict):
        for key in ("message", "detail", "error", "msg", "type", "code"):
            if isinstance(told := error.get(key), str) and told.strip():
                return told.strip()
    return ""


def _kind_by_words(
    error: object, told: str, among: tuple[FailureKind, ...] | None = None
) -> FailureKind | None:
    named = error if isinstance(error, dict) else {}
    text = " ".join(str(named.get(key, "")) for key in ("code", "type")) + " " + told
    for word, kind in _BY_WORD:
        if word in text.lower() and (among is None or kind in among):
            return kind
    return None


def _is_about_money(error: object, told: str) -> bool:
    named = error if isinstance(error, dict) else {}
    text = f"{named.get('code', '')} {named.get('type', '')} {told}".lower()
    return any(word in text for word in _OUT_OF_MONEY)
