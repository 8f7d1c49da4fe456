"""A call that was read from text is marked as such in every form, and no other is."""

from __future__ import annotations

import pytest

from shard_jupyter.surfaces.render_static.bundle import TRANSCRIPT_MIME, make_bundle
from shard_jupyter.surfaces.render_static.record.record_items import StepItem
from shard_jupyter.surfaces.render_static.turn_record import TurnRecord
from shard_jupyter.types.decisions import Allow, Deny
from tests.unit.surfaces.render_static.turn_builder import TurnBuilder

pytestmark = pytest.mark.proves("A08", "B12")
MARK = "recovered from text"
FORMS = ("text/plain", "text/markdown", "text/html")


def talk(*, recovered: bool, end: str = "") -> TurnBuilder:
    turn = TurnBuilder()
    turn.call("bash", command="wc -l log.txt", recovered=recovered)
    turn.ask("Allow wc -l log.txt?", recovered=recovered)
    if end == "allowed":
        turn.answer(Allow())
        turn.result(text="12 log.txt", exit_code=0)
        turn.finish("12 lines.")
    elif end == "denied":
        turn.answer(Deny(reason="A person said no.", by="person"))
        turn.result(text="Denied: A person said no.", status="denied")
        turn.finish("I may not.")
    return turn


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("end", ["", "allowed", "denied"])
def test_it_is_marked_in_every_form_and_a_real_call_in_none(end: str, deterministic: bool) -> None:
    marked = make_bundle(talk(recovered=True, end=end).record(deterministic=deterministic))
    plain = make_bundle(talk(recovered=False, end=end).record(deterministic=deterministic))
    for form in FORMS:
        assert MARK in marked[form], form
        assert MARK not in plain[form], form


@pytest.mark.parametrize("form", FORMS)
def test_the_question_is_marked_while_it_waits(form: str) -> None:
    told = make_bundle(talk(recovered=True).record())[form]
    assert f"Needs your answer: Allow wc -l log.txt? ({MARK})" in told.replace("\\", "")


def test_a_record_says_it_only_of_such_calls_and_reads_it_back() -> None:
    (kept,) = make_bundle(talk(recovered=True, end="allowed").record())[TRANSCRIPT_MIME]["items"]
    assert kept["recovered"] is True
    again = TurnRecord.model_validate({"agent": "a", "prompt": "", "deterministic": True,
                                       "items": [kept]})  # fmt: skip
    (item,) = again.items
    assert isinstance(item, StepItem)
    assert item.recovered
    (other,) = make_bundle(talk(recovered=False, end="allowed").record())[TRANSCRIPT_MIME]["items"]
    assert "recovered" not in other
