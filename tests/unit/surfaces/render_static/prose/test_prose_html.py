"""Prose as HTML: what it means is kept, what it might do is not."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from shard_jupyter.surfaces.render_static.prose.prose_html import MAX_CHARS, render_prose
from tests.unit.surfaces.render_static.hostile import WHOLE, check_html
from tests.unit.surfaces.render_static.prose.test_safe_markdown import TRICKS

pytestmark = pytest.mark.proves("A08", "J3.38")

ANSWER = """\
# Result

**Two** tests, ~~one~~ fail: `a<b>` costs $5, see [docs](https://ok.example) <b>now</b>.

- [x] done
- [ ] open

| n | value |
| --- | ---: |
| a | 1 |

```py
x = 1

y = "<b>"
```

3. third

![plot](https://evil.example/p.png) and $x_1 < y$
"""


def test_an_answer_reads_well() -> None:
    assert render_prose(ANSWER) == snapshot(
        """\
<h3>Result</h3>
<p><strong>Two</strong> tests, <del>one</del> fail: <code>a&lt;b&gt;</code> costs <span>$</span>5, see <a href="https://ok.example">docs</a> (<code>ok.example</code>) &lt;b&gt;now&lt;/b&gt;.</p>
<ul>
<li>☑ done</li>
<li>☐ open</li>
</ul>
<table>
<thead>
<tr>
<th>n</th>
<th align="right">value</th>
</tr>
</thead>
<tbody>
<tr>
<td>a</td>
<td align="right">1</td>
</tr>
</tbody>
</table>
<pre><code>x = 1&#10;
y = "&lt;b&gt;"</code></pre>
<ol start="3">
<li>third</li>
</ol>
<p>Image: plot (<code>https://evil.example/p.png</code>) and $x_1 &lt; y$</p>
"""
    )


@settings(deadline=None, max_examples=200)
@given(st.lists(st.sampled_from(TRICKS), max_size=20).map("".join))
def test_no_mix_of_tricks_is_obeyed(source: str) -> None:
    check_html(render_prose(source))


@pytest.mark.parametrize("source", WHOLE, ids=range(len(WHOLE)))
def test_all_tricks_at_once_are_shown(source: str) -> None:
    assert "alert(1)" in check_html(render_prose(source))


def test_a_list_of_several_paragraphs_stays_one_list() -> None:
    assert render_prose("1. a\n\n   more\n\n2. b\n\nend").count("<ol>") == 1


UNITS = (
    "[",
    "![`a`](http://x",
    "<https://",
    "` ",
    "*a_ ",
    "**a ",
    "- a\n",
    "1. a\n\n",
    "> ",
    "~~a",
)


@pytest.mark.parametrize("unit", [*UNITS, "> a\n", "|a", "&a", "\\", "$a", "```\n", "[`", "://`"])
def test_no_text_takes_long(unit: str) -> None:
    for length in (MAX_CHARS - 100, 65_000):
        started = time.perf_counter()
        check_html(render_prose(unit * (length // len(unit))))
        assert time.perf_counter() - started < 3


def test_what_is_too_long_for_the_parser_is_shown_as_it_is_written() -> None:
    words = "*word* " * MAX_CHARS
    assert render_prose(words).startswith("<pre><code>*word* ")
