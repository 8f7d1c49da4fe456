from __future__ import annotations

import pytest
from pydantic import ValidationError

from shard_jupyter.errors import AgentBusy, CommandError, FrameError, UserError
from shard_jupyter.protocol.decode_event import decode_reply
from shard_jupyter.protocol.envelope import (
    EmptyResult,
    Reply,
    WireError,
    error_reply,
    ok_reply,
    refusal_reply,
)
from shard_jupyter.protocol.framing import decode_record, encode_record
from shard_jupyter.protocol.results import Aborted
from shard_jupyter.types.refusals import Refusal

pytestmark = pytest.mark.proves("A02")


def over_the_wire(reply: Reply) -> Reply:
    return decode_reply(decode_record(encode_record(reply)))


def test_ok_reply_carries_its_result_as_plain_data() -> None:
    reply = over_the_wire(ok_reply("c1", Aborted(interrupted=True)))
    assert (reply.re, reply.ok, reply.result, reply.error) == (
        "c1",
        True,
        {"interrupted": True},
        None,
    )


def test_an_error_of_what_is_missing_says_it_as_a_value_too() -> None:
    error = UserError("There is no key.", code="needs_login", next_step="Set OPENAI_API_KEY.")
    refusal = Refusal(kind="needs_login", message="There is no key.", satisfy="Set OPENAI_API_KEY.")
    reply = over_the_wire(error_reply("c1", error))
    assert reply == over_the_wire(refusal_reply("c1", refusal))
    assert reply.error is not None
    assert reply.error.refusal == refusal


@pytest.mark.parametrize("result", [None, EmptyResult()])
def test_ok_reply_always_has_a_result(result: EmptyResult | None) -> None:
    assert over_the_wire(ok_reply("c1", result)).result == {}


def test_error_reply_keeps_code_and_next_step_apart() -> None:
    error = AgentBusy("A turn runs.", next_step="Wait, or steer it.")
    reply = over_the_wire(error_reply("c1", error))
    assert reply.error == WireError(
        code="agent_busy", message="A turn runs.", next_step="Wait, or steer it."
    )


def test_error_for_unreadable_bytes_answers_no_command() -> None:
    reply = over_the_wire(error_reply(None, FrameError("no UTF-8", code="utf8")))
    assert (reply.re, reply.ok, reply.error and reply.error.code) == (None, False, "utf8")


def test_refusal_reaches_the_client_as_a_value() -> None:
    refusal = Refusal(kind="needs_login", message="No key is set.", satisfy="shard login openai")
    error = over_the_wire(refusal_reply("c1", refusal)).error
    assert error is not None
    assert (error.code, error.next_step, error.refusal) == (
        "needs_login",
        "shard login openai",
        refusal,
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"ok": True},
        {"ok": True, "result": {}, "error": {"code": "x", "message": "y"}},
        {"ok": False},
        {"ok": False, "result": {}},
        {"ok": 1, "result": {}},
    ],
)
def test_reply_that_is_neither_ok_nor_error_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(FrameError) as caught:
        decode_reply({"v": 1, "type": "reply", "re": "c1", **fields})
    assert caught.value.code == "schema"


def test_reply_to_an_id_that_is_none_cannot_be_made() -> None:
    with pytest.raises(ValidationError):
        error_reply("x" * 65, CommandError("no", code="schema"))
