"""What is sent to a client, and how often: once when nobody looks on, else as it grows."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest

from shard_jupyter.surfaces.conversation.palette import Palette
from shard_jupyter.surfaces.conversation.question_forms import QuestionForms, make_forms
from shard_jupyter.surfaces.magics.outputs.cell_display import CellDisplay, make_state_bundle
from shard_jupyter.surfaces.magics.outputs.cell_output import (
    HeadlessOutput,
    NotebookOutput,
    SilentOutput,
    add_words,
)
from shard_jupyter.surfaces.magics.outputs.console_output import ConsoleOutput, TextBatch
from shard_jupyter.surfaces.magics.outputs.update_pace import KernelPace
from shard_jupyter.surfaces.render_static.turn_record import TurnRecorder
from shard_jupyter.types.events import MessageDelta, PermissionRequest, TurnEnd, TurnStart
from shard_jupyter.types.turns import ErrorInfo

pytestmark = pytest.mark.proves("D02", "D09")
START = TurnStart(agent_id="a", turn_id="t", prompt="p", model="m", mode="build")
END = TurnEnd(agent_id="a", turn_id="t", outcome="completed", text="abc")
BROKEN = TurnEnd(
    agent_id="a", turn_id="t", outcome="failed", error=ErrorInfo(code="x", message="It broke.")
)


class Client:
    """In the place of the shell: keeps what is published."""

    def __init__(self) -> None:
        self.shown: list[dict[str, Any]] = []
        self.display_pub = SimpleNamespace(publish=lambda **sent: self.shown.append(sent))

    def display(self, display_id: str | None) -> CellDisplay:
        return CellDisplay(self, display_id)  # type: ignore[arg-type]

    @property
    def last(self) -> str:
        return str(self.shown[-1]["data"]["text/plain"])


class Time:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def recorder(time: Time | None = None) -> TurnRecorder:
    return TurnRecorder(agent="a", prompt="p", deterministic=time is None, clock=time or Time())


def delta(text: str, offset: int) -> MessageDelta:
    return MessageDelta(agent_id="a", turn_id="t", item_id="i", offset=offset, text=text)


def in_notebook() -> tuple[Client, Time, NotebookOutput]:
    client, time = Client(), Time()
    output = NotebookOutput(client.display("d"), recorder(time), KernelPace(), clock=time)
    return client, time, output


def test_headless_nothing_is_sent_before_the_end() -> None:
    client = Client()
    output = HeadlessOutput(client.display(None), recorder())
    output.show(START)
    output.note("a notice")
    output.say("Stopping…")
    assert output.refresh() is None
    assert client.shown == []
    output.finish(END, is_raised=False)
    (sent,) = client.shown
    assert sent["update"] is False
    assert sent["transient"] == {}
    assert "a notice" in client.last


def test_headless_an_error_before_the_turn_shows_nothing() -> None:
    client = Client()
    HeadlessOutput(client.display(None), recorder()).fail(ErrorInfo(code="x", message="No."))
    assert client.shown == []


def test_in_a_notebook_the_display_is_made_once_and_replaced() -> None:
    client, time, output = in_notebook()
    output.show(START)
    assert output.refresh() is None
    time.now += 1
    output.show(delta("abc", 0))
    output.refresh()
    output.finish(END, is_raised=False)
    assert [sent["update"] for sent in client.shown] == [False, True, True]
    assert {sent["transient"]["display_id"] for sent in client.shown} == {"d"}


def test_in_a_notebook_updates_wait_until_they_are_due_and_nothing_new_sends_nothing() -> None:
    client, time, output = in_notebook()
    output.show(START)
    output.refresh()
    for number in range(100):
        output.show(delta("x", number))
        wait = output.refresh()
    assert len(client.shown) == 1
    assert wait == pytest.approx(0.1)
    time.now += 0.1
    assert output.refresh() is None
    assert client.last.count("x") == 100
    time.now += 9
    output.refresh()
    assert len(client.shown) == 2


def make_question(command: str) -> QuestionForms:
    request = PermissionRequest(
        agent_id="a",
        request_id="r",
        call_id="c",
        tool="bash",
        prompt="run?",
        arguments={"command": command},
    )
    return make_forms(request, str)


def test_in_a_notebook_a_question_and_a_state_come_at_once_and_do_not_stay() -> None:
    client, _, output = in_notebook()
    output.show(START)
    output.refresh()
    asked = make_question(f"{'w' * 300_000} ```` <b>&</b> sure?")
    assert output.put_question(asked, "y, n> ") == "y, n> "
    data = client.shown[-1]["data"]
    for key in ("text/plain", "text/markdown", "text/html"):
        assert data[key].count("w") >= 300_000, key
    assert "<b>&</b>" not in data["text/html"]
    assert "`````\n" in data["text/markdown"]
    assert data["text/plain"].endswith("?  explain\n")
    output.say("")
    assert "bash asks" not in client.last
    output.say("Stopping…")
    assert "Stopping…" in client.last
    output.finish(END, is_raised=True)
    assert "Stopping…" not in client.last


def test_in_a_notebook_what_failed_before_the_turn_is_shown() -> None:
    client, _, output = in_notebook()
    output.fail(ErrorInfo(code="x", message="No such model."))
    assert "No such model." in client.last


def test_in_a_console_text_is_sent_in_batches() -> None:
    out, time = io.StringIO(), Time()
    output = ConsoleOutput(out, io.StringIO(), Palette(on=False), clock=time)
    for number in range(20):
        output.show(delta("x", number))
    assert output.refresh() == pytest.approx(0.05)
    assert out.getvalue() == ""
    time.now += 0.05
    assert output.refresh() is None
    assert out.getvalue() == "x" * 20


def test_in_a_console_a_question_stands_on_lines_of_its_own_before_it_is_asked() -> None:
    out = io.StringIO()
    output = ConsoleOutput(out, io.StringIO(), Palette(on=False))
    output.show(delta("half a line", 0))
    assert output.put_question(make_question("ls"), "y, n> ") == "y, n> "
    assert out.getvalue().startswith("half a line\n\nbash asks: run?\n  │ ls\n")


@pytest.mark.parametrize("is_raised", [True, False])
def test_in_a_console_a_failure_is_told_once(is_raised: bool) -> None:
    out, err = io.StringIO(), io.StringIO()
    ConsoleOutput(out, err, Palette(on=False)).finish(BROKEN, is_raised=is_raised)
    assert ("It broke." in err.getvalue()) is not is_raised
    quiet = io.StringIO()
    SilentOutput(quiet).finish(BROKEN, is_raised=is_raised)
    assert ("It broke." in quiet.getvalue()) is not is_raised
    SilentOutput(None).finish(BROKEN, is_raised=is_raised)


def test_a_quiet_cell_puts_the_whole_question_into_the_prompt() -> None:
    told = SilentOutput(None).put_question(make_question("all of it"), "y, n> ")
    assert "│ all of it\n" in told
    assert told.endswith("\ny, n> ")


def test_a_batch_is_written_as_one() -> None:
    written: list[str] = []
    out = io.StringIO()
    out.write = written.append  # type: ignore[assignment, method-assign]
    batch = TextBatch(out)
    batch.write("a")
    batch.write("b")
    batch.flush()
    batch.flush()
    assert written == ["ab"]


def test_words_are_added_in_every_form() -> None:
    bundle = {"text/plain": "p\n", "text/markdown": "m\n", "text/html": "<p>h</p>", "other": {}}
    assert add_words(bundle, "a <b> ```") == {
        "text/plain": "p\n\na <b> ```\n",
        "text/markdown": "m\n\n````text\na <b> ```\n````\n",
        "text/html": "<p>h</p>\n<pre>a &lt;b&gt; ```</pre>",
        "other": {},
    }


def test_the_first_state_is_harmless_whatever_the_name() -> None:
    bundle = make_state_bundle("<img>\u202e\n", "Starting")
    assert bundle == {
        "text/plain": "<img>⟨U+202E⟩⏎ · Starting",
        "text/html": "<p><strong>&lt;img&gt;⟨U+202E⟩⏎</strong> · Starting</p>",
    }


def test_in_a_notebook_nothing_replaces_starting_before_the_turn_has_begun() -> None:
    client, time, output = in_notebook()
    output.note("a notice")
    output.say("Stopping…")
    time.now += 9
    assert output.refresh() is None
    assert client.shown == []
    output.show(START)
    output.refresh()
    assert "a notice" in client.last
