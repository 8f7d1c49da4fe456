"""What waits for a client: everything durable in order, deltas joined and bounded."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shard_jupyter.protocol.decode_event import decode_server_record
from shard_jupyter.protocol.envelope import Reply, ok_reply
from shard_jupyter.protocol.framing import FrameDecoder, encode_record
from shard_jupyter.surfaces.transports.outgoing import (
    MAX_DELTA_CHARS,
    MAX_DELTAS,
    MAX_JOINED_CHARS,
    OutgoingQueue,
)
from shard_jupyter.types.events import Event, MessageDelta, Notice, ToolProgress
from shard_jupyter.types.render_descriptors import TextDescriptor

pytestmark = pytest.mark.proves("A16", "B02")


def delta(text: str, offset: int, item: str = "i", **fields: object) -> MessageDelta:
    return MessageDelta(agent_id="a", turn_id="t", item_id=item, offset=offset, text=text, **fields)


def progress(text: str, **fields: object) -> ToolProgress:
    return ToolProgress(agent_id="a", turn_id="t", call_id="c", text=text, **fields)


def notice(number: int) -> Notice:
    return Notice(agent_id="a", code="n", message=str(number), seq=number)


def filled(*events: Event) -> OutgoingQueue:
    queue = OutgoingQueue()
    for event in events:
        queue.put_event(event)
    return queue


def read_all(queue: OutgoingQueue, max_bytes: int = 1 << 30) -> list[object]:
    decoder = FrameDecoder()
    items: list[object] = []
    while data := queue.take(max_bytes):
        items += [decode_server_record(record) for record in decoder.feed(data)]
    return items


def test_neighbouring_deltas_are_written_as_one() -> None:
    came = read_all(filled(delta("Grüße", 0), delta(" 世界", 5), delta("🙂", 8)))
    assert came == [delta("Grüße 世界🙂", 0)]


@pytest.mark.parametrize(
    "other",
    [
        delta("b", 2),
        delta("b", 0),
        delta("b", 1, "another"),
        delta("b", 1, channel="thinking"),
        delta("b", 1).model_copy(update={"turn_id": "u"}),
        delta("b", 1).model_copy(update={"agent_id": "b"}),
        delta("b", 1, channel="tool_call", call_id="c"),
        progress("b"),
        notice(1),
    ],
    ids=["gap", "again", "item", "channel", "turn", "agent", "call", "progress", "durable"],
)
def test_what_does_not_continue_a_delta_is_not_joined_to_it(other: Event) -> None:
    assert read_all(filled(delta("a", 0), other)) == [delta("a", 0), other]


def test_output_of_a_tool_is_joined_unless_it_is_drawn() -> None:
    drawn = progress("c", render=(TextDescriptor(text="c"),))
    came = read_all(filled(progress("a"), progress("b"), drawn, progress("d")))
    assert came == [progress("ab"), drawn, progress("d")]


def test_a_durable_event_keeps_its_place_between_deltas() -> None:
    came = read_all(filled(delta("a", 0), notice(1), delta("b", 1)))
    assert came == [delta("a", 0), notice(1), delta("b", 1)]


def test_a_joined_delta_stays_of_moderate_size() -> None:
    piece = "x" * 1000
    came = read_all(filled(*(delta(piece, number * 1000) for number in range(40))))
    assert all(len(one.text) <= MAX_JOINED_CHARS for one in came)
    assert "".join(one.text for one in came) == piece * 40


def test_past_the_limit_deltas_are_left_out_and_nothing_else() -> None:
    queue = OutgoingQueue()
    for number in range(3000):
        queue.put_event(delta("x" * 1000, number * 1000))
        queue.put_event(notice(number + 1))
    came = read_all(queue)
    assert [one for one in came if isinstance(one, Notice)] == [notice(n + 1) for n in range(3000)]
    chars = sum(len(one.text) for one in came if isinstance(one, MessageDelta))
    assert chars <= MAX_DELTA_CHARS
    assert queue.dropped == 3000 - chars // 1000


def test_many_tiny_deltas_of_many_agents_are_bounded_by_their_number() -> None:
    queue = OutgoingQueue()
    for number in range(3 * MAX_DELTAS):
        queue.put_event(delta("x", 0, f"item{number}"))
    assert len(queue) == MAX_DELTAS
    assert queue.dropped == 2 * MAX_DELTAS


def test_a_flood_of_deltas_takes_bounded_memory() -> None:
    queue = OutgoingQueue()
    tracemalloc.start()
    try:
        for number in range(50_000):
            queue.put_event(delta("x" * 100, number * 100))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert queue.dropped > 0
    assert peak < 4 * MAX_DELTA_CHARS


def test_after_the_queue_was_read_deltas_are_taken_again() -> None:
    queue = OutgoingQueue()
    for number in range(3000):
        queue.put_event(delta("x" * 1000, number * 1000))
    read_all(queue)
    dropped = queue.dropped
    queue.put_event(delta("new", 9_000_000))
    assert queue.dropped == dropped
    assert read_all(queue) == [delta("new", 9_000_000)]


def test_one_take_is_about_as_large_as_asked_for() -> None:
    queue = filled(*(notice(number) for number in range(1, 1001)))
    taken = queue.take(10_000)
    assert 10_000 <= len(taken) < 10_200
    assert taken.endswith(b"\n")


def test_replies_that_wait_are_counted_until_they_are_taken() -> None:
    queue = filled(notice(1))
    data = encode_record(ok_reply("c1"))
    queue.put_reply(data)
    queue.put_reply(data)
    assert queue.reply_bytes == 2 * len(data)
    assert [type(one) for one in read_all(queue)] == [Notice, Reply, Reply]
    assert queue.reply_bytes == 0


STREAMS = [("i", "text"), ("i", "thinking"), ("j", "text")]
STEPS = st.lists(
    st.tuples(st.sampled_from([*STREAMS, "durable", "reply", "take"]), st.text(max_size=5))
)


@settings(max_examples=200)
@given(STEPS, st.integers(1, 300))
def test_whatever_the_order_all_arrives_and_in_order(steps: list, max_bytes: int) -> None:
    queue, decoder = OutgoingQueue(), FrameDecoder()
    said: list[object] = []
    came: list[object] = []
    lengths = dict.fromkeys(STREAMS, 0)

    def take() -> None:
        came.extend(decode_server_record(one) for one in decoder.feed(queue.take(max_bytes)))

    for number, (step, text) in enumerate(steps, 1):
        if step == "take":
            take()
        elif step == "durable":
            said.append(notice(number))
            queue.put_event(notice(number))
        elif step == "reply":
            said.append(ok_reply(f"c{number}"))
            queue.put_reply(encode_record(ok_reply(f"c{number}")))
        else:
            item, channel = step
            made = delta(text, lengths[step], item, channel=channel)
            lengths[step] += len(text)
            said.append(made)
            queue.put_event(made)
    while len(queue):
        take()
    assert [one for one in came if not isinstance(one, MessageDelta)] == [
        one for one in said if not isinstance(one, MessageDelta)
    ]
    assert texts_of(came) == texts_of(said)


def texts_of(items: list[object]) -> dict[tuple[str, str], str]:
    """The text of each stream; every piece must stand where its offset says."""
    texts: dict[tuple[str, str], str] = {}
    for one in items:
        if isinstance(one, MessageDelta) and one.text:
            key = (one.item_id, one.channel)
            assert len(texts.get(key, "")) == one.offset
            texts[key] = texts.get(key, "") + one.text
    return texts
