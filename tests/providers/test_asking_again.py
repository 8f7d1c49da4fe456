"""One retry layer, ours, over a real server that fails."""

from __future__ import annotations

import anyio
import pytest

from shard_jupyter.contracts.provider import Answered, Failed, TextDelta
from shard_jupyter.core.providers.asking import Asked, Delta, Retry, ask_model
from shard_jupyter.core.providers.retry import RetryPolicy
from shard_jupyter.testing.fake_clock import FakeClock
from tests.fakes.model_server import PATHS, MockModel, request_of

pytestmark = [pytest.mark.proves("A13", "H4d.40"), pytest.mark.parametrize("protocol", PATHS)]


class Screen:
    """Shows deltas and takes them back, as a client does."""

    def __init__(self) -> None:
        self.shown: list[str] = []
        self.retries: list[Retry] = []

    def show(self, event: Delta) -> None:
        if isinstance(event, TextDelta):
            self.shown.append(event.text)

    def take_back(self, retry: Retry) -> None:
        self.retries.append(retry)
        self.shown.clear()


async def ask(
    mock_model: MockModel, protocol: str, prompt: str, clock: FakeClock
) -> tuple[Asked, Screen]:
    provider = await mock_model.provider(protocol)
    screen = Screen()
    with anyio.fail_after(30):
        asked = await ask_model(
            provider,
            request_of(prompt),
            policy=RetryPolicy(),
            clock=clock,
            on_event=screen.show,
            on_retry=screen.take_back,
        )
    await provider.aclose()
    return asked, screen


@pytest.mark.parametrize(
    "quirk", ["error_mid", "drop_mid", "end_early", "status529", "html_error", "json_200"]
)
async def test_failed_attempt_leaves_no_trace_in_the_answer(
    protocol: str, quirk: str, mock_model: MockModel
) -> None:
    clock = FakeClock(runs_ahead=True)
    asked, screen = await ask(mock_model, protocol, f"go @@text 90 @@quirk {quirk} @@", clock)
    assert isinstance(asked.outcome, Answered)
    assert "".join(screen.shown) == asked.outcome.message.text
    assert len(asked.outcome.message.text) == 90
    assert asked.attempts == 2
    assert [(retry.attempt, retry.delay_seconds) for retry in screen.retries] == [(1, 1.0)]
    assert clock.slept == [1.0]


@pytest.mark.proves("H4d.41", "H2d.status429")
@pytest.mark.parametrize(("wait", "seconds"), [("3", 3), ("59", 59), ("ms", 0.25)])
async def test_retry_after_is_obeyed(
    protocol: str, wait: str, seconds: float, mock_model: MockModel
) -> None:
    clock = FakeClock(runs_ahead=True)
    asked, _ = await ask(mock_model, protocol, f"go @@quirk status429 @@wait {wait} @@", clock)
    assert isinstance(asked.outcome, Answered)
    assert clock.slept == [seconds]


@pytest.mark.proves("H4d.41")
@pytest.mark.parametrize(
    ("wait", "told"), [("86400", "2030-01-02 00:00 UTC"), ("date", "2030-01-01 00:01 UTC")]
)
async def test_longer_wait_stops_and_says_until_when(
    protocol: str, wait: str, told: str, mock_model: MockModel
) -> None:
    clock = FakeClock(runs_ahead=True)
    asked, screen = await ask(mock_model, protocol, f"go @@quirk status429 @@wait {wait} @@", clock)
    assert isinstance(asked.outcome, Failed)
    assert asked.outcome.failure.kind == "rate_limit"
    assert asked.outcome.failure.message.endswith(told)
    assert f"{asked.resets_at:%Y-%m-%d %H:%M} UTC" == told
    assert (clock.slept, screen.retries, asked.attempts) == ([], [], 1)


async def test_wrong_key_is_not_tried_again(protocol: str, mock_model: MockModel) -> None:
    clock = FakeClock(runs_ahead=True)
    asked, _ = await ask(mock_model, protocol, "go @@status 401 @@", clock)
    assert isinstance(asked.outcome, Failed)
    assert (asked.attempts, clock.slept) == (1, [])


async def test_server_that_stays_down_is_given_up(protocol: str, mock_model: MockModel) -> None:
    clock = FakeClock(runs_ahead=True)
    asked, _ = await ask(mock_model, protocol, "go @@status 500 @@", clock)
    assert isinstance(asked.outcome, Failed)
    assert (asked.attempts, clock.slept) == (5, [1, 2, 4, 8])
