"""Events become a record: what it has, in which order, and what it leaves out."""

from __future__ import annotations

import pytest
from dirty_equals import IsPartialDict

from shard_jupyter.surfaces.render_static.record.record_items import (
    ChangedFile,
    DeniedCall,
    NoticeItem,
    ProseItem,
    StepItem,
)
from shard_jupyter.surfaces.render_static.turn_record import TurnRecord, TurnRecorder
from shard_jupyter.types.content import TextBlock
from shard_jupyter.types.decisions import Allow, AllowAlways, Deny, Rule
from shard_jupyter.types.events import (
    CompactionEvent,
    FilesChanged,
    LimitReached,
    MessageComplete,
    MessageDiscarded,
    ModeChanged,
    ModelSwitched,
    Notice,
    RetryScheduled,
    SteerInjected,
    ToolCallEvent,
    ToolProgress,
    ToolResultEvent,
    TurnStart,
    UiRequest,
    UiResolved,
)
from shard_jupyter.types.render_descriptors import ProgressDescriptor, TextDescriptor
from shard_jupyter.types.turns import Denial, ErrorInfo
from shard_jupyter.types.usage import TokenUsage, UsageTotals
from tests.unit.surfaces.render_static.turn_builder import TurnBuilder, make_diff, make_edit_turn

pytestmark = pytest.mark.proves("A08", "D05")

OVERLOADED = ErrorInfo(code="overloaded", message="The server is overloaded")


def steps_of(record: TurnRecord) -> list[StepItem]:
    return [item for item in record.items if isinstance(item, StepItem)]


def notices_of(record: TurnRecord) -> list[str]:
    return [item.message for item in record.items if isinstance(item, NoticeItem)]


def test_items_stand_in_the_order_in_which_things_happened() -> None:
    record = make_edit_turn().record()
    told = [item.verb if isinstance(item, StepItem) else item.kind for item in record.items]
    assert told == ["prose", "Read", "Run", "prose", "Edit", "Write", "Run"]
    assert record.answer.startswith("It now comes")
    assert [step.result for step in steps_of(record)] == [
        "3 lines", "exit 1, 2 failed, 9 passed", "+1 -1", "+14 -0", "340 passed",
    ]  # fmt: skip
    assert record.summary == "Read 1 file, ran 2 commands, edited 1 file, wrote 1 file"
    assert (record.state, record.outcome, record.step_count) == ("done", "completed", 5)


def test_edits_of_one_file_are_listed_in_order() -> None:
    turn = TurnBuilder()
    turn.edit("a.py", "-1", "+2")
    turn.edit("b.py", "+x")
    turn.edit("a.py", "-2", "+3", "+4")
    turn.call("edit", path="c.py")
    turn.result(make_diff("c.py", "+no"), status="error", text="failed")
    turn.finish("ok")
    assert turn.record().changed_files == (
        ChangedFile(path="a.py", added=3, removed=2, steps=(1, 3)),
        ChangedFile(path="b.py", added=1, removed=0, steps=(2,)),
    )


def test_a_change_that_nobody_drew_is_listed_by_name() -> None:
    turn = TurnBuilder()
    turn.call("pickle", path="data/x.bin")
    turn.add(FilesChanged, call_id=turn.call_id, paths=("/home/ada/p/data/x.bin", "/home/ada/y"))
    turn.result()
    turn.add(FilesChanged, call_id="call-other", paths=("/home/ada/p/z",))
    turn.finish("ok")
    paths = [file.path for file in turn.record().changed_files]
    assert paths == ["data/x.bin", "y", "z"]


class TestWhileItRuns:
    def test_text_grows_and_a_discarded_message_disappears(self) -> None:
        turn = TurnBuilder()
        item = turn.write("Hel")
        turn.write("lo", offset=3, item=item)
        assert turn.record().items == (ProseItem(text="Hello", is_open=True),)
        turn.add(MessageDiscarded, item_id=item, reason="cut")
        assert not [i for i in turn.record(deterministic=True).items if i.kind == "prose"]
        turn.write("late", offset=5, item=item)
        assert "late" not in str(turn.record().items)

    def test_after_a_gap_nothing_is_shown_until_the_whole_text_comes(self) -> None:
        turn = TurnBuilder()
        item = turn.write("Hel")
        turn.write("world", offset=7, item=item)
        assert turn.record().items == (ProseItem(text="Hel", is_open=True),)
        whole = (TextBlock(text="Hello, world"),)
        turn.add(MessageComplete, entry_id="e-1", item_id=item, content=whole)
        assert turn.record().items == (ProseItem(text="Hello, world"),)

    def test_the_first_open_call_runs_and_shows_its_last_lines(self) -> None:
        turn = TurnBuilder()
        call = turn.call("bash", command="make")
        turn.call("read", path="a")
        lines = "".join(f"line {n}\n" for n in range(30))
        turn.add(ToolProgress, call_id=call, text=lines, seq=None)
        first, second = steps_of(turn.record())
        assert (first.state, second.state) == ("running", "queued")
        assert first.output_tail.split("\n") == [f"line {n}" for n in range(18, 30)]
        assert first.seconds == 1.0
        turn.result(TextDescriptor(text="done"), call_id=call)
        first, second = steps_of(turn.record())
        assert (first.state, first.output_tail, second.state) == ("ok", "", "running")

    def test_progress_is_shown(self) -> None:
        turn = TurnBuilder()
        call = turn.call("download", path="x")
        bar = ProgressDescriptor(label="Bytes", current=1, total=2)
        turn.add(ToolProgress, call_id=call, render=(bar,), seq=None)
        assert steps_of(turn.record())[0].render == (bar,)

    def test_a_question_makes_the_turn_wait(self) -> None:
        turn = TurnBuilder()
        turn.call("edit", path="a")
        turn.ask("Allow?")
        assert turn.record().state == "waiting"
        assert steps_of(turn.record())[0].state == "waiting"
        turn.answer(Allow())
        assert turn.record().state == "running"
        turn.add(UiRequest, request_id="r-1", dialog="confirm", title="Go on?")
        assert turn.record().state == "waiting"
        turn.add(UiResolved, request_id="r-1", value=True)
        assert turn.record().state == "running"
        assert notices_of(turn.record()) == ["Asked: Go on?"]

    def test_items_that_are_closed_stay_the_same_objects(self) -> None:
        turn = make_edit_turn()
        recorder = turn.recorder()
        assert all(a is b for a, b in zip(recorder.record().items, recorder.record().items))

    def test_what_a_turn_has_used_so_far_is_summed_up(self) -> None:
        turn = TurnBuilder()
        turn.used(cost_usd=0.1)
        turn.used(cost_usd=0.2, tokens=TokenUsage())
        usage = turn.record().usage
        assert usage is not None
        assert usage.model_dump() == IsPartialDict(input_tokens=10, output_tokens=5, at_least=True)
        assert usage.cost_usd == pytest.approx(0.3)

    def test_the_time_that_a_person_took_is_not_the_tools(self) -> None:
        turn = TurnBuilder()
        turn.call("bash", command="x")
        turn.ask("Allow?")
        turn.answer(Allow())
        turn.result()
        assert steps_of(turn.record())[0].seconds == 0.5


class TestApprovals:
    @pytest.mark.parametrize(
        ("decision", "by", "told"),
        [
            (Allow(why="allowed by notebook"), "notebook", ("allowed", "you", "", "")),
            (Allow(), "cli", ("allowed", "cli", "", "")),
            (Allow(why="a rule allows it: allow bash ls"), "gate",
             ("allowed", "rule", "allow bash ls", "")),
            (Deny(reason="denied by ada", by="person", note="use uv"), "ada",
             ("denied", "ada", "", "use uv")),
            (Deny(reason="A rule forbids it.", by="rule"), "gate",
             ("denied", "rule", "A rule forbids it", "")),
            (Deny(reason="plan", by="mode"), "gate", ("denied", "mode", "plan", "")),
            (Deny(reason="nobody", by="headless"), "headless", ("denied", "nobody", "nobody", "")),
            (Deny(reason="nobody answered in time", by="expired"), "shard",
             ("expired", "", "", "nobody answered in time")),
            (Deny(reason="The turn has ended.", by="expired"), "shard",
             ("withdrawn", "", "", "The turn has ended")),
        ],
    )  # fmt: skip
    def test_who_decided_is_kept(
        self, decision: Allow | Deny, by: str, told: tuple[str, ...]
    ) -> None:
        turn = TurnBuilder()
        turn.call("bash", command="x")
        turn.ask("Allow?")
        turn.answer(decision, by)
        turn.answer(Deny(reason="late", by="person"), "late")
        (approval,) = steps_of(turn.record())[0].approvals
        assert (approval.state, approval.by, approval.rule, approval.note) == told

    def test_a_rule_that_was_stored_and_edited_arguments_are_told(self) -> None:
        turn = TurnBuilder()
        turn.call("write", path="a")
        turn.ask("Allow?")
        rule = Rule(effect="allow", tool="write", path="tests/**")
        turn.answer(AllowAlways(rule=rule, keep="project"))
        turn.add(ToolCallEvent, call_id=turn.call_id, tool="write", arguments={"path": "tests/b"})
        (step,) = steps_of(turn.record())
        assert step.target == "tests/b"
        assert step.approvals[0].model_dump() == IsPartialDict(
            covers="always", rule="allow write tests/**, this project", edited=True
        )

    def test_a_question_for_a_call_that_was_not_announced_makes_a_step(self) -> None:
        turn = TurnBuilder()
        turn.tool, turn.call_id = "bash", "call-9"
        turn.ask("Allow?")
        assert [step.tool for step in steps_of(turn.record())] == ["bash"]


class TestNotices:
    def test_what_happened_besides_is_told_in_order(self) -> None:
        turn = TurnBuilder()
        item = turn.write("Hal")
        turn.add(MessageDiscarded, item_id=item, reason="the stream broke")
        turn.add(RetryScheduled, attempt=1, delay_seconds=2, error=OVERLOADED)
        turn.add(SteerInjected, entry_id="e-1", text="be brief")
        turn.add(ModeChanged, old_mode="plan", new_mode="build", turn_id=None)
        turn.add(ModelSwitched, old_model="a", new_model="b", turn_id=None)
        turn.add(
            CompactionEvent, entry_id="e-2", index=1, tokens_before=162_000, tokens_after=24_000
        )
        turn.add(Notice, code="x", message="An extension failed.", tone="error")
        turn.finish("ok")
        record = turn.record()
        told = [getattr(item, "message", getattr(item, "text", "")) for item in record.items]
        assert told == [
            "An answer was cut off and does not count: the stream broke",
            "The server is overloaded. Trying again in 2.0 s (try 2).",
            "be brief",
            "The mode is now build.",
            "The model is now b.",
            "Earlier conversation compacted: 162.0k → 24.0k tokens. Nothing is lost.",
            "An extension failed.",
        ]
        assert (record.mode, record.model) == ("build", "b")

    def test_a_change_before_the_turn_is_no_news(self) -> None:
        turn = TurnBuilder()
        start = turn.events.pop()
        turn.add(ModelSwitched, old_model="a", new_model="b", turn_id=None)
        turn.events.append(start)
        turn.finish("ok")
        assert notices_of(turn.record()) == []

    def test_a_client_adds_its_own(self) -> None:
        recorder = make_edit_turn().recorder()
        recorder.note("The answer fits the schema.", "success")
        assert recorder.record().items[-1] == NoticeItem(
            message="The answer fits the schema.", tone="success"
        )


class TestTheEnd:
    def test_a_turn_that_never_began_failed_before_anything_was_sent(self) -> None:
        recorder = TurnRecorder(agent="tally", prompt="x", deterministic=True)
        assert recorder.record().state == "not started"
        recorder.fail(ErrorInfo(code="unknown_model", message="No such model."))
        record = recorder.record()
        assert (record.state, record.outcome) == ("not started", "failed")
        assert record.error is not None

    def test_a_lost_link_ends_the_record_and_says_that_a_call_is_open(self) -> None:
        turn = TurnBuilder()
        turn.call("bash", command="x")
        turn.ask("Allow?")
        turn.write("half of an ans")
        recorder = turn.recorder()
        recorder.fail(ErrorInfo(code="lost", message="The agent process ended."))
        record = recorder.record()
        assert (record.state, len(record.items)) == ("failed", 1)
        (step,) = steps_of(record)
        assert step.state == "uncertain"
        assert step.approvals[0].state == "waiting"

    def test_only_a_completed_turn_has_an_answer(self) -> None:
        turn = TurnBuilder()
        turn.say("I'll run it.")
        turn.end("I'll run it.", "interrupted")
        record = turn.record()
        assert (record.answer, record.state) == ("", "stopped")
        assert record.items == (ProseItem(text="I'll run it."),)

    def test_denials_are_told_once_with_what_would_allow_them(self) -> None:
        turn = TurnBuilder()
        ids = [turn.call("bash", command="git push") for _ in range(2)]
        for call_id in ids:
            turn.result(status="denied", text="Denied: no rule", call_id=call_id)
        denials = tuple(
            Denial(call_id=call_id, tool="bash", reason="no rule", would_allow="{}")
            for call_id in ids
        )
        turn.finish("I could not.", denials=denials)
        record = turn.record()
        assert record.denials == (
            DeniedCall(tool="bash", target="git push", reason="no rule", would_allow="{}"),
        )
        assert {step.result for step in steps_of(record)} == {"denied"}

    def test_a_limit_tells_when_it_resets(self) -> None:
        turn = TurnBuilder()
        resets = "2026-05-04T16:40:00+00:00"
        turn.add(LimitReached, limit="provider", message="5-hour limit", resets_at=resets)
        turn.end(outcome="limit_reached", error=OVERLOADED)
        assert (turn.record().state, turn.record().resets_at) == ("limit", resets)
        assert turn.record(deterministic=True).resets_at is None

    def test_unknown_usage_stays_unknown(self) -> None:
        turn = TurnBuilder()
        turn.end("", usage=UsageTotals(model_calls=2, unknown_calls=2))
        usage = turn.record().usage
        assert usage is not None
        assert (usage.input_tokens, usage.cost_usd, usage.at_least) == (None, None, True)

    def test_nothing_counts_after_the_end(self) -> None:
        turn = make_edit_turn()
        before = turn.record()
        turn.say("more")
        turn.end("other", "failed")
        assert turn.record() == before


class TestOtherTurns:
    def test_another_turn_does_not_count(self) -> None:
        turn = make_edit_turn()
        recorder = TurnRecorder(agent="a", prompt="p", deterministic=True)
        other = [event.model_copy(update={"turn_id": "turn-2"}) for event in turn.events]
        assert recorder.take(turn.events[0])
        assert not any(map(recorder.take, other))
        assert recorder.record().items == ()

    def test_a_turn_that_was_joined_in_its_middle_runs(self) -> None:
        turn = make_edit_turn()
        recorder = TurnRecorder(agent="a", prompt="p", deterministic=True, turn_id="turn-1")
        other = TurnStart(agent_id="agent-1", turn_id="turn-0", prompt="x", model="m", mode="build")
        assert not recorder.take(other)
        recorder.take(turn.events[2])
        assert recorder.record().state == "running"


def test_the_json_can_be_read_again() -> None:
    record = make_edit_turn().record()
    assert TurnRecord.model_validate_json(record.model_dump_json()) == record
    newer = {**record.model_dump(mode="json"), "from_a_newer_peer": 1}
    newer["items"] = [{"kind": "chart", "fallback": "3 bars"}]
    assert TurnRecord.model_validate(newer).model_dump(mode="json") == newer


def test_a_result_without_a_view_shows_its_text_and_its_images() -> None:
    turn = TurnBuilder()
    turn.call("query", sql="select 1")
    image = {"kind": "image", "media_type": "image/png", "sha256": "ab", "size_bytes": 5}
    turn.add(
        ToolResultEvent, entry_id="e", call_id=turn.call_id, tool="query", status="ok",
        is_error=False, content=({"kind": "text", "text": "1 row"}, image),
    )  # fmt: skip
    (step,) = steps_of(turn.record())
    assert [part.kind for part in step.render] == ["text", "image"]


def test_a_long_output_keeps_its_ends() -> None:
    turn = TurnBuilder()
    turn.bash("make", "\n".join(f"line {n}" for n in range(10_000)))
    (step,) = steps_of(turn.record())
    text = step.render[0]
    assert isinstance(text, TextDescriptor)
    assert len(text.text) < 17_000
    assert text.text.startswith("line 0\n")
    assert text.text.endswith("line 9999")
    assert "characters left out" in text.text
