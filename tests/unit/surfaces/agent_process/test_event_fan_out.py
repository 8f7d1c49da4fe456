from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from shard_jupyter.errors import ClientVisibleError
from shard_jupyter.protocol.handshake import Role
from shard_jupyter.surfaces.agent_process.event_fan_out import MAX_HELD, Cursor, EventFanOut
from shard_jupyter.types.events import Event, MessageDelta, Notice, StatusEvent, ToolProgress
from shard_jupyter.types.wire_model import Unknown

pytestmark = pytest.mark.proves("A16", "B04")
IDLE = StatusEvent(agent_id="a", status="idle")
DELTA = MessageDelta(agent_id="a", item_id="i", offset=0, text="x")
PROGRESS = ToolProgress(agent_id="a", call_id="c", text="x")


@dataclass(eq=False)
class KeepingClient:
    name: str = "test"
    role: Role = "interactive"
    came: list[Event | Unknown] = field(default_factory=list)

    def send(self, event: Event | Unknown) -> None:
        self.came.append(event)

    def seqs(self) -> list[int | None]:
        return [getattr(event, "seq", None) for event in self.came]


def notice(number: int) -> Notice:
    return Notice(agent_id="a", code="n", message=str(number))


def test_durable_events_are_numbered_across_agents_and_deltas_are_not() -> None:
    cursor, client = Cursor(), KeepingClient()
    agents = [EventFanOut(cursor), EventFanOut(cursor)]
    for agent in agents:
        agent.add(client)
    for event in (IDLE, DELTA, IDLE, PROGRESS):
        for agent in agents:
            agent.take(event)
    assert client.seqs() == [1, 2, None, None, 3, 4, None, None]
    assert cursor.newest == 4


def test_every_subscriber_gets_the_same_numbers() -> None:
    fan_out, clients = EventFanOut(Cursor()), [KeepingClient(), KeepingClient()]
    for client in clients:
        fan_out.add(client)
    fan_out.take(IDLE)
    fan_out.take(IDLE)
    assert clients[0].came == clients[1].came
    assert len(fan_out) == 2


def test_a_client_may_do_without_deltas_and_may_change_its_mind() -> None:
    fan_out, client = EventFanOut(Cursor()), KeepingClient()
    fan_out.add(client, deltas=False)
    fan_out.take(DELTA)
    fan_out.take(IDLE)
    fan_out.add(client)
    fan_out.take(DELTA)
    assert [event.type for event in client.came] == ["status", "message_delta"]  # type: ignore[union-attr]
    assert len(fan_out) == 1


def test_a_client_that_was_removed_gets_nothing_more() -> None:
    fan_out, client = EventFanOut(Cursor()), KeepingClient()
    fan_out.add(client)
    fan_out.remove(client)
    fan_out.remove(client)
    fan_out.take(IDLE)
    assert client.came == []


def test_notices_of_the_opening_wait_for_the_first_listener_and_come_once() -> None:
    fan_out, first, second = EventFanOut(Cursor()), KeepingClient(), KeepingClient()
    fan_out.take(notice(1))
    fan_out.take(notice(2))
    fan_out.add(first)
    fan_out.release_held()
    fan_out.add(second)
    fan_out.release_held()
    fan_out.take(notice(3))
    assert [event.message for event in first.came] == ["1", "2", "3"]  # type: ignore[union-attr]
    assert first.seqs() == [1, 2, 3]
    assert second.seqs() == [3]


def test_what_nobody_ever_listens_to_does_not_pile_up() -> None:
    fan_out, client = EventFanOut(Cursor()), KeepingClient()
    for number in range(10 * MAX_HELD):
        fan_out.take(notice(number))
        fan_out.take(IDLE)
    fan_out.add(client)
    fan_out.release_held()
    assert len(client.came) == MAX_HELD


def test_an_event_of_a_newer_version_is_passed_on_as_it_is() -> None:
    fan_out, client = EventFanOut(Cursor()), KeepingClient()
    fan_out.add(client)
    new = Unknown(tag="new", raw={"type": "new", "agent_id": "a"})
    fan_out.take(new)
    assert client.came == [new]


@pytest.mark.parametrize(
    ("wanted", "is_refused"), [(None, False), (2, False), (9, False), (1, True)]
)
def test_a_cursor_is_refused_only_where_events_would_be_missed(
    wanted: int | None, is_refused: bool
) -> None:
    cursor = Cursor()
    cursor.stamp(IDLE)
    cursor.stamp(IDLE)
    if not is_refused:
        cursor.check(wanted)
        return
    with pytest.raises(ClientVisibleError) as caught:
        cursor.check(wanted)
    assert caught.value.code == "unsupported"


def test_the_role_of_an_attachment_wins_over_that_of_hello() -> None:
    fan_out, client = EventFanOut(Cursor()), KeepingClient()
    assert fan_out.may_answer(client)
    fan_out.add(client, role="observer")
    assert not fan_out.may_answer(client)
    fan_out.add(client)
    assert fan_out.may_answer(client)
    assert not fan_out.may_answer(KeepingClient(role="observer"))
