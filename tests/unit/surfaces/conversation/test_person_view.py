"""What a person sees of a turn on a terminal, and what a pipe gets."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from inline_snapshot import snapshot

from shard_jupyter.surfaces.conversation.palette import Palette
from shard_jupyter.surfaces.conversation.person_view import PersonView
from shard_jupyter.types.content import TextBlock
from shard_jupyter.types.events import (
    AgentEvent,
    LimitReached,
    MessageComplete,
    MessageDelta,
    MessageDiscarded,
    Notice,
    RetryScheduled,
    ToolCallEvent,
    ToolResultEvent,
)
from shard_jupyter.types.render_descriptors import DiffDescriptor, Hunk
from shard_jupyter.types.turns import Denial, ErrorInfo, TurnResult
from shard_jupyter.types.usage import UsageTotals
from tests.unit.surfaces.conversation.streams import FakeTerminal

pytestmark = pytest.mark.proves("B12")
DONE = TurnResult(turn_id="t", outcome="completed", text="All good.")


def ticking() -> Iterator[float]:
    return (number / 10 for number in count())


def delta(text: str, offset: int, item: str = "m1", channel: Any = "text") -> MessageDelta:
    return MessageDelta(agent_id="a", item_id=item, offset=offset, text=text, channel=channel)


def complete(text: str, item: str = "m1") -> MessageComplete:
    content = (TextBlock(text=text),)
    return MessageComplete(agent_id="a", entry_id="e", item_id=item, content=content)


def called(call: str, tool: str, **arguments: Any) -> ToolCallEvent:
    return ToolCallEvent(agent_id="a", call_id=call, tool=tool, arguments=arguments)


def came_back(call: str, tool: str, status: Any = "ok", text: str = "", **more: Any) -> Any:
    return ToolResultEvent(
        agent_id="a",
        entry_id="e",
        call_id=call,
        tool=tool,
        status=status,
        is_error=status != "ok",
        content=(TextBlock(text=text),),
        **more,
    )


def show(
    *events: AgentEvent,
    result: TurnResult = DONE,
    terminal: bool = True,
    err: io.StringIO | None = None,
    colours: bool = False,
) -> tuple[str, str]:
    out = FakeTerminal() if terminal else io.StringIO()
    err = err or io.StringIO()
    ticks = ticking()
    view = PersonView(out, err, Palette(on=colours), clock=lambda: next(ticks))
    for event in events:
        view.show(event)
    view.finish(result)
    view.flush()
    return out.getvalue(), err.getvalue()


DIFF = DiffDescriptor(
    path="a.py",
    hunks=(Hunk(old_start=1, old_lines=1, new_start=1, new_lines=1, lines=("-old", "+new")),),
    added=1,
    removed=1,
)
RUN: tuple[AgentEvent, ...] = (
    delta("Let me ", 0),
    delta("see.", 7),
    complete("Let me see."),
    called("c1", "bash", command="git status"),
    came_back("c1", "bash"),
    called("c2", "edit", path="a.py", old="old", new="new"),
    came_back("c2", "edit", render=(DIFF,)),
    called("c3", "bash", command="false"),
    came_back("c3", "bash", "error", details={"exit_code": 1}),
    called("c4", "read", path="nope"),
    came_back("c4", "read", "error", text="There is no file nope.\nmore"),
    called("c5", "bash", command="rm -rf /"),
    came_back("c5", "bash", "denied"),
    called("c6", "bash", command="rm x"),
    came_back("c6", "bash", "denied", text="Denied: A rule forbids it: deny bash rm … (no)."),
    called("c7", "bash", command="touch x"),
    came_back("c7", "bash", "denied", text="Denied: A person said no. Note: no"),
    delta("All ", 0, "m2"),
    delta("good.", 4, "m2"),
    complete("All good.", "m2"),
)


def test_a_run_on_a_terminal_streams_text_and_leaves_a_line_for_each_call() -> None:
    result = DONE.model_copy(
        update={
            "usage": UsageTotals(input_tokens=48_200, output_tokens=950, cost_usd=0.213),
            "changed_paths": ("/w/a.py",),
        }
    )
    out, err = show(*RUN, result=result)
    assert out == snapshot(
        """\
Let me see.
✓ bash  git status  0.1 s
✓ edit  a.py  0.1 s
    a.py  +1 -1
    @@ -1,1 +1,1 @@
    -old
    +new
✗ bash  false  0.1 s  exit 1
✗ read  nope  0.1 s  There is no file nope.
⊘ bash  rm -rf /  0.1 s  denied
⊘ bash  rm x  0.1 s  denied: A rule forbids it: deny bash rm … (no).
⊘ bash  touch x  0.1 s  denied
All good.
1 file changed · 48.2k in · 950 out · $0.21
"""
    )
    assert err == ""


@pytest.mark.proves("A06")
def test_a_call_read_from_text_is_marked_however_long_it_is() -> None:
    long = ToolCallEvent(
        agent_id="a", call_id="c", tool="bash", arguments={"command": "x" * 300}, recovered=True
    )
    shown, _ = show(long, came_back("c", "bash"))
    assert "xx…  (recovered from text)" in shown
    shown, _ = show(called("c", "bash", command="ls"), came_back("c", "bash"))
    assert "recovered" not in shown


def test_a_pipe_gets_the_final_text_alone_and_exactly() -> None:
    text = "na\u00efve \x1b[0m \u202e 👨\u200d👩"
    out, err = show(*RUN, result=DONE.model_copy(update={"text": text}), terminal=False)
    assert (out, err) == (f"{text}\n", "")


def test_with_output_in_a_file_progress_goes_to_the_terminal_of_stderr() -> None:
    out, err = show(*RUN, terminal=False, err=FakeTerminal())
    assert out == "All good.\n"
    assert "✓ bash  git status" in err
    assert "Let me see" not in err


def test_text_that_was_streamed_is_not_shown_twice() -> None:
    events = (delta("ab", 0), delta("ab", 0), delta("bc", 1), complete("abcd"))
    out, _ = show(*events)
    assert out.startswith("abcd\n")


def test_text_that_was_never_streamed_is_shown_when_it_is_complete() -> None:
    out, _ = show(complete("whole"))
    assert out.startswith("whole\n")


def test_after_a_gap_the_complete_text_fills_in() -> None:
    out, _ = show(delta("ab", 0), delta("ef", 4), delta("gh", 6), complete("abcdefgh"))
    assert out.startswith("abcdefgh\n")


def test_reasoning_and_arguments_are_not_shown() -> None:
    out, _ = show(delta("hm", 0, channel="thinking"), delta('{"a"', 0, channel="tool_call"))
    assert "hm" not in out
    assert "{" not in out


def test_a_cut_answer_is_said_to_be_cut() -> None:
    discarded = MessageDiscarded(agent_id="a", item_id="m1", reason="connection lost")
    out, _ = show(
        delta("half an ans", 0), discarded, delta("again", 0, "m2"), complete("again", "m2")
    )
    assert out.startswith(
        "half an ans\nThe answer was cut off (connection lost) and does not count.\nagain\n"
    )
    assert "cut off" not in show(discarded)[0]
    assert show(delta("half an ans", 0), discarded, terminal=False) == ("All good.\n", "")


@pytest.mark.parametrize("terminal", [True, False])
def test_warnings_are_seen_everywhere(terminal: bool) -> None:
    error = ErrorInfo(code="rate_limit", message="Too many requests.")
    out, err = show(
        RetryScheduled(agent_id="a", attempt=1, delay_seconds=3, error=error),
        Notice(agent_id="a", code="repair", message="A line was\x1b[2J repaired.", tone="warn"),
        terminal=terminal,
    )
    told = out + err
    assert "Too many requests. Trying again in 3.0 s (try 2)." in told
    assert "A line was⟨U+001B⟩[2J repaired." in told
    assert terminal or out == "All good.\n"


@pytest.mark.parametrize("terminal", [True, False])
def test_why_the_work_was_not_done_goes_to_stderr(terminal: bool) -> None:
    denial = Denial(
        call_id="c", tool="bash", reason="Nobody could be asked.", would_allow='{"a":1}'
    )
    error = ErrorInfo(code="auth", message="The key is refused.", next_step="Mend the key.")
    result = TurnResult(turn_id="t", outcome="failed", error=error, denials=(denial,))
    _, err = show(result=result, terminal=terminal)
    assert err == snapshot(
        """\
shard: Denied: bash: Nobody could be asked.
shard:   This rule would allow it: {"a":1}
shard: The key is refused. Mend the key.
"""
    )
    error = ErrorInfo(code="mismatch", message="It differs.\n-a\n+\x1bb", next_step="Record it.")
    _, err = show(result=TurnResult(turn_id="t", outcome="failed", error=error), terminal=terminal)
    assert err == "shard: It differs.\nshard:   -a\nshard:   +⟨U+001B⟩b\nshard:   Record it.\n"
    _, err = show(result=TurnResult(turn_id="t", outcome="interrupted"), terminal=terminal)
    assert err == "shard: The turn ended as interrupted.\n"


def test_a_limit_and_a_repeated_denial_are_told_once() -> None:
    denial = Denial(call_id="c", tool="bash", reason="no rule")
    again = denial.model_copy(update={"call_id": "d"})
    message = "The budget is used up."
    error = ErrorInfo(code="budget_usd", message=message, next_step="Raise it.")
    result = TurnResult(turn_id="t", outcome="limit_reached", error=error, denials=(denial, again))
    limit = LimitReached(agent_id="a", limit="budget_usd", message=message)
    out, err = show(limit, result=result)
    assert err == "shard: Denied: bash: no rule\nshard: The budget is used up. Raise it.\n"
    assert message not in out


def test_unknown_tokens_and_cost_are_not_shown_as_zero() -> None:
    usage = UsageTotals(input_tokens=10, output_tokens=2, unknown_calls=1)
    out, _ = show(result=DONE.model_copy(update={"usage": usage}))
    assert out == "10+ in · 2+ out · cost unknown\n"
    nothing_known = UsageTotals(model_calls=2, unknown_calls=2)
    out, _ = show(result=DONE.model_copy(update={"usage": nothing_known}))
    assert out == "tokens unknown · cost unknown\n"


def test_hostile_text_of_model_and_tools_cannot_steer_the_terminal() -> None:
    evil = "\x1b]0;owned\x07\r\u202e\x9b2J\u200b"
    out, err = show(
        delta(evil, 0),
        complete(evil),
        called("c1", f"bash{evil}", command=f"ls {evil}\nrm"),
        came_back("c1", "bash", "error", text=evil),
        called("c2", "edit", path="x"),
        came_back("c2", "edit", render=(DIFF.model_copy(update={"path": evil}),)),
    )
    assert not set(out + err) & set("\x1b\x07\r\u202e\x9b\u200b")


def test_colours_are_ours_alone() -> None:
    out, _ = show(*RUN, complete("\x1b[31mred"), colours=True)
    assert "\x1b[32m✓\x1b[0m bash" in out
    assert "    \x1b[32m+new\x1b[0m" in out
    assert "\x1b[31mred" not in out


def test_a_long_diff_and_a_long_command_are_cut_and_say_so() -> None:
    hunk = Hunk(old_start=0, old_lines=0, new_start=1, new_lines=99, lines=("+x",) * 99)
    out, _ = show(
        called("c", "write", path="p" * 500),
        came_back("c", "write", render=(DIFF.model_copy(update={"hunks": (hunk,)}),)),
    )
    rows = out.split("\n")
    assert rows[0].endswith("…  0.1 s")
    assert max(map(len, rows)) <= 80
    assert "    (41 more lines)" in rows
