"""Every line of the corpus of bad frames, by its id.

The lines with transport `session-file` are the session log's. Of the WebSocket lines the part
that needs no socket is here: size, UTF-8 and one record a frame, after fragments were joined and
compression undone. That a socket does join and does stop inflating is for its own tests.
"""

from __future__ import annotations

import resource
import tracemalloc
import zlib
from itertools import zip_longest

import pytest

from shard_jupyter.core.permissions.pending_requests import (
    Discarded,
    PendingRequests,
    RuleRefused,
)
from shard_jupyter.errors import FrameError
from shard_jupyter.protocol.agent_commands import PermissionResponse
from shard_jupyter.protocol.decode_command import decode_command
from shard_jupyter.protocol.envelope import MAX_WEBSOCKET_BYTES
from shard_jupyter.protocol.framing import FrameDecoder, close_code, decode_text_frame
from shard_jupyter.types.decisions import Rule
from shard_jupyter.types.events import PermissionRequest
from tests.protocol.bad_frames import (
    GOOD,
    Line,
    expected,
    feed_bytewise,
    generate,
    judge,
    payload,
    read_corpus,
    rechunk,
    same_refusal,
    select,
)

pytestmark = pytest.mark.proves("B03")

PERMISSION = ("fr072", "fr073", "fr076")
LINES = [line for line in select("jsonl", generated=False) if line["id"] not in PERMISSION]
HELD = 16 * 1024 * 1024


def by_id(line: Line) -> str:
    return f"{line['id']}-{line['name']}"


def check(line: Line, outcomes: list[str]) -> None:
    for outcome, wanted in zip_longest(outcomes, expected(line), fillvalue="nothing"):
        assert outcome == wanted or same_refusal(outcome, wanted), (outcomes, line["expect"])


@pytest.mark.proves(
    "fr001", "fr002", "fr003", "fr004", "fr006", "fr007", "fr008", "fr009", "fr010", "fr012",
    "fr013", "fr014", "fr015", "fr016", "fr017", "fr018", "fr019", "fr020", "fr022", "fr023",
    "fr024", "fr025", "fr026", "fr027", "fr028", "fr029", "fr031", "fr032", "fr033", "fr034",
    "fr036", "fr040", "fr041", "fr051", "fr052", "fr053", "fr054", "fr055", "fr056", "fr057",
    "fr058", "fr059", "fr061", "fr062", "fr063", "fr064", "fr066", "fr068", "fr069", "fr070",
    "fr074", "fr075", "fr077", "fr078", "fr079", "fr080",
)  # fmt: skip
@pytest.mark.parametrize("bytewise", [False, True], ids=["whole", "bytewise"])
@pytest.mark.parametrize("line", LINES, ids=by_id)
def test_line_ends_as_the_corpus_says(line: Line, bytewise: bool) -> None:
    data = payload(line)
    items = feed_bytewise(data) if bytewise else FrameDecoder().feed(data)
    check(line, [judge(line, item) for item in items])


@pytest.mark.parametrize("line", LINES, ids=by_id)
def test_connection_is_usable_after_any_line(line: Line) -> None:
    decoder = FrameDecoder()
    decoder.feed(payload(line))
    # The LF ends what the line left open, as UTF-16 leaves half a character.
    *_, last = decoder.feed(b"\n" + GOOD)
    assert judge(line, last) == "accept"


@pytest.mark.proves("fr003", "fr004")
def test_torn_record_waits_and_is_dropped_at_the_end() -> None:
    torn = next(payload(line) for line in LINES if line["id"] == "fr003")
    decoder = FrameDecoder()
    assert decoder.feed(torn) == []
    assert decoder.eof() == len(torn)
    assert len(decoder.feed(GOOD)) == 1, "nothing of it is joined to what comes later"
    decoder.feed(torn)
    (item,) = decoder.feed(b'id":"agent-1","text":"hi"}\n')
    assert isinstance(item, dict)


@pytest.mark.proves("fr079", "fr080")
@pytest.mark.parametrize("line", [line for line in LINES if line.get("direction") == "event"])
def test_hostile_text_of_an_event_is_data(line: Line) -> None:
    (record,) = FrameDecoder().feed(payload(line))
    text = str(record)
    assert "\\u202e" in repr(text) or "onerror" in text


GENERATED = {line["id"]: line for line in select("jsonl", generated=True)}


def traced_outcomes(line: Line) -> tuple[list[str], int]:
    """Outcomes, and the most memory that decoding took at a time, the input's pieces included."""
    tracemalloc.start()
    try:
        decoder = FrameDecoder()
        items = [item for piece in rechunk(generate(line)) for item in decoder.feed(piece)]
        items += decoder.feed(GOOD)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    *outcomes, after = [judge(line, item) for item in items]
    assert after == "accept", "the connection is usable afterwards"
    return outcomes, peak


@pytest.mark.proves("fr043", "fr046", "fr048", "fr050", "fr067")
@pytest.mark.parametrize("frame_id", ["fr043", "fr046", "fr048", "fr050", "fr067"])
def test_generated_line_is_refused_in_bounded_memory(frame_id: str) -> None:
    line = GENERATED[frame_id]
    outcomes, peak = traced_outcomes(line)
    check(line, outcomes)
    # What is held, the same as bytes and as text: the record itself, never what it would become.
    assert peak < 3 * HELD


@pytest.mark.proves("fr049")
@pytest.mark.timeout(120)
def test_million_records_pass_without_piling_up() -> None:
    line = GENERATED["fr049"]
    decoder = FrameDecoder()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    accepted = most = 0
    for piece in rechunk(generate(line)):
        items = decoder.feed(piece)
        most = max(most, len(items))
        accepted += sum(judge(line, item) == "accept" for item in items)
    assert accepted == 1_000_000
    assert most < 5_000, "what one read gives is bounded by the size of the read"
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 32 * 1024  # KiB on Linux; macOS counts bytes, and then this is not reached


def asked(agent_id: str, request_id: str) -> PermissionRequest:
    return PermissionRequest(
        agent_id=agent_id,
        request_id=request_id,
        call_id="call-1",
        tool="write",
        prompt="Write a?",
        arguments={},
        offered_rules=(Rule(effect="allow", tool="write", path="src/**"),),
    )


def read_response(frame_id: str) -> PermissionResponse:
    line = next(line for line in read_corpus() if line["id"] == frame_id)
    (record,) = FrameDecoder().feed(payload(line))
    assert isinstance(record, dict)
    command = decode_command(record)
    assert isinstance(command, PermissionResponse)
    return command


@pytest.mark.proves("fr072", "fr073")
@pytest.mark.parametrize("frame_id", ["fr072", "fr073"])
def test_foreign_answer_is_discarded_and_leaves_the_request_open(frame_id: str) -> None:
    requests = PendingRequests()
    requests.open(asked("agent-b", "req-of-agent-b"))
    said = read_response(frame_id)
    outcome = requests.answer(said.agent_id, said.request_id, said.decision, said.rule, "ada")
    assert outcome == Discarded(said.request_id)
    assert len(requests.pending("agent-b")) == 1


@pytest.mark.proves("fr076")
def test_rule_that_was_not_offered_is_an_error_with_the_id() -> None:
    requests = PendingRequests()
    requests.open(asked("a", "r"))
    said = read_response("fr076")
    outcome = requests.answer(said.agent_id, said.request_id, said.decision, said.rule, "ada")
    assert isinstance(outcome, RuleRefused)
    error = outcome.as_error(said.id)
    assert (error.code, error.command_id) == ("rule", "c1")
    assert len(requests.pending("a")) == 1


WEBSOCKET = {line["id"]: line for line in select("ws")}


def frame_error(data: bytes) -> FrameError:
    with pytest.raises(FrameError) as caught:
        decode_text_frame(data)
    return caught.value


@pytest.mark.proves("fr083")
def test_joined_fragments_are_one_record() -> None:
    data = payload(WEBSOCKET["fr083"])
    joined = b"".join((data[:20], data[20:]))
    assert judge(WEBSOCKET["fr083"], decode_text_frame(joined)) == "accept"


@pytest.mark.proves("fr084")
def test_invalid_utf8_closes_the_socket_with_1007() -> None:
    assert close_code(frame_error(payload(WEBSOCKET["fr084"]))) == 1007


@pytest.mark.proves("fr085")
def test_frame_of_64_mib_closes_the_socket_with_1009() -> None:
    data = b"".join(generate(WEBSOCKET["fr085"]))
    assert close_code(frame_error(data)) == 1009


@pytest.mark.proves("fr086")
def test_two_records_in_a_frame_are_refused_and_the_socket_stays() -> None:
    error = frame_error(payload(WEBSOCKET["fr086"]))
    assert (error.code, close_code(error)) == ("json", None)


@pytest.mark.proves("fr088")
def test_size_limit_counts_what_was_inflated() -> None:
    deflate = zlib.compressobj(wbits=-15)
    sent = b"".join(deflate.compress(piece) for piece in generate(WEBSOCKET["fr088"]))
    sent += deflate.flush()
    assert len(sent) < MAX_WEBSOCKET_BYTES, "on the wire it is small"
    inflated = zlib.decompressobj(wbits=-15).decompress(sent, MAX_WEBSOCKET_BYTES + 1)
    assert close_code(frame_error(inflated)) == 1009


def test_every_line_of_the_corpus_has_a_test_here_or_in_the_log() -> None:
    here = {line["id"] for line in LINES} | GENERATED.keys() | set(PERMISSION) | WEBSOCKET.keys()
    log = {line["id"] for line in read_corpus() if line["transport"] == "session-file"}
    assert here | log == {line["id"] for line in read_corpus()}
    assert not here & log
