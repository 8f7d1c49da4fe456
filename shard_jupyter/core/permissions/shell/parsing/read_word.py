"""One word of a shell text, its quotes taken off as bash does.

Only what has one meaning is read; all else is `NotPlain`. Backslash before a blank is left out
although bash knows it: parsers cut such words in two.
"""

from __future__ import annotations

import re

from shard_jupyter.core.permissions.shell.parsed_command import Piece, Word


class NotPlain(ValueError):
    """The text has something whose meaning the text alone does not tell; says what, in words."""


class NotValid(NotPlain):
    """A grammar finds no command in it. What exactly is wrong, it cannot say."""


_PART = re.compile(
    r"""\\(?P<escaped>.)|'(?P<single>[^']*)'|"(?P<double>(?:\\.|[^"\\])*)"|(?P<bare>[^\\'"])""",
    re.DOTALL,
)
_IN_DOUBLE = re.compile(r"\\([$`\"\\])|(\$(?=$|[ |)/.,\\\]]))|([$`])|([^$`\\]+|\\)", re.DOTALL)
_ONLY_PLAIN = re.compile(r"[A-Za-z0-9_@%+:./^,*?!-][A-Za-z0-9_@%+:./^,*?!-]*")
_BRACES = re.compile(r"\{.*(?:,|\.\.)|^[{}]$", re.DOTALL)


def read_word(raw: str) -> Word:
    """Read `raw`, the slice of one word.

    Raises:
        NotPlain: it stands for more than its own characters.
    """
    if _ONLY_PLAIN.fullmatch(raw):
        return Word((Piece(raw, is_quoted=False),))
    parts: list[tuple[str, bool]] = []
    end = 0
    while end < len(raw):
        found = _PART.match(raw, end)
        if found is None:
            raise NotPlain("a quote in it is not closed")
        end = found.end()
        parts.append(_read_part(found, parts, raw))
    _refuse_braces(parts)
    return Word(_quote_lone_bracket(_join(parts)))


def _read_part(found: re.Match[str], before: list[tuple[str, bool]], raw: str) -> tuple[str, bool]:
    escaped, single, double, bare = found.group("escaped", "single", "double", "bare")
    if escaped is not None:
        if escaped in " \t\n":
            raise NotPlain("a backslash before a blank hides where a word ends")
        return escaped, True
    if single is not None:
        return single, True
    if double is not None:
        return _read_double(double), True
    if bare in "|&;()<> \t\n":
        raise NotPlain(f"{bare!r} stands where a word should be")
    if bare == "`":
        raise NotPlain("`…` runs another command for its words")
    if bare == "$" and found.end() < len(raw):
        raise NotPlain("what stands after `$` is only known when it runs")
    if bare == "~" and (not before or before[-1][1] or before[-1][0] in "=:"):
        raise NotPlain("`~` stands for a home folder")
    if bare == "#" and not before:
        raise NotPlain("`#` begins a comment")
    return bare, bare == "$"


def _read_double(text: str) -> str:
    """Read what stands between double quotes, where a backslash is one only before four signs."""
    read = []
    for found in _IN_DOUBLE.finditer(text):
        if found[3]:
            name = text[found.start() : found.start() + 20]
            raise NotPlain(f"`{name}` in quotes is only known when it runs")
        read.append(found[1] or found[2] or found[4] or "")
    return "".join(read)


def _join(parts: list[tuple[str, bool]]) -> list[Piece]:
    pieces: list[Piece] = []
    for text, is_quoted in parts:
        if pieces and pieces[-1].is_quoted == is_quoted:
            pieces[-1] = Piece(pieces[-1].text + text, is_quoted)
        else:
            pieces.append(Piece(text, is_quoted))
    return pieces


def _refuse_braces(parts: list[tuple[str, bool]]) -> None:
    """`{a,b}` and `{1..3}` are several words; a quoted comma counts too, to be sure."""
    shape = "".join(text if bare or text in ",." else "x" for text, quoted in parts
                    for bare in (not quoted,))  # fmt: skip
    if _BRACES.search(shape):
        raise NotPlain("braces in it stand for several words")


def _quote_lone_bracket(pieces: list[Piece]) -> tuple[Piece, ...]:
    """`[` without `]` after it is no glob sign but itself: the program `[`, above all."""
    bare = "".join(piece.text for piece in pieces if not piece.is_quoted)
    if "[" not in bare or "]" in bare[bare.index("[") :]:
        return tuple(pieces)
    split: list[Piece] = []
    for piece in pieces:
        if piece.is_quoted:
            split.append(piece)
            continue
        runs = (run for run in re.split(r"(\[)", piece.text) if run)
        split += [Piece(run, is_quoted=run == "[") for run in runs]
    return tuple(split)
