"""What a local server does wrong becomes a failure in words; what the person ends is ended at once."""

from __future__ import annotations

import asyncio
import gc
from contextlib import aclosing
from typing import Any

import anyio
import pytest
from dirty_equals import IsPartialDict

from shard_jupyter.contracts.provider import Answered, ProviderNotice
from shard_jupyter.errors import UserError
from tests.fakes.local_server import KEY, FakeServers, Reply, local_server, write_answer, write_call
from tests.local_asking import LARGE, ask, make_provider, provider_on, request, talking_to

pytestmark = pytest.mark.proves("C10", "A13")

OVERFLOWS: list[Any] = [
    {"error": {"code": 400, "message": "request (6001 tokens) exceeds the available context size (4096 tokens), try increasing it", "type": "exceed_context_size_error", "n_prompt_tokens": 6001, "n_ctx": 4096}},
    {"error": {"message": "This model's maximum context length is 4096 tokens, however you requested 6006 tokens", "type": "invalid_request_error", "code": "context_length_exceeded"}},
    {"error": {"message": "the request exceeds the available context size. try increasing the context size or enable context shift", "type": "server_error"}},
    {"error": "Requested tokens (5000) exceed context window of 4096"},
    {"error": {"message": "failed to find free space in the KV cache"}},
    {"error": {"message": "input is too large to process. increase the physical batch size"}},
    {"detail": "prompt is too long: 5000 tokens"},
]  # fmt: skip


@pytest.mark.proves("L6.12", "L5.overflow")
@pytest.mark.parametrize("status", [400, 500])
@pytest.mark.parametrize("body", OVERFLOWS)
@pytest.mark.parametrize("header", ["tiny", "large"])
async def test_an_overflow_is_known_by_any_wording(body: Any, status: int, header: str) -> None:
    fields = {"header": LARGE} if header == "large" else {}
    async with talking_to(Reply(status=status, body=body), **fields) as (_, provider):  # type: ignore[arg-type]
        failure = (await ask(provider, "Hi")).failure
    assert (failure.kind, failure.retryable) == ("context_full", False)
    assert "local_models.context_tokens" in failure.next_step


@pytest.mark.proves("L6.12")
async def test_an_overflow_is_known_by_its_counts() -> None:
    body = {"error": {"message": "too much", "n_prompt_tokens": 6001, "n_ctx": 4096}}
    async with talking_to(Reply(status=400, body=body)) as (_, provider):
        assert (await ask(provider, "Hi")).failure.kind == "context_full"


@pytest.mark.proves("L6.12")
@pytest.mark.parametrize("header", ["tiny", "large"])
async def test_an_overflow_in_the_middle_of_an_answer_is_one_too(header: str) -> None:
    reply = Reply(events=[{"error": {"message": "context shift is disabled", "code": 500}}])
    fields = {"header": LARGE} if header == "large" else {}
    async with talking_to(reply, **fields) as (_, provider):  # type: ignore[arg-type]
        assert (await ask(provider, "Hi")).failure.kind == "context_full"


@pytest.mark.proves("L6.12")
async def test_a_server_that_says_nothing_of_an_overflow_is_counted_for() -> None:
    """llama-cpp-python answers a prompt that is too long with an empty stream."""
    async with talking_to(dialect="llama-cpp-python") as (server, provider):
        server.count = 5_000
        failure = (await ask(provider, "Hi")).failure
    assert failure.kind == "context_full"
    assert "5000 tokens" in failure.message
    assert server.asked == []


@pytest.mark.proves("L5.limit")
async def test_a_call_that_the_context_cut_is_no_call() -> None:
    reply = Reply('{"tool": "bash", "args": {"command": "ls"', stop="limit", truncated=True)
    async with talking_to(reply) as (_, provider):
        failure = (await ask(provider, "Hi")).failure
    assert failure.message.endswith("it reached the end of its context.")


@pytest.mark.proves("L5.limit")
@pytest.mark.parametrize("dialect", ["llama-server", "llama-cpp-python"])
async def test_an_answer_that_the_context_cut_is_never_shown_as_finished(dialect: Any) -> None:
    reply = Reply('{"tool": "answer", "args": {"text": "one two thr', stop="limit", truncated=True)
    async with talking_to(reply, dialect=dialect) as (_, provider):
        heard = await ask(provider, "Hi")
    assert heard.text == heard.answer.message.text == "one two …"
    assert heard.answer.stop_reason == "length"


@pytest.mark.parametrize("dialect", ["llama-server", "llama-cpp-python"])
async def test_a_stream_without_its_end_is_cut(dialect: Any) -> None:
    reply = write_answer("one two three")
    reply.ends = False
    async with talking_to(reply, dialect=dialect) as (_, provider):
        failure = (await ask(provider, "Hi")).failure
    assert (failure.kind, failure.retryable) == ("cut", True)


async def test_an_empty_stream_is_cut() -> None:
    async with talking_to(Reply(events=[]), dialect="llama-cpp-python") as (_, provider):
        assert (await ask(provider, "Hi")).failure.kind == "cut"


@pytest.mark.parametrize("event", ['{"content": ', '{"content": NaN', "[" * 5_000, "\x00"])
async def test_bytes_that_are_no_events_are_a_fault_of_the_server(event: str) -> None:
    async with talking_to(Reply(events=[event])) as (_, provider):
        assert (await ask(provider, "Hi")).failure.kind == "server"


@pytest.mark.parametrize(
    "event",
    [[1], {"content": 3}, {"choices": [3]}, {"choices": []}, {"stop": "yes"}, {"content": None}],
)
async def test_odd_events_are_passed_over(event: Any) -> None:
    last = {
        "content": '{"tool": "answer", "args": {"text": "x"}}',
        "stop": True,
        "stop_type": "eos",
    }
    async with talking_to(Reply(events=[event, last])) as (_, provider):
        assert (await ask(provider, "Hi")).text == "x"


@pytest.mark.parametrize("status", [400, 401, 404, 500, 503])
async def test_a_refusal_is_never_one_of_the_network_or_of_a_login(status: int) -> None:
    body = {"error": {"message": f"no {KEY}", "code": status}}
    async with talking_to(Reply(status=status, body=body)) as (_, provider):
        failure = (await ask(provider, "Hi")).failure
    assert failure.kind == ("bad_request" if status == 400 else "server")
    assert failure.message == "The local server: no ***"


async def test_a_server_that_died_is_started_anew_once() -> None:
    async with local_server(write_answer("Back.")) as living, local_server() as gone:
        dead = gone.running(base_url="http://127.0.0.1:9")
        servers = FakeServers([dead, dead, dead, living.running()])
        provider = await make_provider(servers)
        first, second = await ask(provider, "Hi"), await ask(provider, "Hi")
        third, fourth = await ask(provider, "Hi"), await ask(provider, "Hi")
        await provider.aclose()
    assert (first.failure.kind, first.failure.retryable) == ("server", True)
    assert first.failure.retry_after_seconds == 0.0
    assert (second.failure.kind, second.failure.retryable) == ("server", False)
    assert "started anew once" in second.failure.next_step
    assert third.failure.retryable is False, "nothing has worked since"
    assert fourth.text == "Back."
    assert [lease.released for lease in servers.leases] == [1, 1, 1, 1]


async def test_after_an_answer_a_death_may_be_mended_again() -> None:
    async with local_server(write_answer("One."), write_answer("Two.")) as living:
        dead = living.running(base_url="http://127.0.0.1:9")
        servers = FakeServers([dead, living.running(), dead, living.running()])
        provider = await make_provider(servers)
        assert (await ask(provider, "Hi")).failure.retryable
        assert (await ask(provider, "Hi")).text == "One."
        servers.leases[-1].is_alive = False
        assert (await ask(provider, "Hi")).failure.retryable
        assert (await ask(provider, "Hi")).text == "Two."
        await provider.aclose()


async def test_a_server_found_dead_is_replaced_before_it_is_asked() -> None:
    async with local_server(write_answer("One."), write_answer("Two.")) as server:
        servers = FakeServers([server.running()])
        provider = await make_provider(servers)
        await ask(provider, "Hi")
        servers.leases[0].is_alive = False
        assert (await ask(provider, "Hi")).text == "Two."
        await provider.aclose()
    assert [lease.released for lease in servers.leases] == [1, 1]


async def test_a_server_that_cannot_start_says_why() -> None:
    no_engine = UserError("There is no engine.", code="needs_install", next_step="pip install it")
    provider = await make_provider(FakeServers([], refuses=no_engine))
    failure = (await ask(provider, "Hi")).failure
    await provider.aclose()
    assert (failure.kind, failure.message) == ("server", "There is no engine.")
    assert (failure.next_step, failure.retryable) == ("pip install it", False)


async def test_nothing_is_started_before_the_first_request_and_told_of_then() -> None:
    async with local_server(write_answer("x"), write_answer("y")) as server:
        servers = FakeServers([server.running()], says=("Loading M …", "Ready."))
        provider = await make_provider(servers)
        assert servers.specs == []
        first, second = await ask(provider, "Hi"), await ask(provider, "Hi")
        await provider.aclose()
        await provider.aclose()
    told = [ProviderNotice(code="model_loading", message=m) for m in ("Loading M …", "Ready.")]
    assert first.events[:2] == told
    assert second.notices == []
    assert [lease.released for lease in servers.leases] == [1]


async def test_two_first_requests_at_once_take_one_lease() -> None:
    async with local_server(write_answer("x"), write_answer("x")) as server:
        servers = FakeServers([server.running()])
        provider = await make_provider(servers)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, provider, "Hi")
            tasks.start_soon(ask, provider, "Ho")
        await provider.aclose()
    assert len(servers.leases) == 1


async def test_cancelling_while_the_model_loads_gives_up_the_wait() -> None:
    servers = FakeServers([], waits=asyncio.Event())
    provider = await make_provider(servers)
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, provider, "Hi")
            await servers.is_waiting.wait()
            tasks.cancel_scope.cancel()
    await provider.aclose()
    assert servers.given_up == 1


async def test_closing_while_the_model_loads_gives_up_the_wait() -> None:
    servers = FakeServers([], waits=asyncio.Event(), says=("Loading",))
    provider = await make_provider(servers)
    with anyio.fail_after(10):
        async with aclosing(provider.stream(request("Hi"))) as events:
            assert (await anext(events)).kind == "notice"
    await provider.aclose()
    assert servers.given_up == 1 or servers.leases == []


@pytest.mark.parametrize("header", ["tiny", "large"])
@pytest.mark.parametrize("how", ["cancel", "close"])
async def test_a_stopped_request_hangs_up_at_once(how: str, header: str) -> None:
    """The server stops writing when the connection is gone."""
    reply = write_answer("one two three") if header == "tiny" else Reply("one two three")
    reply.hangs = True
    fields = {"header": LARGE} if header == "large" else {}
    with anyio.fail_after(10):
        async with talking_to(reply, **fields) as (server, provider):  # type: ignore[arg-type]
            began = anyio.Event()

            async def listen() -> None:
                async with aclosing(provider.stream(request("Hi"))) as events:
                    async for _ in events:
                        began.set()
                        if how == "close":
                            return

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(listen)
                await began.wait()
                if how == "cancel":
                    tasks.cancel_scope.cancel()
            await server.hung_up.wait()


@pytest.mark.proves("L6.5")
@pytest.mark.parametrize("header", ["tiny", "large"])
async def test_a_call_that_comes_all_at_once_after_a_long_time_is_taken(header: str) -> None:
    """Any byte counts as life: progress on a long prompt does, not only pieces of a call."""
    pace = {"pace_seconds": 0.15}
    progress = [
        {"content": "", "stop": False, "choices": [], "prompt_progress": {"processed": number}}
        for number in range(8)
    ]
    call = '{"tool": "read", "args": {"path": "a"}}'
    whole: Any = {"content": call, "stop": True, "stop_type": "eos"}
    fields: Any = {}
    if header == "large":
        fields["header"] = LARGE
        function = {"name": "read", "arguments": '{"path": "a"}'}
        delta = {"tool_calls": [{"index": 0, "id": "x", "function": function}]}
        whole = {"choices": [{"index": 0, "delta": delta, "finish_reason": "tool_calls"}]}
    reply = Reply(events=[*progress, whole, "[DONE]"], **pace)
    with anyio.fail_after(20):
        async with talking_to(reply, timeout_seconds=0.5, **fields) as (_, provider):
            (made,) = (await ask(provider, "Read a")).calls
    assert made.arguments == {"path": "a"}


@pytest.mark.proves("L6.5")
async def test_a_server_that_is_silent_is_given_up() -> None:
    progress = [
        {"content": "", "stop": False, "prompt_progress": {"total": 9, "processed": n}}
        for n in range(9)
    ]
    silent = Reply(events=progress, hangs=True)
    with anyio.fail_after(20):
        async with talking_to(silent, timeout_seconds=0.3) as (server, provider):
            heard = await ask(provider, "Hi")
    assert heard.failure.kind == "server"
    assert "silent for 0.3 s" in heard.failure.message
    assert server.asked[0]["return_progress"] is True


async def test_the_key_is_nowhere_to_be_read() -> None:
    async with talking_to(write_answer("x")) as (server, provider):
        await ask(provider, "Hi")
        texts = [repr(provider), str(provider), repr(server.running()), repr(provider.route)]
        texts += [repr(value) for value in vars(provider).values()]
    assert not [text for text in texts if KEY in text]


@pytest.mark.filterwarnings("error")
async def test_an_abandoned_request_leaves_nothing_open() -> None:
    async with talking_to(write_call("read", path="a"), write_answer("x")) as (_, provider):
        async with aclosing(provider.stream(request("Hi"))) as events:
            await anext(events)
        assert isinstance((await ask(provider, "Hi")).last, Answered)
    gc.collect()


async def test_a_request_after_the_end_of_the_provider_fails_in_words() -> None:
    async with local_server() as server, provider_on(server) as provider:
        await provider.aclose()
        heard = await ask(provider, "Hi")
    assert heard.failure.model_dump() == IsPartialDict(kind="server")
