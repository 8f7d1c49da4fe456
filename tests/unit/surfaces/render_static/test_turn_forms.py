"""Whole turns as plain text, Markdown and HTML: they were read, and read well."""

from __future__ import annotations

import pytest
from inline_snapshot import snapshot

from shard_jupyter.surfaces.render_static.turn_html import render_turn_html
from shard_jupyter.surfaces.render_static.turn_markdown import render_turn_markdown
from shard_jupyter.surfaces.render_static.turn_plain import render_turn_plain
from shard_jupyter.surfaces.render_static.turn_record import TurnRecord
from shard_jupyter.types.render_descriptors import TextDescriptor
from shard_jupyter.types.turns import Denial
from tests.unit.surfaces.render_static.hostile import check_html, check_markdown
from tests.unit.surfaces.render_static.turn_builder import TurnBuilder, make_diff, make_edit_turn

pytestmark = pytest.mark.proves("A08", "D05")

RULE = '{"effect": "allow", "tool": "bash"}'


def render_all_forms(record: TurnRecord) -> tuple[str, str, str]:
    page, source = render_turn_html(record), render_turn_markdown(record)
    check_html(page)
    check_markdown(source)
    return render_turn_plain(record), source, page


def test_an_edit_reads_well_as_plain_text() -> None:
    assert render_turn_plain(make_edit_turn().record()) == snapshot("""\
✓ Done · tally · anthropic:claude-sonnet-4-6 · build · 10.0 s

Read 1 file, ran 2 commands, edited 1 file, wrote 1 file · 5 steps
  I'll look at how the model picks its season.
  ✓ Read  forecast/model.py  3 lines
  ✗ Run  pytest -q  exit 1, 2 failed, 9 passed
  The period is fixed. I'll take it from the index.
  ✓ Edit  forecast/model.py  +1 -1 · Allowed by you, once
  ✓ Write  tests/test_model.py  +14 -0
  ✓ Run  pytest -q  340 passed

It now comes from the index:

- weekly data get **52**
- daily data get 7

2 files changed  +15 -1
  forecast/model.py  +1 -1
    @@ -1,2 +1,2 @@
     class Model:
    -    period = 12
    +    period = 52
  tests/test_model.py  +14 -0
    @@ -1,0 +1,14 @@
    +line 0
    +line 1
    +line 2
    +line 3
    +line 4
    +line 5
    +line 6
    +line 7
    +line 8
    +line 9
    +line 10
    +line 11
    +line 12
    +line 13

What the steps showed
  Read  forecast/model.py
      class Model:

          period = 12
  Run  pytest -q
      E   assert 12 == 52
      2 failed, 9 passed in 1.87s
  Run  pytest -q
      ...
      340 passed in 9.80s

61.0k in · 4.4k out · $0.28 · 31 % of 200k
""")


def test_an_edit_reads_well_as_markdown() -> None:
    assert render_turn_markdown(make_edit_turn().record()) == snapshot("""\
✓ **Done** · **tally** · anthropic:claude-sonnet-4-6 · build · 10.0 s

Read 1 file, ran 2 commands, edited 1 file, wrote 1 file · 5 steps

> I'll look at how the model picks its season.

- Read `forecast/model.py` · 3 lines
- ✗ Run `pytest -q` · exit 1, 2 failed, 9 passed

> The period is fixed. I'll take it from the index.

- Edit `forecast/model.py` · +1 -1 · Allowed by you, once
- Write `tests/test_model.py` · +14 -0
- Run `pytest -q` · 340 passed

It now comes from the index:

- weekly data get **52**
- daily data get 7

**2 files changed** +15 -1

`forecast/model.py` +1 -1

```diff
@@ -1,2 +1,2 @@
 class Model:
-    period = 12
+    period = 52
```

`tests/test_model.py` +14 -0

```diff
@@ -1,0 +1,14 @@
+line 0
+line 1
+line 2
+line 3
+line 4
+line 5
+line 6
+line 7
+line 8
+line 9
+line 10
+line 11
+line 12
+line 13
```

**What the steps showed**

Read `forecast/model.py`

```py
class Model:

    period = 12
```

Run `pytest -q`

```
E   assert 12 == 52
2 failed, 9 passed in 1.87s
```

Run `pytest -q`

```
...
340 passed in 9.80s
```

61.0k in · 4.4k out · \\$0.28 · 31 % of 200k
""")


def test_an_edit_reads_well_as_html() -> None:
    assert render_turn_html(make_edit_turn().record()) == snapshot("""\
<p>✓ Done · <strong>tally</strong> · anthropic:claude-sonnet-4-6 · build · 10.0 s</p>
<details>
<summary>Read 1 file, ran 2 commands, edited 1 file, wrote 1 file · 5 steps</summary>
<p>I'll look at how the model picks its season.</p>
<ul>
<li><details>
<summary>Read <code>forecast/model.py</code> · 3 lines</summary>
<pre><code>class Model:&#10;
    period = 12</code></pre>
</details>
</li>
<li><details>
<summary>✗ Run <code>pytest -q</code> · exit 1, 2 failed, 9 passed</summary>
<pre><code>E   assert 12 == 52
2 failed, 9 passed in 1.87s</code></pre>
</details>
</li>
</ul>
<p>The period is fixed. I'll take it from the index.</p>
<ul>
<li>Edit <code>forecast/model.py</code> · +1 -1 · Allowed by you, once</li>
<li>Write <code>tests/test_model.py</code> · +14 -0</li>
<li><details>
<summary>Run <code>pytest -q</code> · 340 passed</summary>
<pre><code>...
340 passed in 9.80s</code></pre>
</details>
</li>
</ul>
</details>
<br>
<p>It now comes from the index:</p>
<ul>
<li>weekly data get <strong>52</strong></li>
<li>daily data get 7</li>
</ul>
<p><strong>2 files changed</strong> +15 -1</p>
<details open>
<summary><code>forecast/model.py</code> +1 -1</summary>
<pre><code>@@ -1,2 +1,2 @@
 class Model:
-    period = 12
+    period = 52</code></pre>
</details>
<details>
<summary><code>tests/test_model.py</code> +14 -0</summary>
<pre><code>@@ -1,0 +1,14 @@
+line 0
+line 1
+line 2
+line 3
+line 4
+line 5
+line 6
+line 7
+line 8
+line 9
+line 10
+line 11
+line 12
+line 13</code></pre>
</details>
<br>
<p>61.0k in · 4.4k out · <span>$</span>0.28 · 31 % of 200k</p>
""")


def make_denied_turn() -> TurnBuilder:
    turn = TurnBuilder()
    turn.call("bash", command="git push")
    turn.result(status="denied", text="Denied: Nobody could be asked.")
    denial = Denial(
        call_id=turn.call_id, tool="bash", reason="Nobody could be asked.", would_allow=RULE
    )
    turn.finish("I could not push.", denials=(denial,))
    return turn


def test_a_denial_is_in_view_with_what_would_allow_it() -> None:
    plain, source, page = render_all_forms(make_denied_turn().record(deterministic=True))
    assert plain == snapshot("""\
⊘ Done, but not all was allowed · tally · anthropic:claude-sonnet-4-6 · build

  ⊘ Run  git push  denied

I could not push.

⊘ Denied: Run  git push
  Nobody could be asked.
  This rule would allow it: {"effect": "allow", "tool": "bash"}
""")
    assert source == snapshot("""\
⊘ **Done, but not all was allowed** · **tally** · anthropic:claude-sonnet-4-6 · build

- ⊘ Run `git push` · denied

I could not push.

⊘ **Denied:** Run `git push`  \n\
Nobody could be asked.  \n\
This rule would allow it: `{"effect": "allow", "tool": "bash"}`
""")
    assert page == snapshot("""\
<p>⊘ Done, but not all was allowed · <strong>tally</strong> · anthropic:claude-sonnet-4-6 · build</p>
<details>
<summary>1 step denied</summary>
<ul>
<li><details>
<summary>⊘ Run <code>git push</code> · denied</summary>
<pre><code>Denied: Nobody could be asked.</code></pre>
</details>
</li>
</ul>
</details>
<br>
<p>I could not push.</p>
<p>⊘ <strong>Denied:</strong> Run <code>git push</code><br>
Nobody could be asked.<br>
This rule would allow it: <code>{"effect": "allow", "tool": "bash"}</code></p>
""")


def test_a_long_diff_is_folded_and_cut() -> None:
    turn = TurnBuilder()
    turn.edit("a.py", *[f"+line {number}" for number in range(200)])
    turn.call("edit", path="b.py")
    turn.result(make_diff("b.py", "+x", cut=74))
    turn.finish("ok")
    plain, source, page = render_all_forms(turn.record())
    for form in (plain, source, page):
        assert "(141 more lines)" in form
        assert "(74 more lines)" in form
        assert "+line 58" in form
        assert "+line 59" not in form
    assert "<details>\n<summary><code>a.py</code> +200 -0</summary>" in page
    assert "<details open>\n<summary><code>b.py</code> +1 -0</summary>" in page


def test_a_long_command_is_whole_in_the_opened_row() -> None:
    command = "python3 - <<'X'\n" + "print('</code></pre>')\n" * 9 + "X"
    turn = TurnBuilder()
    turn.bash(command, "ok\nok")
    turn.finish("ok")
    plain, source, page = render_all_forms(turn.record())
    assert "python3 - &lt;&lt;'X'…" in page
    assert page.count("print('&lt;/code&gt;&lt;/pre&gt;')") == 9
    assert plain.count("print(") == source.count("print(") == 9, (
        "whole, where the steps are told in full"
    )


def test_what_a_result_shows_is_in_its_row() -> None:
    turn = TurnBuilder()
    turn.call("ls", path=".")
    turn.result(TextDescriptor(text="a|b\n\nc"), status="error", text="No such folder.")
    turn.end(outcome="interrupted")
    page = render_all_forms(turn.record())[2]
    assert "<summary>✗ List <code>.</code> · No such folder.</summary>" in page


def test_what_the_answer_holds_is_not_shown_a_second_time() -> None:
    turn = TurnBuilder()
    turn.read("a.csv", "x,y\n1,2\n")
    turn.finish("```\nx,y\n1,2\n```\nIt holds two lines.")
    told = TurnBuilder()
    told.read("a.csv", "x,y\n1,2\n")
    told.finish("It holds x,y and so on.")
    for form, other in zip(
        render_all_forms(turn.record()), render_all_forms(told.record()), strict=True
    ):
        assert form.count("1,2") == (2 if "<details" in form else 1)
        assert other.count("1,2") == 1
