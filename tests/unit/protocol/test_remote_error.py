from __future__ import annotations

import inspect

import pytest

from shard_jupyter import errors
from shard_jupyter.errors import (
    CommandError,
    FrameError,
    IllegalTransition,
    ShardError,
    TurnFailed,
    UserError,
    WriterBusy,
)
from shard_jupyter.protocol.decode_event import decode_reply
from shard_jupyter.protocol.envelope import Reply, error_reply, refusal_reply
from shard_jupyter.protocol.framing import decode_record, encode_record
from shard_jupyter.protocol.remote_error import error_from_wire
from shard_jupyter.types.refusals import Refusal

pytestmark = pytest.mark.proves("A02", "B02")

CLASSES = [
    kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, ShardError)
]
MADE_WITH_MORE = {
    TurnFailed: lambda: TurnFailed("It failed.", object(), code=TurnFailed.code, next_step="Do."),
    CommandError: lambda: CommandError("No.", code="rule", command_id="c1"),
    WriterBusy: lambda: WriterBusy("Taken.", owner="process 1"),
    IllegalTransition: lambda: IllegalTransition("turn", "ended", "Started", ("one", "two")),
}


def received(reply: Reply) -> ShardError:
    error = decode_reply(decode_record(encode_record(reply))).error
    assert error is not None
    return error_from_wire(error)


def sent(kind: type[ShardError]) -> ShardError:
    make = MADE_WITH_MORE.get(kind, lambda: kind("It failed.", next_step="Do this."))
    return make()


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_error_arrives_as_what_it_was(kind: type[ShardError]) -> None:
    error = sent(kind)
    arrived = received(error_reply("c1", error))
    assert type(arrived) is kind
    assert (arrived.code, arrived.message, arrived.next_step, str(arrived)) == (
        error.code,
        error.message,
        error.next_step,
        str(error),
    )


def test_no_two_classes_share_a_code() -> None:
    codes = [kind.code for kind in CLASSES]
    assert len(set(codes)) == len(codes)


@pytest.mark.parametrize(
    "code", ["json", "utf8", "unicode", "depth", "too_large", "number", "duplicate_key"]
)
def test_every_code_of_a_bad_frame_is_a_frame_error(code: str) -> None:
    arrived = received(error_reply(None, FrameError("bad", code=code)))
    assert (type(arrived), arrived.code) == (FrameError, code)


@pytest.mark.parametrize("code", ["schema", "unknown_type", "version", "direction", "rule"])
def test_every_code_of_a_bad_command_is_a_command_error(code: str) -> None:
    arrived = received(error_reply("c1", CommandError("bad", code=code)))
    assert (type(arrived), arrived.code) == (CommandError, code)


def test_a_refusal_is_for_whoever_called_and_says_what_to_do() -> None:
    refusal = Refusal(kind="needs_login", message="No key.", satisfy="Set OPENAI_API_KEY.")
    arrived = received(refusal_reply("c1", refusal))
    assert type(arrived) is UserError
    assert (arrived.code, arrived.next_step) == ("needs_login", "Set OPENAI_API_KEY.")


def test_a_code_of_a_newer_server_is_kept() -> None:
    arrived = received(error_reply("c1", ShardError("What?", code="brand_new", next_step="Ask.")))
    assert type(arrived) is ShardError
    assert (arrived.code, str(arrived)) == ("brand_new", "What? Ask.")
