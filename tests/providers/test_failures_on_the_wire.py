"""What comes of each way in which a server, a network or a setting can fail."""

from __future__ import annotations

import socket

import anyio
import pytest

from shard_jupyter.contracts.provider import ProviderSettings
from tests.fakes.model_server import (
    FACTORIES,
    MODEL,
    PATHS,
    MockModel,
    answer_of,
    failure_of,
    request_of,
)

pytestmark = [pytest.mark.proves("A13"), pytest.mark.parametrize("protocol", PATHS)]
KEY = "sk-abcdefghijklmnopqrstuvwxyz0123456789"


@pytest.mark.parametrize(
    ("status", "kind", "retryable", "told"),
    [
        (400, "context_full", False, "maximum context length"),
        (401, "auth", False, "Incorrect API key provided"),
        (403, "auth", False, "mock: failed"),
        (404, "not_found", False, "does not exist"),
        (422, "bad_request", False, "mock: failed"),
        (500, "server", True, "mock: failed"),
        (504, "server", True, "mock: failed"),
    ],
)
async def test_status_becomes_a_kind(
    protocol: str, status: int, kind: str, retryable: bool, told: str, mock_model: MockModel
) -> None:
    provider = await mock_model.provider(protocol, api_key=KEY)
    with anyio.fail_after(30):
        failure = await failure_of(provider, request_of(f"go @@status {status} @@"))
    assert (failure.kind, failure.retryable, failure.status) == (kind, retryable, status)
    assert told in failure.message
    log = await mock_model.get("/__bodies")
    assert len(log) == 1, "the SDK must not retry by itself"
    await provider.aclose()


@pytest.mark.parametrize("status", [401, 500])
async def test_key_is_in_no_message_and_no_repr(
    protocol: str, status: int, mock_model: MockModel
) -> None:
    """The server echoes the key in its 401."""
    provider = await mock_model.provider(protocol, api_key=KEY)
    with anyio.fail_after(30):
        failure = await failure_of(provider, request_of(f"go @@status {status} @@"))
    seen = f"{failure!r} {failure.as_error()!r} {provider!r} {vars(provider)!r} {provider.route!r}"
    assert KEY not in seen
    assert KEY[5:] not in seen
    assert ("***" in failure.message) == (status == 401)
    await provider.aclose()


@pytest.mark.proves("H4d.41")
@pytest.mark.parametrize(
    ("wait", "seconds"), [("3", 3), ("59", 59), ("86400", 86400), ("date", 90), ("ms", 0.25)]
)
async def test_retry_after_is_read_whatever_its_form_and_length(
    protocol: str, wait: str, seconds: float, mock_model: MockModel
) -> None:
    provider = await mock_model.provider(protocol)
    with anyio.fail_after(30):
        failure = await failure_of(provider, request_of(f"go @@quirk status429 @@wait {wait} @@"))
    assert failure.kind == "rate_limit"
    assert failure.retry_after_seconds == pytest.approx(seconds, abs=1.5 if wait == "date" else 0)
    await provider.aclose()


@pytest.mark.proves("H2d.html_error")
async def test_web_page_is_not_shown(protocol: str, mock_model: MockModel) -> None:
    provider = await mock_model.provider(protocol)
    with anyio.fail_after(30):
        failure = await failure_of(provider, request_of("go @@quirk html_error @@"))
    assert failure.message == "HTTP 502, with a web page in place of an answer"
    assert failure.retryable
    await provider.aclose()


@pytest.mark.proves("H4d.39", "H2d.error_mid")
async def test_error_inside_a_200_fails_the_answer(protocol: str, mock_model: MockModel) -> None:
    provider = await mock_model.provider(protocol)
    with anyio.fail_after(30):
        failure = await failure_of(provider, request_of("go @@quirk error_mid @@"))
    assert (failure.kind, failure.retryable) == ("overloaded", True)
    assert "overloaded" in failure.message
    await provider.aclose()


async def test_nobody_listening_is_a_retryable_network_failure(protocol: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        base_url = f"http://127.0.0.1:{taken.getsockname()[1]}{PATHS[protocol]}"
        made = await anyio.to_thread.run_sync(
            FACTORIES[protocol].create, MODEL, ProviderSettings(base_url=base_url, api_key=KEY)
        )
        with anyio.fail_after(30):
            failure = await failure_of(made, request_of("hello"))
    assert (failure.kind, failure.retryable) == ("network", True)
    assert failure.message
    assert KEY not in failure.message
    await made.aclose()


async def test_proxy_never_sees_what_is_meant_for_this_machine(
    protocol: str, mock_model: MockModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    provider = await mock_model.provider(protocol)
    with anyio.fail_after(30):
        answered = await answer_of(provider, request_of("hello"))
    assert answered.stop_reason == "end"
    await provider.aclose()


async def test_redirect_is_not_followed(protocol: str, mock_model: MockModel) -> None:
    """A redirect could take the key and the conversation to another host."""
    provider = await mock_model.provider(protocol)
    with anyio.fail_after(30):
        failure = await failure_of(provider, request_of("go @@status 307 @@"))
        log = await mock_model.get("/__log")
    assert (failure.kind, failure.status) == ("bad_request", 307)
    assert "/__elsewhere" not in str(log)
    await provider.aclose()


async def test_part_of_an_answer_is_never_taken_for_all_of_it(
    protocol: str, mock_model: MockModel
) -> None:
    """Whether the stream ends in good order or not."""
    provider = await mock_model.provider(protocol)
    for quirk in ("end_early", "drop_mid"):
        with anyio.fail_after(30):
            failure = await failure_of(provider, request_of(f"go @@quirk {quirk} @@"))
        assert (failure.kind, failure.retryable) == ("cut", True)
    await provider.aclose()
