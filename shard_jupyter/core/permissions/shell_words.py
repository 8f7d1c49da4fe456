"""What the text of a shell command may run. Pure.

`read_segments` finds everything that might be run, and rather too much: deny and ask rules stand on
that. Allow rules stand on what `shell/parse_command.py` understands whole. Neither looks into
scripts, or into code of other languages.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

EXPANDED = "\0"
"""Stands in a word where expansion puts something that the text does not tell."""


@dataclass
class Segment:
    """Words, their quotes taken off, from where a program may start to where it has its last one.

    Attributes:
        targets: words behind a redirection.
    """

    words: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)

    @property
    def program(self) -> str:
        """The word that names the program; empty when there are assignments only."""
        return next((word for word in self.words if not _ASSIGNMENT.match(word)), "")


_ASSIGNMENT = re.compile(r"\w+(?:\[.*\])?\+?=")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


@lru_cache(maxsize=16)
def read_segments(command: str) -> tuple[Segment, ...]:
    """Cut a command at everything after which a shell may start a program."""
    text = unicodedata.normalize("NFKC", _INVISIBLE.sub("", command))
    text = text.replace(EXPANDED, "")
    segments = _Reader(text).read()
    if "case" in text:
        # Where it is the keyword, a parenthesis inside of it closes nothing.
        segments += _Reader(text, heeds_case=True).read()
    if "<<" in text:
        # An apostrophe in a here-document is no quote: what follows must not be lost in it.
        segments += _Reader(_QUOTES.sub("", text)).read()
    return tuple(segment for segment in segments if segment.words or segment.targets)


def is_easy(command: str) -> bool:
    """True where quotes cannot be misread, so that data can be told from what is run."""
    return _EASY.fullmatch(command) is not None


_QUOTES = re.compile("['\"]")
_EASY = re.compile(r"[^#`$<>\\(){}]*")

_STARTS_COMMAND = frozenset(";&|\n\r")
_BLANK = frozenset(" \t\v\f")
_EXPANDS = frozenset("*?[]{}!")
_COMMAND_FOLLOWS = "if then elif else while until do time coproc ! { } case in esac"
_KEYWORDS = frozenset(_COMMAND_FOLLOWS.split())


@dataclass
class _Frame:
    """What is open: a quote, a group or a substitution, and the word that goes on behind it."""

    kind: str
    segment: Segment
    word: str | None
    cases: int = 0


class _Reader:
    """Walks over a command once."""

    def __init__(self, text: str, *, heeds_case: bool = False) -> None:
        self._text = text
        self._heeds_case = heeds_case
        self._at = 0
        self._open: list[_Frame] = []
        self._word: str | None = None
        self._is_target = False
        self._segment = Segment()
        self._found = [self._segment]

    def read(self) -> list[Segment]:
        while self._at < len(self._text):
            char = self._take()
            kind = self._kind
            if kind in ("'", "$'"):
                self._read_single_quoted(char, kind)
            elif kind == '"':
                self._read_double_quoted(char)
            else:
                self._read_code(char)
        while self._open:
            self._close()
        self._end_word()
        return self._found

    @property
    def _kind(self) -> str:
        return self._open[-1].kind if self._open else ""

    def _read_single_quoted(self, char: str, kind: str) -> None:
        if char == "'":
            self._open.pop()
        elif char == "\\" and kind == "$'":
            self._take()
            self._add(EXPANDED)
        else:
            self._add(char)

    def _read_double_quoted(self, char: str) -> None:
        if char == '"':
            self._open.pop()
        elif char == "\\":
            self._read_escaped()
        elif char in "$`":
            self._read_expansion(char)
        else:
            self._add(char)

    def _read_escaped(self) -> None:
        escaped = self._take()
        if escaped != "\n":  # a line that goes on in the next one
            self._add(escaped)

    def _read_code(self, char: str) -> None:
        if char == "\\":
            self._read_escaped()
        elif char in "'\"":
            self._begin_quote(char)
        elif char in "$`":
            self._read_expansion(char)
        elif char in "()":
            self._read_parenthesis(char)
        elif char in "<>":
            self._end_word()
            self._is_target = True
        elif char in _STARTS_COMMAND:
            self._start_command()
        elif char in _BLANK:
            self._end_word()
        elif char == "#" and self._word is None:
            self._skip_comment()
        else:
            self._add(EXPANDED if self._expands(char) else char)

    def _expands(self, char: str) -> bool:
        if char == "~":
            return not self._word or self._word[-1] in "=:"
        return char in _EXPANDS and not self._is_bracket(char)

    def _is_bracket(self, char: str) -> bool:
        """`[`, `[[` and their ends are words of their own, `{` and `!` keywords."""
        follows = self._text[self._at : self._at + 1]
        alone = follows == "" or follows in " \t\n;&|)" or follows == char
        return alone and (self._word is None or self._word == char)

    def _read_expansion(self, char: str) -> None:
        while self._text.startswith("\\\n", self._at):
            self._at += 2
        follows = self._text[self._at : self._at + 1]
        if char == "`" and self._kind == "`":
            self._close()
        elif char == "`":
            self._begin_command("`")
        elif follows == "(":
            self._at += 1
            self._begin_command("$(")
        elif follows == "'" and self._kind != '"':
            self._at += 1
            self._begin_quote("$'")
        else:
            self._add(EXPANDED)

    def _read_parenthesis(self, char: str) -> None:
        if char == ")":
            self._end_word()
        if char == ")" and self._kind in ("(", "$(") and not self._open[-1].cases:
            self._close()
        elif char == "(":
            self._begin_command("(")
        else:
            self._start_command()

    def _begin_quote(self, kind: str) -> None:
        self._add("")
        self._open.append(_Frame(kind, self._segment, None))

    def _begin_command(self, kind: str) -> None:
        self._open.append(_Frame(kind, self._segment, self._word))
        self._word = None
        self._start_command()

    def _close(self) -> None:
        frame = self._open.pop()
        if frame.kind in ("$(", "`"):
            self._end_word()
            self._segment, self._word = frame.segment, (frame.word or "") + EXPANDED
        elif frame.kind == "(":
            self._start_command()

    def _skip_comment(self) -> None:
        ends = "\n`" if any(frame.kind == "`" for frame in self._open) else "\n"
        while self._at < len(self._text) and self._text[self._at] not in ends:
            self._at += 1

    def _take(self) -> str:
        taken = self._text[self._at : self._at + 1]
        self._at += 1
        return taken

    def _add(self, text: str) -> None:
        self._word = (self._word or "") + text

    def _end_word(self) -> None:
        word, self._word = self._word, None
        if word is None:
            return
        if self._is_target:
            self._segment.targets.append(word)
        elif word in _KEYWORDS:
            self._start_command()
            if self._heeds_case and self._open:
                self._open[-1].cases += {"case": 1, "esac": -1}.get(word, 0)
        else:
            self._segment.words.append(word)
        self._is_target = False

    def _start_command(self) -> None:
        self._end_word()
        self._is_target = False
        self._segment = Segment()
        self._found.append(self._segment)


_PART_BREAK = re.compile(r"[\s;&|()<>`$'\"{}!,=\\\0]+")


def parts_of(word: str) -> Iterator[str]:
    """Yield the word itself, then what a program that runs it as code would see in it."""
    yield word
    parts = [part for part in _PART_BREAK.split(word) if part]
    if parts != [word]:
        yield from parts
