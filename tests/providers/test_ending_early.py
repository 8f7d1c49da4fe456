"""A call that is given up closes its connection at once; a silent server is given up."""

from __future__ import annotations

from contextlib import aclosing

import anyio
import pytest

from shard_jupyter.contracts.provider import Provider
from tests.fakes.model_server import PATHS, MockModel, answer_of, failure_of, request_of

pytestmark = [pytest.mark.proves("A13"), pytest.mark.parametrize("protocol", PATHS)]
WHILE_SILENT = pytest.mark.parametrize("quirk", ["hang", "hang_start"])


async def ask_forever(provider: Provider, quirk: str) -> None:
    async with aclosing(provider.stream(request_of(f"go @@text 400 @@quirk {quirk} @@"))) as events:
        async for _ in events:
            pass
    raise AssertionError("the call ended by itself")


@WHILE_SILENT
async def test_cancelling_closes_the_connection_at_once(
    protocol: str, quirk: str, mock_model: MockModel
) -> None:
    provider = await mock_model.provider(protocol, timeout_seconds=600)
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask_forever, provider, quirk)
            await mock_model.get("/__hung")
            tasks.cancel_scope.cancel()
        await mock_model.get("/__dropped")
    await provider.aclose()


async def test_closing_the_iterator_closes_the_connection_at_once(
    protocol: str, mock_model: MockModel
) -> None:
    provider = await mock_model.provider(protocol, timeout_seconds=600)
    with anyio.fail_after(30):
        async with aclosing(provider.stream(request_of("go @@text 400 @@quirk hang @@"))) as events:
            async for event in events:
                if event.kind == "text":
                    break
            await mock_model.get("/__hung")
        await mock_model.get("/__dropped")
    await provider.aclose()


async def test_provider_answers_again_after_a_cancelled_call(
    protocol: str, mock_model: MockModel
) -> None:
    provider = await mock_model.provider(protocol, timeout_seconds=600)
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask_forever, provider, "hang")
            await mock_model.get("/__hung")
            tasks.cancel_scope.cancel()
        answered = await answer_of(provider, request_of("hello"))
    assert "Done." in answered.message.text
    await provider.aclose()


@pytest.mark.parametrize(("quirk", "kind"), [("hang", "cut"), ("hang_start", "network")])
async def test_silence_longer_than_the_timeout_is_a_retryable_failure(
    protocol: str, quirk: str, kind: str, mock_model: MockModel
) -> None:
    provider = await mock_model.provider(protocol, timeout_seconds=0.2)
    with anyio.fail_after(30):
        failure = await failure_of(provider, request_of(f"go @@text 400 @@quirk {quirk} @@"))
        await mock_model.get("/__dropped")
    assert (failure.kind, failure.retryable) == (kind, True)
    assert "0.2 s" in failure.message
    await provider.aclose()


async def test_slow_but_steady_answer_is_not_cut(protocol: str, mock_model: MockModel) -> None:
    """The limit is on silence, not on the length of an answer."""
    provider = await mock_model.provider(protocol, timeout_seconds=0.5)
    with anyio.fail_after(30):
        answered = await answer_of(provider, request_of("go @@text 80 @@chunk 4 @@delay 40 @@"))
    assert len(answered.message.text) == 80
    await provider.aclose()


async def test_connection_is_used_again(protocol: str, mock_model: MockModel) -> None:
    provider = await mock_model.provider(protocol)
    before = await mock_model.get("/__connections")
    with anyio.fail_after(30):
        for _ in range(3):
            await answer_of(provider, request_of("hello"))
    after = await mock_model.get("/__connections")
    assert after - before == 2, "one for the three answers, one for this question"
    await provider.aclose()
