"""Replies, events and the end in any order and in any pieces: everybody gets their own, once."""

from __future__ import annotations

import itertools
import socket
import threading
from concurrent.futures import Future
from typing import Any

import anyio
import pytest
from anyio.abc import UNIXSocketStream
from hypothesis import given, settings
from hypothesis import strategies as st

from shard_jupyter.errors import AgentBusy, AgentClosed, ShardError
from shard_jupyter.protocol.agent_commands import Prompt
from shard_jupyter.protocol.framing import encode_record
from shard_jupyter.protocol.results import PromptAccepted
from shard_jupyter.surfaces.transports.client_connection import ClientConnection
from shard_jupyter.surfaces.transports.server_connection import ServerConnection
from tests.raw_server import PATIENCE_SECONDS, Heard, RawServer, connected
from tests.wire_rig import PlayedService

pytestmark = pytest.mark.proves("B02", "B03")
AGENTS = ("agent-1", "agent-2")

STEPS = st.lists(
    st.one_of(
        st.just(("ask",)),
        st.tuples(st.just("reply"), st.integers(0, 9), st.booleans()),
        st.tuples(st.just("event"), st.sampled_from(AGENTS), st.text(max_size=3)),
        st.tuples(st.just("flush"), st.integers(1, 200)),
    ),
    max_size=40,
)


class Script:
    """Plays steps against a client and remembers what must come of each."""

    def __init__(self, connection: ClientConnection, server: RawServer) -> None:
        self._connection = connection
        self._server = server
        self._unsent = bytearray()
        self.open: list[tuple[str, Future[PromptAccepted]]] = []
        self.settled: list[tuple[Future[PromptAccepted], str | None]] = []
        self.said: dict[str, list[str]] = {agent: [] for agent in AGENTS}

    def play(self, step: tuple[Any, ...]) -> None:
        match step:
            case ("ask",):
                asked = self._connection.request(Prompt, PromptAccepted, agent_id="a", text="x")
                self.open.append((self._server.read()["id"], asked))
            case ("reply", number, ok) if self.open:
                command_id, asked = self.open.pop(number % len(self.open))
                self._say(reply(command_id, ok=ok))
                self.settled.append((asked, command_id if ok else None))
            case ("event", agent, text):
                self.said[agent].append(text)
                self._say({"type": "notice", "agent_id": agent, "code": "n", "message": text})
            case ("flush", size):
                self.flush(size)

    def _say(self, record: dict[str, Any]) -> None:
        self._unsent += encode_record({"v": 1, **record})

    def flush(self, size: int) -> None:
        for start in range(0, len(self._unsent), size):
            self._server.sock.sendall(self._unsent[start : start + size])
        self._unsent.clear()

    def check_settled(self) -> None:
        for asked, turn_id in self.settled:
            if turn_id is None:
                assert type(asked.exception(PATIENCE_SECONDS)) is AgentBusy
            else:
                assert asked.result(PATIENCE_SECONDS).turn_id == turn_id


def reply(command_id: str, *, ok: bool) -> dict[str, Any]:
    result = {"turn_id": command_id} if ok else None
    error = None if ok else {"code": "agent_busy", "message": "No."}
    return {"type": "reply", "re": command_id, "ok": ok, "result": result, "error": error}


@settings(max_examples=60, deadline=None)
@given(STEPS, st.integers(1, 500))
def test_each_request_and_each_subscriber_gets_its_own(steps: list, size: int) -> None:
    with connected() as (connection, server):
        heard = {agent: Heard() for agent in AGENTS}
        for agent, one in heard.items():
            connection.subscribe(agent, one.on_event, one.on_lost)
            server.reply(server.read(), {"cursor": 0})
        script = Script(connection, server)
        for step in steps:
            script.play(step)
        script.flush(size)
        script.check_settled()
        for agent, one in heard.items():
            texts = [one.next().message for _ in script.said[agent]]
            assert texts == script.said[agent]
        server.sock.close()
        for _, asked in script.open:
            error = asked.exception(PATIENCE_SECONDS)
            assert isinstance(error, ShardError)
            assert error.code == "process_ended"
        for one in heard.values():
            assert type(one.next()) is AgentClosed
            assert one.is_empty()


def test_many_threads_talk_to_a_real_server_at_once() -> None:
    ours, theirs = socket.socketpair()
    service = PlayedService()

    async def serve() -> None:
        stream = await UNIXSocketStream.from_socket(theirs)
        await ServerConnection(stream, service).run()

    serving = threading.Thread(target=anyio.run, args=(serve,))
    serving.start()
    connection = ClientConnection.open(ours, client="test", timeout_seconds=PATIENCE_SECONDS)
    heard = Heard()
    connection.subscribe("agent-1", heard.on_event, heard.on_lost)
    wrong: list[object] = []

    def talk(number: int) -> None:
        for turn in range(50):
            order = ("say 3", "busy", "go on")[(number + turn) % 3]
            asked = connection.request(Prompt, PromptAccepted, agent_id="agent-1", text=order)
            error = asked.exception(PATIENCE_SECONDS)
            if (type(error) is AgentBusy) != (order == "busy"):
                wrong.append((order, error))

    threads = [threading.Thread(target=talk, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    assert wrong == []
    assert heard.next().message == "held"
    said = [heard.next().message.split() for _ in range(3 * 100)]
    connection.close()
    serving.join(PATIENCE_SECONDS)
    assert not serving.is_alive()
    # What one command says comes in one piece, because nothing waits in between.
    for _, group in itertools.groupby(said, key=lambda words: words[0]):
        assert [number for _, number in group] == ["0", "1", "2"]
    assert service.gone == ["test"]
