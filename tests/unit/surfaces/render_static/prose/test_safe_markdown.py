"""A model's Markdown stays Markdown, and no renderer makes anything harmful of it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shard_jupyter.surfaces.render_static.prose.safe_markdown import fence, make_safe_markdown
from tests.unit.surfaces.render_static.hostile import PIECES, WHOLE, assert_visible, check_markdown

pytestmark = pytest.mark.proves("A08", "J3.38", "T72")

TRICKS = (
    *PIECES,
    " ", "x", "$a", "b$", "$ ", "\n\n", "`a~~b`", "`x$ <img src=x>`", "`\\end{x} <img src=x>`",
    "```\n$$ <img src=x>\n```\n", "$$\nx\n$$", "~~~~\n<img src=x>\n~~~\n", "> ```\n<img src=x>\n",
    "- ```\n<img src=x>\n", "    ```\n<img src=x>\n    ```\n",
)  # fmt: skip


@pytest.mark.parametrize(
    "source",
    [
        "Plain words, *stressed*, **bold**, ~~gone~~ and `code`.",
        "# Title\n\n- one\n- two\n  - deeper\n\n1. first\n2. second",
        "- [ ] open\n- [x] done",
        "| a | b |\n| --- | ---: |\n| 1 | 2 |",
        "> a quote\n> of two lines",
        "```py\nif a < b:\n    print('<b>')\n```",
        "[ok.example](https://ok.example/a_b?x=1), [a@ok.example](mailto:a@ok.example), https://ok.example",
        "`List<int>`, `$HOME`, `a == b`, `a\\nb` and ``a`b``",
        "Math $x_1 + y$ here.\n\n$$\n\\begin{a} x \\\\ y \\end{a}\n$$",
        "a < b, 3 <= 4, x &amp; y, &lt;tag&gt;, snake_case",
    ],
)
def test_what_is_harmless_stays_as_it_is(source: str) -> None:
    assert make_safe_markdown(source) == source


@pytest.mark.parametrize(
    ("source", "written"),
    [
        ("<script>x</script>", "&lt;script>x&lt;/script>"),
        ("a <!-- hidden --> b", "a &lt;!-- hidden --> b"),
        ("![cat](http://evil.example/a.png)", "Image: cat (`http://evil.example/a.png`)"),
        ("![](a.png)", "Image (`a.png`)"),
        ("[x](javascript:alert(1))", "x (`javascript:alert(1)`)"),
        ("[x](JAVA&#115;CRIPT:a)", "x (`JAVA&#115;CRIPT:a`)"),
        ("[src](src/a.py)", "src (`src/a.py`)"),
        ('[t](https://ok.example "title")', "[t](https://ok.example) (`ok.example`)"),
        ("[a](https://ok.example/x_(y))", "[a](https://ok.example/x_%28y%29) (`ok.example`)"),
        ("<https://ok.example>", "[https://ok.example](https://ok.example)"),
        ("!<https://ok.example>", "\\![https://ok.example](https://ok.example)"),
        ("[a]: http://evil.example/c.png", "\\[a]: http://evil.example/c.png"),
        ("![a][b]", "!\\[a]\\[b]"),
        ("a `b", "a \\`b"),
        ("``` x ```", "` x `"),
        ("costs $5 and `$HOME`", "costs \\$5 and `$HOME`"),
        ("hidden &#8238; &rlm; &shy", "hidden ⟨U+202E⟩ ⟨U+200F⟩ ⟨U+00AD⟩"),
        ("```mermaid\ngraph\n```", "```\ngraph\n```"),
        ("~~~\na ``` b\n~~~", "````\na ``` b\n````"),
        ("text\n```\nunclosed", "text\n\n```\nunclosed\n```"),
        ("> ```\n> in\n> ```\n> out", "```\nin\n```\n\n> out"),
        ("1. a\n   ```\n   in\n   ```\n   more\n2. b", "1. a\n\n```\nin\n```\n\nmore\n\n2. b"),
        ("a\r\nb", "a\nb"),
    ],
)
def test_what_is_not_is_shown_instead(source: str, written: str) -> None:
    assert make_safe_markdown(source) == written
    check_markdown(written)


@pytest.mark.parametrize(
    "source",
    [
        "http://ok.example/`<img src=x>`",
        "see www.ok.example[`<img src=x>`](https://ok.example)",
        "| `a | b` `<img src=x>` |\n|---|---|",
        "`|` x `b` `<img src=x>`\n|",
        "~~a `b~~ <img src=x>`",
        "$a `b$ <img src=x>`",
        "`a$$` b\n\n```\n$$ <img src=x>\n```",
        "\\begin{x}\n\n```\n\\end{x} <img src=x>\n```",
        "- a\n  ```\n<img src=x>\n  ```",
        "text\n    ```\n    `` <img src=x>",
        "> ```\n<img src=x>\n> ```",
        "~~~ `\n<img src=x>\n~~~",
    ],
)
def test_two_renderers_that_read_a_text_in_two_ways_are_both_harmless(source: str) -> None:
    assert "<img src=x>" in check_markdown(make_safe_markdown(source))


@settings(deadline=None, max_examples=300)
@given(st.lists(st.sampled_from(TRICKS), max_size=20).map("".join))
def test_no_mix_of_tricks_is_obeyed(source: str) -> None:
    check_markdown(make_safe_markdown(source))


@pytest.mark.parametrize("source", WHOLE, ids=range(len(WHOLE)))
def test_all_tricks_at_once_are_shown(source: str) -> None:
    assert "alert(1)" in check_markdown(make_safe_markdown(source))


@given(st.text(alphabet="`~a\n "), st.text(max_size=5))
def test_nothing_ends_a_fence_but_its_own_end(text: str, info: str) -> None:
    written = fence(text, info)
    opening, *_, closing = written.split("\n")
    assert opening.rstrip(opening.lstrip("`")) == closing or opening.startswith(closing)
    assert "`" * len(closing) not in text
    assert check_markdown(written).strip("\n") == text.strip("\n") or not text.strip()


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_the_result_can_be_written_and_hides_nothing(text: str) -> None:
    assert_visible(make_safe_markdown(text))


@pytest.mark.parametrize(
    ("source", "host"),
    [
        ("[docs](https://evil.example/x)", "evil.example"),
        ("[ok.example](https://evil.example/?d=secret)", "evil.example"),
        ("[https://ok.example](https://evil.example)", "evil.example"),
        ("[docs](https://ok.example@evil.example:8080/)", "evil.example:8080"),
        ("[docs](HTTPS://EVIL.example/)", "EVIL.example"),
        ("[me](mailto:them@evil.example?body=x)", "them@evil.example"),
        ("[ok](https://\u043ek.example)", "⟨U+043E⟩k.example"),
        ("| a |\n| --- |\n| [docs](https://evil.example) |", "evil.example"),
    ],
)
def test_where_a_link_leads_stands_beside_it(source: str, host: str) -> None:
    assert f"(`{host}`)" in make_safe_markdown(source)


@pytest.mark.parametrize(
    "source",
    [
        "[ok.example](https://ok.example/x)",
        "[a@ok.example](mailto:a@ok.example)",
        "<https://ok.example/x>",
    ],
)
def test_a_link_that_says_where_it_leads_stays_alone(source: str) -> None:
    assert "(`" not in make_safe_markdown(source)
