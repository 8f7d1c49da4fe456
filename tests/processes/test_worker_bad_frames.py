"""Every line of the corpus of bad frames against a real worker: one error each, then all is well."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from tests.processes.raw_worker import Flood, RawWorker, Record, raw_worker
from tests.protocol.bad_frames import (
    Line,
    expected,
    generate,
    payload,
    read_corpus,
    rechunk,
    same_refusal,
    select,
)

pytestmark = pytest.mark.proves("B02", "B03")
NO_SUCH_AGENT = "agent_closed"
WHOLE = [line for line in select("jsonl", generated=False) if payload(line).endswith(b"\n")]
TORN = [line for line in select("jsonl", generated=False) if not payload(line).endswith(b"\n")]
GENERATED = {line["id"]: line for line in select("jsonl", generated=True)}
ANSWERS = ("fr072", "fr073", "fr076")


def by_id(line: Line) -> str:
    return f"{line['id']}-{line['name']}"


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RawWorker]:
    with raw_worker(tmp_path_factory.mktemp("raw")) as made:
        yield made


def outcome_of(reply: Record) -> str:
    assert reply["type"] == "reply"
    code = reply["error"]["code"] if reply["error"] else ""
    # A good command to an agent that is not there was understood.
    return "accept" if code in ("", NO_SUCH_AGENT) else f"error:{code}"


def check(line: Line, replies: list[Record]) -> None:
    wanted = expected(line)
    if line.get("direction") == "event":  # good, but not from a client
        wanted = ["error:direction"] * len(wanted)
    outcomes = [outcome_of(reply) for reply in replies]
    assert len(outcomes) == len(wanted), (outcomes, wanted)
    for outcome, want in zip(outcomes, wanted, strict=True):
        assert outcome == want or same_refusal(outcome, want), (outcomes, wanted)


def after(worker: RawWorker, line: Line) -> list[Record]:
    """The replies to a line: all that comes before the reply to a good command after it."""
    command_id = f"after-{line['id']}"
    return worker.ask(command_id, type="agent.list")


@pytest.mark.parametrize("line", [line for line in WHOLE if line["id"] not in ANSWERS], ids=by_id)
def test_a_line_gives_its_replies_and_the_connection_goes_on(worker: RawWorker, line: Line) -> None:
    worker.send(payload(line))
    check(line, after(worker, line))


@pytest.mark.parametrize("line", TORN, ids=by_id)
def test_a_torn_line_is_never_acted_on(worker: RawWorker, line: Line) -> None:
    worker.send(payload(line) + b"\n")
    replies = after(worker, line)
    # Of UTF-16 and UTF-32 half a character is left behind the line end, and is refused too.
    assert len(replies) == (2 if line["name"].startswith("utf") else 1)
    assert "accept" not in map(outcome_of, replies)


@pytest.mark.parametrize("frame_id", ["fr043", "fr046", "fr048", "fr050", "fr067"])
def test_a_generated_line_is_refused_in_bounded_memory(worker: RawWorker, frame_id: str) -> None:
    line = GENERATED[frame_id]
    before = worker.memory()
    worker.send(rechunk(generate(line)))
    check(line, after(worker, line))
    assert worker.memory() - before < 96 << 20


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_million_records_are_answered_without_piling_up(worker: RawWorker) -> None:
    before = worker.memory()
    with Flood(worker, rechunk(generate(GENERATED["fr049"]))):
        for _ in range(1_000_000):
            assert worker.read()["error"]["code"] == NO_SUCH_AGENT
    assert after(worker, GENERATED["fr049"]) == []
    assert worker.memory() - before < 64 << 20


@pytest.mark.parametrize("frame_id", ANSWERS)
def test_an_answer_to_no_request_of_the_agent_changes_nothing(
    worker: RawWorker, tmp_path: Path, frame_id: str
) -> None:
    make = {"type": "agent.create", "cwd": str(tmp_path), "model": "openai:mock"}
    environment = {"SHARD_HOME": str(tmp_path), "HOME": str(tmp_path), "OPENAI_API_KEY": "key"}
    worker.say(id="make", environment=environment, **make)
    made = worker.read()
    assert made["ok"] is True, made
    agent_id = made["result"]["id"]
    line = next(line for line in read_corpus() if line["id"] == frame_id)
    record = json.loads(payload(line)) | {"agent_id": agent_id}
    worker.send(json.dumps(record).encode() + b"\n")
    (reply,) = after(worker, line)
    assert reply["result"] == {"accepted": False}
    worker.ask("kill", type="agent.kill", agent_id=agent_id)


def test_every_line_at_once_gives_one_reply_for_each(worker: RawWorker) -> None:
    lines = [line for line in WHOLE if line["id"] not in ANSWERS]
    worker.send(chain.from_iterable(rechunk([payload(line)]) for line in lines))
    wanted = sum(len(expected(line)) for line in lines)
    assert len(after(worker, {"id": "all"})) == wanted


def test_a_worker_that_is_told_nothing_good_ends_with_its_client(tmp_path: Path) -> None:
    with raw_worker(tmp_path, hello=False) as worker:
        worker.send(b"\xff\xfe\x00 no protocol at all\n" * 100)
        codes = {worker.read()["error"]["code"] for _ in range(100)}
        assert codes == {"utf8"}


def test_half_a_record_at_the_end_is_not_acted_on(tmp_path: Path) -> None:
    with raw_worker(tmp_path) as worker:
        worker.send(b'{"v":1,"type":"daemon.shutdown","id":"c1"}')
