"""Answers that are no answers, read as data."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.capabilities.model_providers.failures import (
    event_failure,
    retry_after,
    scrub,
    status_failure,
    unstreamed_failure,
)

pytestmark = pytest.mark.proves("A13")
NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
KEY = "sk-1234567890abcdef"


def fail(status: int, body: object, **headers: str):
    text = body if isinstance(body, str) else json.dumps(body)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return status_failure(status, named, text, secret=KEY, now=NOW)


@pytest.mark.proves("H4d.41")
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3),
        ({"retry-after": "59"}, 59),
        ({"retry-after": "86400"}, 86400),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-4"}, 0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Mon, 30 Nov 2026 12:01:30 GMT"}, 90),
        ({"retry-after": "Mon, 30 Nov 2026 11:00:00 GMT"}, 0),
        (
            {
                "retry-after": "Mon, 30 Nov 2026 15:00:10 GMT",
                "date": "Mon, 30 Nov 2026 15:00:00 GMT",
            },
            10,
        ),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({}, None),
    ],
)
def test_retry_after_in_all_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


@given(st.text())
def test_no_header_makes_it_crash(value: str) -> None:
    retry_after({"retry-after": value, "retry-after-ms": value, "date": value}, NOW)


@pytest.mark.parametrize(
    ("status", "body", "kind", "retryable"),
    [
        (400, {"error": {"message": "x", "code": "context_length_exceeded"}}, "context_full", False),
        (400, {"type": "error", "error": {"message": "prompt is too long: 9 > 8"}}, "context_full", False),
        (413, {"error": {"type": "request_too_large", "message": "too large"}}, "context_full", False),
        (400, {"error": {"message": "no", "code": "content_filter"}}, "refused", False),
        (400, {"detail": "bad field"}, "bad_request", False),
        (400, [{"error": {"message": "bad field"}}], "bad_request", False),
        (402, {"error": {"message": "pay"}}, "auth", False),
        (408, "", "network", True),
        (409, "", "server", True),
        (429, {"error": {"message": "slow down", "type": "rate_limit_error"}}, "rate_limit", True),
        (429, {"error": {"message": "x", "code": "insufficient_quota"}}, "rate_limit", False),
        (500, "Internal Server Error", "server", True),
        (502, "<!DOCTYPE html><p>Bad gateway", "server", True),
        (503, {"error": {"message": "busy"}}, "overloaded", True),
        (529, {"error": {"type": "overloaded_error", "message": "Overloaded"}}, "overloaded", True),
        (418, "", "bad_request", False),
    ],
)  # fmt: skip
def test_status_and_body_become_a_kind(
    status: int, body: object, kind: str, retryable: bool
) -> None:
    failure = fail(status, body)
    assert (failure.kind, failure.retryable, failure.status) == (kind, retryable, status)
    assert failure.message
    assert "<" not in failure.message


@pytest.mark.parametrize(
    ("error", "kind", "retryable"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, "overloaded", True),
        ({"code": "server_is_overloaded", "message": "x"}, "overloaded", True),
        ({"code": "rate_limit_exceeded", "message": "x"}, "rate_limit", True),
        ({"code": 429, "message": "x"}, "rate_limit", True),
        ({"type": "api_error", "message": "Internal server error"}, "server", True),
        ({"type": "invalid_request_error", "message": "bad"}, "bad_request", False),
        ({"type": "authentication_error", "message": "bad"}, "auth", False),
        ({"code": "insufficient_quota", "message": "x"}, "server", False),
        ("plain words", "server", True),
        ({}, "server", True),
        (None, "server", True),
    ],
)
def test_error_event_becomes_a_kind(error: object, kind: str, retryable: bool) -> None:
    failure = event_failure(error, secret="")
    assert (failure.kind, failure.retryable) == (kind, retryable)
    assert failure.message


def test_whole_answer_in_place_of_a_stream_is_a_failure_that_stays() -> None:
    failure = unstreamed_failure("application/json", '{"choices": []}', secret=KEY)
    assert (failure.kind, failure.retryable) == ("server", False)
    page = unstreamed_failure("text/html", "<html>Log in</html>", secret=KEY)
    assert (page.kind, page.retryable) == ("server", True)
    assert "Log in" not in page.message


@given(st.text(), st.text(), st.integers(300, 599))
def test_no_body_makes_it_crash_or_tell_the_key(before: str, after: str, status: int) -> None:
    for body in (before + KEY + after, json.dumps({"error": {"message": before + KEY + after}})):
        assert KEY not in fail(status, body).message


def test_message_is_one_short_line() -> None:
    told = scrub("a\n\nb\t" + "x" * 9999, "")
    assert told.startswith("a b x")
    assert len(told) == 400
