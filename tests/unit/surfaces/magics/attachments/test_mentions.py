"""Which `@` words of a prompt name something, and which are only text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.errors import UsageError
from shard_jupyter.surfaces.magics.attachments.mentions import find_mentions

pytestmark = pytest.mark.proves("D02")


def found(text: str) -> list[str]:
    return [f"{mention.kind}:{mention.value}" for mention in find_mentions(text)]


@pytest.mark.parametrize(
    ("text", "mentions"),
    [
        ("@df", ["variable:df"]),
        ("what is in @df?", ["variable:df"]),
        ("compare (@a), \"@b\" and *@c* or [@d]; {@e}, <@f>, @g|@h", [f"variable:{x}" for x in "abcdefgh"]),
        ("@df.columns and @df['a'] once", ["variable:df"]),
        ("@a @b @a", ["variable:a", "variable:b"]),
        ("line\n@df\nWhat is odd?", ["variable:df"]),
        ("@été @_ @__x1", ["variable:été", "variable:_", "variable:__x1"]),
        ("see @file:a.csv", ["file:a.csv"]),
        ("see @file:a.csv, @file:b/c.py. (@file:d) **@file:e.md**", ["file:a.csv", "file:b/c.py", "file:d", "file:e.md"]),
        ("@file:a(1).csv (@file:a(1).csv)", ["file:a(1).csv"]),
        ("@file:\"my file.csv\" and @file:'it.csv'", ["file:my file.csv", "file:it.csv"]),
        ("@file: what is it", ["variable:file"]),
        ("@file is a variable", ["variable:file"]),
        ("@a/@b and @c/", ["variable:a", "variable:c"]),
    ],
)  # fmt: skip
def test_mentions_are_found(text: str, mentions: list[str]) -> None:
    assert found(text) == mentions


@pytest.mark.parametrize(
    "text",
    [
        "ada@example.org", "mail ada.l@example.org now", "a@b", "x.@df", "/@df", "@", "@ df", "@2x", "npm i @types/node",
        "`@df`", "``a ` @df``", "use `x @df y` here", "`spans\nlines @df`", "```\n@df\n```",
        "```python\n@df\n```", "~~~\n@df\n```\n@df\n~~~", "````\n```\n@df\n````", "  ```\n@df",
        "@app.get('/x')\ndef f(): ...", "@property\ndef f(self): ...", "  @a.b\n  @c(1, (2))\n  class X: ...",
        "@retry(\n    times=3,\n)\nasync def f(): ...", "@dataclass  # frozen\nclass A: ...",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_mention_stays_text(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "mentions"),
    [
        ("`open @df", ["variable:df"]),
        ("`a`` @df", ["variable:df"]),
        ("`one\n\n@df `two", ["variable:df"]),
        ("```\nx\n```\n@df", ["variable:df"]),
        ("`x` @df `y`", ["variable:df"]),
        ("``` not `a fence @df", ["variable:df"]),
        ("    ```\n@df", ["variable:df"]),
        ("@app\ntext", ["variable:app"]),
        ("@app.get(\ntext", ["variable:app"]),
        ("text @wraps\ndef f(): ...", ["variable:wraps"]),
    ],
)
def test_what_only_looks_like_code_does_not_hide_a_mention(text: str, mentions: list[str]) -> None:
    assert found(text) == mentions


def test_a_path_without_its_second_quote_is_refused() -> None:
    with pytest.raises(UsageError, match="in line 2 of the prompt is not closed"):
        find_mentions('first\nsee @file:"my file\n"')


@given(st.text(alphabet="@`~ \n(a.file:\"'d") | st.text())
def test_any_text_is_read(text: str) -> None:
    try:
        mentions = find_mentions(text)
    except UsageError:
        return
    assert all(
        f"@{m.value}" in text or f"@file:{m.value}" in text or m.value in text for m in mentions
    )


@pytest.mark.parametrize("part", ["@x\n", "`@x ", "``a`", "@x(\n", "```\n@a\n", '@file:"a" ', "@ "])
def test_a_long_text_is_read_in_no_time(part: str) -> None:
    text = part * 20_000
    start = time.process_time()
    find_mentions(text)
    assert time.process_time() - start < 5
