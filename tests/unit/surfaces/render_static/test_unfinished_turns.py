"""Turns that failed, stopped, wait or still run: what they say in every form."""

from __future__ import annotations

import pytest
from inline_snapshot import snapshot

from shard_jupyter.surfaces.render_static.turn_record import TurnRecorder
from shard_jupyter.types.decisions import Allow
from shard_jupyter.types.events import LimitReached, RetryScheduled, SteerInjected, ToolProgress
from shard_jupyter.types.turns import ErrorInfo
from tests.unit.surfaces.render_static.test_turn_forms import render_all_forms
from tests.unit.surfaces.render_static.turn_builder import TurnBuilder, make_diff

pytestmark = pytest.mark.proves("A08", "D05")


def make_failed_turn() -> TurnBuilder:
    turn = TurnBuilder()
    busy = ErrorInfo(code="overloaded", message="The server is overloaded")
    turn.add(RetryScheduled, attempt=1, delay_seconds=2, error=busy)
    turn.edit("a.py", "-1", "+2")
    error = ErrorInfo(
        code="auth", message="401: invalid key <x>", next_step="Run `shard doctor`, it tells why."
    )
    turn.end(outcome="failed", error=error)
    return turn


def test_a_failure_says_what_to_do_and_what_is_kept() -> None:
    plain, source, page = render_all_forms(make_failed_turn().record())
    assert plain == snapshot("""\
✗ Failed · tally · anthropic:claude-sonnet-4-6 · build · 2.0 s

  ! The server is overloaded. Trying again in 2.0 s (try 2).
  ✓ Edit  a.py  +1 -1

1 file changed  +1 -1
  a.py  +1 -1
    @@ -1,1 +1,1 @@
    -1
    +2

401: invalid key <x>
Run `shard doctor`, it tells why.
The conversation so far is kept, and so is the changed file.

61.0k in · 4.4k out · $0.28
""")
    assert source == snapshot("""\
✗ **Failed** · **tally** · anthropic:claude-sonnet-4-6 · build · 2.0 s

! The server is overloaded. Trying again in 2.0 s (try 2).

- Edit `a.py` · +1 -1

**1 file changed** +1 -1

`a.py` +1 -1

```diff
@@ -1,1 +1,1 @@
-1
+2
```

401: invalid key &lt;x>  \n\
Run `shard doctor`, it tells why.  \n\
The conversation so far is kept, and so is the changed file.

61.0k in · 4.4k out · \\$0.28
""")
    assert page == snapshot("""\
<p>✗ Failed · <strong>tally</strong> · anthropic:claude-sonnet-4-6 · build · 2.0 s</p>
<p>! The server is overloaded. Trying again in 2.0 s (try 2).</p>
<ul>
<li>Edit <code>a.py</code> · +1 -1</li>
</ul>
<p><strong>1 file changed</strong> +1 -1</p>
<details open>
<summary><code>a.py</code> +1 -1</summary>
<pre><code>@@ -1,1 +1,1 @@
-1
+2</code></pre>
</details>
<br>
<p>401: invalid key &lt;x&gt;<br>
Run <code>shard doctor</code>, it tells why.<br>
The conversation so far is kept, and so is the changed file.</p>
<p>61.0k in · 4.4k out · <span>$</span>0.28</p>
""")


def make_running_turn() -> TurnBuilder:
    turn = TurnBuilder()
    turn.say("I'll check.")
    for number in range(13):
        turn.bash(f"echo {number}", str(number))
    call = turn.call("bash", command="pytest -q\nruff check")
    turn.add(ToolProgress, call_id=call, text="a\n\nb <c>\n", seq=None)
    turn.call("edit", make_diff("a.py", "-1", "+2"), path="a.py")
    turn.ask("Allow edit a.py?")
    turn.add(SteerInjected, entry_id="e-1", text="Be *brief*.")
    turn.write("Both pass n")
    return turn


def test_a_running_turn_shows_where_it_is() -> None:
    plain, source, page = render_all_forms(make_running_turn().record())
    assert plain == snapshot("""\
◆ Needs your answer · tally · anthropic:claude-sonnet-4-6 · build · 0:17

Ran 13 commands · 15 steps
  (3 earlier steps)
  ✓ Run  echo 3  3
  ✓ Run  echo 4  4
  ✓ Run  echo 5  5
  ✓ Run  echo 6  6
  ✓ Run  echo 7  7
  ✓ Run  echo 8  8
  ✓ Run  echo 9  9
  ✓ Run  echo 10  10
  ✓ Run  echo 11  11
  ✓ Run  echo 12  12
  … Run  pytest -q…  running 0:02
      a

      b <c>
  ◆ Edit  a.py  needs your answer
  You: Be *brief*.
  Both pass n

Needs your answer: Allow edit a.py?
""")
    assert source == snapshot("""\
◆ **Needs your answer** · **tally** · anthropic:claude-sonnet-4-6 · build · 0:17

Ran 13 commands · 15 steps

(3 earlier steps)

- Run `echo 3` · 3
- Run `echo 4` · 4
- Run `echo 5` · 5
- Run `echo 6` · 6
- Run `echo 7` · 7
- Run `echo 8` · 8
- Run `echo 9` · 9
- Run `echo 10` · 10
- Run `echo 11` · 11
- Run `echo 12` · 12
- … Run `pytest -q…` · running 0:02

```
a

b <c>
```

- ◆ Edit `a.py` · needs your answer

**You:** Be \\*brief\\*.

Both pass n

Needs your answer: Allow edit a.py?
""")
    assert page == snapshot("""\
<p>◆ Needs your answer · <strong>tally</strong> · anthropic:claude-sonnet-4-6 · build · 0:17</p>
<p>Ran 13 commands · 15 steps</p>
<details>
<summary>3 earlier steps</summary>
<p>I'll check.</p>
<ul>
<li>Run <code>echo 0</code> · 0</li>
<li>Run <code>echo 1</code> · 1</li>
<li>Run <code>echo 2</code> · 2</li>
</ul>
</details>
<ul>
<li>Run <code>echo 3</code> · 3</li>
<li>Run <code>echo 4</code> · 4</li>
<li>Run <code>echo 5</code> · 5</li>
<li>Run <code>echo 6</code> · 6</li>
<li>Run <code>echo 7</code> · 7</li>
<li>Run <code>echo 8</code> · 8</li>
<li>Run <code>echo 9</code> · 9</li>
<li>Run <code>echo 10</code> · 10</li>
<li>Run <code>echo 11</code> · 11</li>
<li>Run <code>echo 12</code> · 12</li>
<li>… Run <code>pytest -q…</code> · running 0:02<pre><code>a&#10;
b &lt;c&gt;</code></pre>
</li>
<li><details open>
<summary>◆ Edit <code>a.py</code> · needs your answer</summary>
<pre><code>@@ -1,1 +1,1 @@
-1
+2</code></pre>
</details>
</li>
</ul>
<p><strong>You:</strong> Be *brief*.</p>
<p>Both pass n</p>
<p>Needs your answer: Allow edit a.py?</p>
""")


def test_a_question_that_was_never_answered_is_no_live_one() -> None:
    turn = TurnBuilder()
    turn.call("edit", path="a.py")
    turn.ask("Allow edit a.py?")
    recorder = turn.recorder()
    recorder.fail(ErrorInfo(code="lost", message="The agent process ended."))
    for form in render_all_forms(recorder.record()):
        assert "Was waiting for an answer when this was saved: Allow edit a.py?" in form


def test_a_model_that_is_not_known_is_told_without_a_turn() -> None:
    recorder = TurnRecorder(agent="tally", prompt="x", deterministic=True)
    message = "No model is called 'claude-sonet'."
    recorder.fail(
        ErrorInfo(code="unknown_model", message=message, next_step="See `%shard models`.")
    )
    assert render_all_forms(recorder.record())[0] == snapshot("""\
✗ Not started · tally

No model is called 'claude-sonet'.
See `%shard models`.
Nothing was sent.
""")


def test_a_limit_and_a_stop_say_how_it_ended() -> None:
    turn = TurnBuilder()
    turn.say("Reading.")
    turn.call("bash", command="sleep 99")
    turn.ask("Allow?")
    turn.answer(Allow())
    turn.result(status="interrupted", text="interrupted")
    stopped, limited = TurnBuilder(), TurnBuilder()
    stopped.events = [*turn.events]
    stopped.end(outcome="interrupted")
    limited.add(LimitReached, limit="provider", message="x", resets_at="2026-05-04T16:40:00+02:00")
    limited.end(
        outcome="limit_reached", error=ErrorInfo(code="rate_limit", message="The limit is reached.")
    )
    assert render_all_forms(stopped.record())[0] == snapshot("""\
■ Stopped · tally · anthropic:claude-sonnet-4-6 · build · 3.5 s

  Reading.
  ■ Run  sleep 99  stopped · Allowed by you, once

The turn was stopped.
The conversation so far is kept.

What the steps showed
  Run  sleep 99
      interrupted

61.0k in · 4.4k out · $0.28
""")
    assert render_all_forms(limited.record())[0] == snapshot("""\
◔ Stopped at a limit · tally · anthropic:claude-sonnet-4-6 · build · 1.0 s

The limit is reached.
The limit resets at 2026-05-04 16:40 UTC+02:00.
The conversation so far is kept.

61.0k in · 4.4k out · $0.28
""")
