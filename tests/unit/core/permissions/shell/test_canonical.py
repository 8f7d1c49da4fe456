from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.core.permissions.shell.canonical import (
    literal_word,
    replace_words,
    write_canonical,
)
from shard_jupyter.core.permissions.shell.parse_command import parse_command
from shard_jupyter.core.permissions.shell.parsed_command import (
    CommandList,
    NotUnderstood,
    Piece,
    Word,
    simple_commands,
)
from shard_jupyter.core.permissions.shell.parsed_command import SimpleCommand as Simple
from tests.fakes.shell_fuzz import FRAGMENTS

pytestmark = pytest.mark.proves("T44", "T69", "A06")


def understood(text: str) -> CommandList:
    parsed = parse_command(text)
    assert isinstance(parsed, CommandList), (text, parsed)
    return parsed


def meaning(commands: CommandList) -> object:
    """All that a shell sees; where the quotes stood is not of it."""
    return [
        (
            [(word.text, _signs(word)) for word in one.words],
            [(r.operator, r.descriptor, r.target.text) for r in one.redirections],
        )
        for one in simple_commands(commands)
    ], [(connector, line.is_negated, len(line.stages)) for connector, line in commands.items]


def _signs(word: Word) -> str:
    """Which characters are unquoted signs of a glob."""
    if not word.is_glob:
        return ""
    marks = ((c, p.is_quoted) for p in word.pieces for c in p.text)
    return "".join("*" if c in "*?[" and not quoted else "." for c, quoted in marks)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("ls\nrm  -rf \t build", "ls; rm -rf build"),
        ("r\\m x", "rm x"),
        ("'ls' \"a b\"", "ls 'a b'"),
        ("ls # rm", "ls"),
        ("find . \\( -name '*.py' \\)", "find . '(' -name '*.py' ')'"),
        ("cat src/*.py 'a b'*", "cat src/*.py 'a b'*"),
        ("ls [!a-z]*", "ls [!a-z]*"),
        ("(ls|wc)2>&1&&pwd", "( ls | wc ) 2>&1 && pwd"),
        ("{ ls\n}", "{ ls; }"),
        ("ls>&-", "ls >&-"),
        ("cat <<- 'X'\n\ta'b\n\tX\nls", "cat <<'EOF'; ls\na'b\nEOF"),
        ("cat <<'X'\nEOF\nX", "cat <<'EOF1'\nEOF\nEOF1"),
        ("cat <<''a\nx\na", "cat <<'EOF'\nx\nEOF"),
        ("cat <<< *", "cat <<< '*'"),
    ],
)
def test_canonical_form_is_as_people_write_it(text: str, canonical: str) -> None:
    assert write_canonical(understood(text)) == canonical


def test_words_are_replaced_in_the_order_of_the_text() -> None:
    new = iter((["a", "x y"], ["b"], ["c"]))
    commands = replace_words(understood("1 | (2); 3 >f"), lambda _: next(new))
    assert write_canonical(commands) == "a 'x y' | ( b ); c >f"


TEXTS = st.lists(st.sampled_from([*FRAGMENTS, "a", "b c"]), max_size=8).map("".join) | st.text(
    alphabet=st.sampled_from("ab *?[]'\"\\$`~#{}()<>|&;!=-\n\t12,.E"), max_size=30
)


@given(TEXTS)
def test_canonical_form_means_what_the_text_means(text: str) -> None:
    parsed = parse_command(text)
    if isinstance(parsed, NotUnderstood):
        assert parsed.reason
        return
    canonical = write_canonical(parsed)
    again = understood(canonical)
    assert meaning(again) == meaning(parsed)
    assert write_canonical(again) == canonical


@given(st.text(max_size=200))
def test_no_text_makes_the_reader_raise(text: str) -> None:
    assert isinstance(parse_command(text), (CommandList, NotUnderstood))


PLAIN = st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126), max_size=12)


@given(st.lists(PLAIN, min_size=1, max_size=5), st.booleans())
def test_any_words_survive_being_written_and_read(words: list[str], as_glob: bool) -> None:
    glob = Word((Piece("*", is_quoted=False), *literal_word(words[0]).pieces))
    extra = (glob,) if as_glob and words[0] else ()
    base = understood("echo x").items[0][1].stages[0]
    assert isinstance(base, Simple)
    command = Simple((*base.words[:1], *map(literal_word, words), *extra))
    text = write_canonical(_one(command))
    parsed = parse_command(text)
    if isinstance(parsed, NotUnderstood):
        # Every word was written by the standard library; only what no reader trusts is left.
        assert "backslash" in parsed.reason or "'\\\n" in text, (text, parsed)
        return
    assert [w.text for w in next(simple_commands(parsed)).words] == [w.text for w in command.words]


def _one(command: Simple) -> CommandList:
    line = understood("echo x").items[0][1]
    return CommandList((("", type(line)((command,))),))
