"""The server's end: one reply a command, whatever the client does."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import pytest
from anyio import wait_all_tasks_blocked

from shard_jupyter.surfaces.transports import server_connection
from shard_jupyter.surfaces.transports.server_connection import (
    DELTA_DELAY_SECONDS,
    MAX_OPEN_COMMANDS,
    MAX_REPLY_BYTES,
    ServerConnection,
)
from shard_jupyter.types.events import MessageDelta
from tests.wire_rig import note, prompt, served

pytestmark = pytest.mark.proves("B02", "B04")


def delta(text: str, offset: int) -> MessageDelta:
    return MessageDelta(agent_id="agent-1", turn_id="t", item_id="i", offset=offset, text=text)


async def test_hello_is_answered_with_the_version_and_the_limits() -> None:
    async with served(greeted=False) as rig:
        reply = await rig.client.hello(role="observer")
        assert reply["ok"] is True
        assert reply["result"]["version"] == 1
        assert reply["result"]["store_id"] == "store-1"
        assert reply["result"]["limits"]["max_depth"] == 64
        assert (rig.connection.name, rig.connection.role) == ("test", "observer")


async def test_a_command_before_hello_is_refused_and_not_carried_out() -> None:
    async with served(greeted=False) as rig:
        await rig.client.send({"type": "agent.list", "id": "c1"})
        assert (await rig.client.reply_to("c1"))["error"]["code"] == "hello"
        assert rig.service.heard == []
        assert (await rig.client.hello())["ok"] is True
        await rig.client.send({"type": "agent.list", "id": "c2"})
        assert (await rig.client.reply_to("c2"))["ok"] is True


async def test_a_second_hello_is_refused_and_changes_nothing() -> None:
    async with served() as rig:
        reply = await rig.client.hello(client="another", role="observer")
        assert reply["error"]["code"] == "hello"
        assert (rig.connection.name, rig.connection.role) == ("test", "interactive")


async def test_a_version_that_is_not_spoken_is_refused_and_may_be_mended() -> None:
    async with served(greeted=False) as rig:
        refused = await rig.client.hello(min_version=7, max_version=9)
        assert refused["error"]["code"] == "version"
        assert (await rig.client.hello())["ok"] is True


@pytest.mark.parametrize(
    ("text", "code", "next_step"),
    [("busy", "agent_busy", "Wait."), ("refused", "rule", ""), ("crash", "bug", "")],
)
async def test_what_a_command_raises_is_its_error_reply(
    text: str, code: str, next_step: str
) -> None:
    told: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    async with served() as rig:
        await rig.client.prompt("c1", text)
        reply = await rig.client.reply_to("c1")
        assert (reply["ok"], reply["result"]) == (False, None)
        assert (reply["error"]["code"], reply["error"]["next_step"]) == (code, next_step)
        await rig.client.prompt("c2", "go on")
        assert (await rig.client.reply_to("c2"))["ok"] is True
    assert [type(one["exception"]) for one in told] == [ZeroDivisionError] * (text == "crash")


async def test_a_result_that_no_record_can_hold_is_an_error_reply() -> None:
    async with served() as rig:
        await rig.client.prompt("c1", "huge")
        assert (await rig.client.reply_to("c1"))["error"]["code"] == "too_large"


async def test_a_bad_record_gives_one_error_without_an_id_and_the_next_one_is_read() -> None:
    async with served() as rig:
        await rig.client.send_bytes(b'{"v":1,}\n\xff\n[]\n')
        codes = [(await rig.client.read())["error"]["code"] for _ in range(3)]
        assert codes == ["json", "utf8", "schema"]
        await rig.client.prompt("c1", "go on")
        assert (await rig.client.read())["re"] == "c1"


async def test_commands_that_wait_hold_up_no_others() -> None:
    async with served() as rig:
        await rig.client.send(prompt("c1", "wait"), prompt("c2", "wait"), prompt("c3", "go on"))
        assert (await rig.client.read())["re"] == "c3"
        await rig.client.send({"type": "abort", "id": "c4", "agent_id": "agent-1"})
        later = {(await rig.client.read())["re"] for _ in range(3)}
        assert later == {"c1", "c2", "c4"}


async def test_commands_are_begun_in_the_order_in_which_they_came() -> None:
    async with served() as rig:
        await rig.client.send(*(prompt(f"c{number}", "wait") for number in range(50)))
        await rig.client.prompt("last", "go on")
        await rig.client.reply_to("last")
        heard = [command.id for command in rig.service.heard]
        assert heard == [*(f"c{number}" for number in range(50)), "last"]


async def test_too_many_open_commands_are_refused_and_the_others_wait_on() -> None:
    async with served() as rig:
        await rig.client.send(*(prompt(f"c{n}", "wait") for n in range(MAX_OPEN_COMMANDS + 1)))
        reply = await rig.client.read()
        assert (reply["re"], reply["error"]["code"]) == (f"c{MAX_OPEN_COMMANDS}", "too_many")
        rig.service.release.set()
        assert {(await rig.client.read())["ok"] for _ in range(MAX_OPEN_COMMANDS)} == {True}


async def test_ten_thousand_commands_in_a_row_are_all_answered() -> None:
    async with served() as rig, anyio.create_task_group() as tasks:

        async def flood() -> None:
            for start in range(0, 10_000, 500):
                records = (prompt(f"c{n}", "go on") for n in range(start, start + 500))
                await rig.client.send(*records)

        tasks.start_soon(flood)
        replies = [(await rig.client.read())["re"] for _ in range(10_000)]
        assert replies == [f"c{number}" for number in range(10_000)]


async def test_what_follows_a_reply_comes_after_it() -> None:
    async with served() as rig:
        await rig.client.send({"type": "subscribe", "id": "c1", "agent_id": "agent-1"})
        assert (await rig.client.read())["re"] == "c1"
        assert (await rig.client.read())["message"] == "held"


async def test_many_small_deltas_are_written_in_one_go() -> None:
    async with served() as rig:
        for number in range(1000):
            rig.connection.send(delta("x", number))
        record = await rig.client.read()
        assert (record["text"], record["offset"]) == ("x" * 1000, 0)


class CountedStream:
    """Passes on what is written and counts how often."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.sends = 0

    async def send(self, data: bytes) -> None:
        self.sends += 1
        await self._stream.send(data)

    async def aclose(self) -> None:
        await self._stream.aclose()


async def test_deltas_that_never_stop_are_written_in_pieces_all_the_while() -> None:
    """Neither one by one, nor only at their end."""
    async with served() as rig, anyio.create_task_group() as tasks:
        stream = rig.connection._stream = CountedStream(rig.connection._stream)  # type: ignore[assignment]
        said = 0

        async def talk() -> None:
            nonlocal said
            while True:
                rig.connection.send(delta("x", said))
                said += 1
                await anyio.lowlevel.checkpoint()

        tasks.start_soon(talk)
        started, chars = anyio.current_time(), 0
        for _ in range(20):
            record = await rig.client.read()
            assert record["offset"] == chars
            chars += len(record["text"])
            assert said - chars < 20_000, "it does not lag behind"
        assert stream.sends <= (anyio.current_time() - started) / DELTA_DELAY_SECONDS + 2
        tasks.cancel_scope.cancel()


async def test_a_durable_event_takes_the_deltas_before_it_along() -> None:
    async with served() as rig:
        rig.connection.send(delta("a", 0))
        rig.connection.send(note("b"))
        assert [(await rig.client.read())["type"] for _ in range(2)] == ["message_delta", "notice"]


async def test_a_client_that_does_not_read_loses_deltas_and_no_durable_event() -> None:
    async with served() as rig:
        for number in range(4000):
            rig.connection.send(delta("x" * 1000, number * 1000))
            rig.connection.send(note(str(number), number + 1))
        assert rig.connection.dropped > 0
        came = await rig.client.read_until(lambda record: record["seq"] == 4000)
        assert [one["seq"] for one in came if one["type"] == "notice"] == list(range(1, 4001))
        assert rig.connection.dropped == 4000 - sum(one["type"] != "notice" for one in came)


async def test_a_client_that_reads_no_replies_is_not_read_from() -> None:
    async with served() as rig, anyio.create_task_group() as tasks:
        body = "refused " + "x" * 1000

        async def flood() -> None:
            for number in range(60_000):
                await rig.client.prompt(f"c{number}", body)

        tasks.start_soon(flood)
        await wait_all_tasks_blocked()
        assert 0 < len(rig.service.heard) < 60_000
        waiting = rig.connection._outgoing.reply_bytes
        assert MAX_REPLY_BYTES < waiting < MAX_REPLY_BYTES + 300_000
        tasks.cancel_scope.cancel()


async def test_commands_of_a_client_that_goes_are_cancelled_and_it_is_forgotten() -> None:
    async with served() as rig:
        await rig.client.prompt("c1", "wait first")
        await rig.service.is_waiting.wait()
    assert rig.service.cancelled == ["first"]
    assert rig.service.gone == ["test"]


async def test_what_is_said_to_a_client_that_has_gone_is_said_to_nobody() -> None:
    async with served() as rig:
        await rig.client.aclose()
        await rig.ended.wait()
        rig.connection.send(note("late"))
        assert len(rig.connection._outgoing) == 0


async def test_nothing_piles_up_for_a_client_that_went_while_the_end_is_prepared() -> None:
    async def say(connection: ServerConnection) -> None:
        for number in range(100):
            connection.send(note("x" * 100_000, number + 1))
            await wait_all_tasks_blocked()
        assert len(connection._outgoing) == 0

    async with served(before_end=say) as rig:
        await rig.client.aclose()
        await rig.ended.wait()


async def test_a_client_that_ended_its_side_still_gets_what_is_said_at_the_end() -> None:
    async def say(connection: ServerConnection) -> None:
        await anyio.lowlevel.checkpoint()
        connection.send(note("last words"))

    async with served(before_end=say) as rig:
        await rig.client._stream.send_eof()
        assert [one["message"] for one in await rig.client.end_of_stream()] == ["last words"]


async def test_stop_ends_it_as_if_the_client_had_gone() -> None:
    async def say(connection: ServerConnection) -> None:
        connection.send(note("last words"))

    async with served(before_end=say) as rig:
        await rig.client.prompt("c1", "wait first")
        await rig.service.is_waiting.wait()
        rig.connection.stop()
        assert [one["message"] for one in await rig.client.end_of_stream()] == ["last words"]
        assert rig.service.cancelled == ["first"]


async def test_a_client_that_reads_nothing_does_not_hold_up_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_connection, "FLUSH_SECONDS", 0.2)
    async with served() as rig:
        for number in range(20_000):
            rig.connection.send(note("x" * 1000, number + 1))
        rig.connection.stop()
        with anyio.fail_after(5):
            await rig.ended.wait()
