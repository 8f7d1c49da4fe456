"""The client's end: every request ends, every subscriber is told, from any thread."""

from __future__ import annotations

import os
import queue
import socket
import threading
from concurrent.futures import Future
from typing import Any

import pytest

from shard_jupyter.errors import (
    AgentBusy,
    AgentClosed,
    Bug,
    CommandError,
    FrameError,
    ShardError,
)
from shard_jupyter.protocol.agent_commands import Abort, PermissionResponse, Prompt
from shard_jupyter.protocol.registry_commands import AgentCreate, AgentListCommand
from shard_jupyter.protocol.results import Aborted, AgentList, AnswerTaken, PromptAccepted
from shard_jupyter.surfaces.transports import outbox
from shard_jupyter.surfaces.transports.client_connection import ClientConnection
from shard_jupyter.types.agents import AgentInfo
from shard_jupyter.types.wire_model import Unknown
from tests.raw_server import PATIENCE_SECONDS, Heard, RawServer, connected

pytestmark = pytest.mark.proves("B02")
WAIT = PATIENCE_SECONDS


def error_of(future: Future[Any]) -> ShardError:
    error = future.exception(WAIT)
    assert isinstance(error, ShardError), error
    return error


def ask(connection: ClientConnection) -> Future[AgentList]:
    return connection.request(AgentListCommand, AgentList)


def send_much(connection: ClientConnection) -> Future[PromptAccepted]:
    """More than a socket takes at once."""
    return connection.request(Prompt, PromptAccepted, agent_id="a", text="x" * 8_000_000)


def subscribe(connection: ClientConnection, server: RawServer, heard: Heard) -> Any:
    unsubscribe = connection.subscribe("agent-1", heard.on_event, heard.on_lost)
    server.reply(server.read(), {"cursor": 0})
    return unsubscribe


class TestHello:
    def test_a_server_that_says_nothing_is_given_up(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs, pytest.raises(AgentClosed, match="gave no answer") as caught:
            ClientConnection.open(ours, client="test", timeout_seconds=0.1)
        assert caught.value.code == "no_answer"
        assert ours.fileno() == -1

    def test_a_server_that_goes_at_once_is_told_of_at_once(self) -> None:
        ours, theirs = socket.socketpair()
        theirs.close()
        with pytest.raises(AgentClosed, match="process ended"):
            ClientConnection.open(ours, client="test", timeout_seconds=WAIT)

    def test_a_version_that_is_not_spoken_is_told_as_that(self) -> None:
        ours, theirs = socket.socketpair()
        server = RawServer(theirs)
        refusing = threading.Thread(
            target=lambda: server.refuse(server.read()["id"], "version", "not spoken")
        )
        refusing.start()
        with theirs, pytest.raises(CommandError, match="not spoken"):
            ClientConnection.open(ours, client="test", timeout_seconds=WAIT)
        refusing.join()


class TestRequests:
    def test_a_reply_completes_the_request_that_it_names(self) -> None:
        with connected() as (connection, server):
            first, second = ask(connection), ask(connection)
            one, two = server.read(), server.read()
            server.refuse(two["id"], "agent_busy")
            server.reply(one, {"agents": []})
            assert first.result(WAIT) == AgentList()
            assert type(error_of(second)) is AgentBusy
            assert error_of(second).next_step == "Do."

    def test_fields_that_are_no_command_fail_without_being_sent(self) -> None:
        with connected() as (connection, server):
            error = error_of(connection.request(Prompt, PromptAccepted, agent_id="a", text=""))
            assert (type(error), error.code) == (CommandError, "schema")
            assert "text" in error.message
            ask(connection)
            assert server.read()["type"] == "agent.list"

    def test_half_a_character_fails_without_being_sent(self) -> None:
        with connected() as (connection, _):
            half = {"agent_id": "a", "request_id": "r", "decision": "allow"}
            texts = connection.request(Prompt, PromptAccepted, agent_id="a", text="half \ud83d")
            deeper = connection.request(
                PermissionResponse, AnswerTaken, arguments={"text": "half \ud83d"}, **half
            )
            assert (type(error_of(texts)), error_of(texts).code) == (CommandError, "schema")
            assert (type(error_of(deeper)), error_of(deeper).code) == (FrameError, "unicode")

    def test_no_error_shows_what_was_in_the_environment(self) -> None:
        with connected() as (connection, _):
            secret = {"KEY": "hunter2", "bad": 7}
            asked = connection.request(AgentCreate, AgentInfo, cwd="/", environment=secret)
            error: BaseException | None = error_of(asked)
            while error is not None:
                assert "hunter2" not in repr(error) + str(error)
                error = error.__cause__ or error.__context__
        assert "hunter2" not in repr(AgentCreate(id="c", cwd="/", environment={"KEY": "hunter2"}))

    def test_a_result_of_another_shape_fails_the_request_and_no_other(self) -> None:
        with connected() as (connection, server):
            asked = connection.request(Abort, Aborted, agent_id="a")
            server.reply(server.read(), {"interrupted": "perhaps"})
            assert (type(error_of(asked)), error_of(asked).code) == (FrameError, "schema")
            assert connection.is_open

    def test_a_reply_to_nobody_is_ignored(self) -> None:
        with connected() as (connection, server):
            server.reply({"id": "stranger"}, {})
            asked = ask(connection)
            server.reply(server.read(), {"agents": []})
            assert asked.result(WAIT) == AgentList()

    @pytest.mark.parametrize("said", [b"{no json}\n", b'{"v":1,"type":"reply"}\n'])
    def test_a_server_that_cannot_be_understood_fails_what_is_open(self, said: bytes) -> None:
        with connected() as (connection, server):
            asked = ask(connection)
            server.read()
            server.sock.sendall(said)
            assert type(error_of(asked)) is FrameError
            assert "cannot be understood" in str(error_of(asked))
            assert not connection.is_open

    def test_an_error_that_names_no_request_leaves_nobody_waiting(self) -> None:
        with connected() as (connection, server):
            asked = ask(connection)
            server.read()
            server.refuse(None, "json")
            assert type(error_of(asked)) is FrameError

    def test_requests_of_many_threads_do_not_mix_their_bytes(self) -> None:
        with connected() as (connection, server):
            texts = [f"{number} " + "x" * 50_000 for number in range(40)]
            asked: list[Future[PromptAccepted]] = []
            threads = [
                threading.Thread(
                    target=lambda text=text: asked.append(
                        connection.request(Prompt, PromptAccepted, agent_id="a", text=text)
                    )
                )
                for text in texts
            ]
            for thread in threads:
                thread.start()
            came = []
            for _ in texts:
                command = server.read()
                came.append(command["text"])
                server.reply(command, {"turn_id": "t"})
            for thread in threads:
                thread.join(WAIT)
            assert sorted(came) == sorted(texts)
            assert {future.result(WAIT).turn_id for future in asked} == {"t"}

    def test_asking_never_waits_for_a_server_that_reads_later(self) -> None:
        with connected() as (connection, server):
            asked = [send_much(connection), ask(connection), send_much(connection)]
            for _ in asked:
                command = server.read()
                server.reply(command, {"turn_id": "t"} if command["type"] == "prompt" else {})
            assert [one.exception(WAIT) for one in asked] == [None] * 3

    def test_a_server_that_takes_nothing_counts_as_gone(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(outbox, "SEND_SECONDS", 0.1)
        with connected() as (connection, _):
            asked = send_much(connection)
            assert type(error_of(asked)) is AgentClosed
            assert not connection.is_open


class TestSubscribers:
    def test_events_come_in_order_to_whoever_asked_for_that_agent(self) -> None:
        with connected() as (connection, server):
            heard, other = Heard(), Heard()
            subscribe(connection, server, heard)
            connection.subscribe("agent-2", other.on_event, other.on_lost)
            assert server.read()["agent_id"] == "agent-2"
            for number in range(100):
                server.note(str(number))
            server.note("for the other", "agent-2")
            assert other.next().message == "for the other"
            assert [heard.next().message for _ in range(100)] == [str(n) for n in range(100)]
            assert heard.is_empty()

    def test_the_server_is_asked_once_for_each_agent(self) -> None:
        with connected() as (connection, server):
            first, second = Heard(), Heard()
            subscribe(connection, server, first)()
            connection.subscribe("agent-1", second.on_event, second.on_lost)
            ask(connection)
            assert server.read()["type"] == "agent.list"
            server.note("to the second")
            assert second.next().message == "to the second"
            assert first.is_empty()

    def test_an_event_of_a_newer_server_arrives_as_it_is(self) -> None:
        with connected() as (connection, server):
            heard = Heard()
            subscribe(connection, server, heard)
            server.say(type="brand_new", agent_id="agent-1", data=[1])
            event = heard.next()
            assert isinstance(event, Unknown)
            assert event.raw["data"] == [1]

    def test_an_agent_that_is_not_there_is_told_as_lost(self) -> None:
        with connected() as (connection, server):
            heard = Heard()
            connection.subscribe("agent-1", heard.on_event, heard.on_lost)
            server.refuse(server.read()["id"], "agent_closed")
            assert type(heard.next()) is AgentClosed
            assert connection.is_open

    def test_a_subscriber_that_raises_ends_alone(self) -> None:
        with connected() as (connection, server):
            heard, other = Heard(), Heard()

            def on_event(_: object) -> None:
                raise ZeroDivisionError("mine")

            connection.subscribe("agent-1", on_event, heard.on_lost)
            server.reply(server.read(), {"cursor": 0})
            connection.subscribe("agent-1", other.on_event, other.on_lost)
            server.note("one")
            server.note("two")
            fault = heard.next()
            assert isinstance(fault, Bug)
            assert isinstance(fault.__cause__, ZeroDivisionError)
            assert [other.next().message for _ in range(2)] == ["one", "two"]
            assert heard.is_empty()

    def test_a_subscriber_may_ask_from_within_its_call(self) -> None:
        with connected() as (connection, server):
            asked: queue.Queue[Future[AgentList]] = queue.Queue()
            heard = Heard()
            connection.subscribe("agent-1", lambda _: asked.put(ask(connection)), heard.on_lost)
            server.reply(server.read(), {"cursor": 0})
            server.note("go")
            server.reply(server.read(), {"agents": []})
            assert asked.get(timeout=WAIT).result(WAIT) == AgentList()


class TestEnd:
    def test_when_the_server_goes_every_request_and_subscriber_is_told_once(self) -> None:
        with connected() as (connection, server):
            heard, other = Heard(), Heard()
            subscribe(connection, server, heard)
            connection.subscribe("agent-2", other.on_event, other.on_lost)
            asked = [ask(connection) for _ in range(5)]
            server.sock.close()
            for error in [*map(error_of, asked), heard.next(), other.next()]:
                assert (type(error), error.code) == (AgentClosed, "process_ended")
                assert str(error) == (
                    "The agent process ended. Everything up to here is kept. Run the cell again."
                )
            assert not connection.is_open
            assert heard.is_empty()
            assert other.is_empty()

    def test_after_the_end_everything_fails_at_once(self) -> None:
        with connected() as (connection, server):
            server.sock.close()
            error_of(ask(connection))
            heard = Heard()
            assert error_of(ask(connection)).code == "process_ended"
            connection.subscribe("agent-1", heard.on_event, heard.on_lost)()
            assert heard.next().code == "process_ended"

    def test_closing_ends_what_is_open_and_is_not_called_a_loss(self) -> None:
        with connected() as (connection, server):
            heard = Heard()
            subscribe(connection, server, heard)
            asked = ask(connection)
            connection.close()
            connection.close()
            assert error_of(asked).code == heard.next().code == "agent_closed"
            assert server.is_at_end()

    def test_after_the_last_word_the_servers_words_still_arrive(self) -> None:
        with connected() as (connection, server):
            heard = Heard()
            subscribe(connection, server, heard)
            connection.end_sending()
            assert server.is_at_end()
            assert error_of(ask(connection)).code == "agent_closed"
            server.note("goodbye")
            assert heard.next().message == "goodbye"
            server.sock.close()
            assert heard.next().code == "agent_closed"

    def test_closing_from_within_a_call_does_not_wait_for_itself(self) -> None:
        with connected() as (connection, server):
            heard = Heard()
            connection.subscribe("agent-1", lambda _: connection.close(), heard.on_lost)
            server.reply(server.read(), {"cursor": 0})
            server.note("go")
            assert heard.next().code == "agent_closed"

    @pytest.mark.parametrize("way", ["closed here", "nonsense from there", "gone"])
    def test_what_was_not_sent_yet_ends_as_well(self, way: str) -> None:
        with connected() as (connection, server):
            asked = [send_much(connection) for _ in range(3)]
            if way == "closed here":
                connection.close()
            elif way == "gone":
                server.sock.close()
            else:
                server.sock.sendall(b"nonsense\n")
            wanted = {"closed here": "agent_closed", "gone": "process_ended"}.get(way, "json")
            assert [error_of(one).code for one in asked] == [wanted] * 3
            for thread in threading.enumerate():
                if thread.name.startswith("shard-client"):
                    thread.join(WAIT)
                    assert not thread.is_alive()


# Newer versions of Python warn of what the test is about.
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
class TestForkedCopy:
    def test_a_forked_copy_neither_uses_nor_ends_the_connection(self) -> None:
        with connected() as (connection, server):
            heard = Heard()
            subscribe(connection, server, heard)
            result, report = os.pipe()
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    os.write(report, use_as_a_copy(connection))
                    code = 0
                finally:
                    os._exit(code)
            os.close(report)
            with os.fdopen(result, "rb") as reader:
                assert reader.read() == b"closed agent_closed agent_closed"
            assert os.waitpid(child, 0)[1] == 0
            assert connection.is_open
            asked = ask(connection)
            command = server.read()
            assert command["type"] == "agent.list", "nothing of the copy was sent"
            server.reply(command, {"agents": []})
            assert asked.result(WAIT) == AgentList()
            server.note("still here")
            assert heard.next().message == "still here"

    def test_the_end_shows_although_a_forked_copy_lives_on(self) -> None:
        with connected() as (connection, server):
            gate, release = os.pipe()
            child = os.fork()
            if child == 0:
                os.close(release)
                os.read(gate, 1)
                os._exit(0)
            os.close(gate)
            connection.close()
            assert server.is_at_end()
            os.close(release)
            os.waitpid(child, 0)


def use_as_a_copy(connection: ClientConnection) -> bytes:
    heard = Heard()
    connection.subscribe("agent-1", heard.on_event, heard.on_lost)
    asked = error_of(ask(connection))
    connection.end_sending()
    connection.close()
    state = "open" if connection.is_open else "closed"
    return f"{state} {asked.code} {heard.next().code}".encode()
