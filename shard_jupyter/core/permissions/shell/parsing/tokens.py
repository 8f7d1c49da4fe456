"""A shell text cut into words and operators as bash cuts it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from shard_jupyter.core.permissions.shell.parsing.read_word import NotPlain

TokenKind = Literal["word", "operator", "number", "line"]


@dataclass(frozen=True)
class Token:
    """`raw` is the text as written; `number` is the descriptor before `<` or `>`."""

    kind: TokenKind
    raw: str
    start: int

    @property
    def span(self) -> tuple[int, int]:
        return self.start, self.start + len(self.raw)


_TOKEN = re.compile(
    r"""[ \t]+|(?P<comment>\#[^\n]*)|(?P<line>\n)|(?P<number>\d+(?=[<>]))"""
    r"""|(?P<word>(?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|[^ \t\n|&;()<>'"\\])+)"""
    r"""|(?P<operator>&>>|&>|<<<|<<-|<<|<&-|>&-|<&|>&|>>|>\||<>|[<>]\(|\(\(|&&|\|\||\|&"""
    r"""|;;&|;;|;&|[;|&()<>])""",
    re.DOTALL,
)
_ALSO_WITHOUT_BLANK = " \t\n|&;()<>"
_REFUSED = {
    "<(": "`<(…)` runs another command",
    ">(": "`>(…)` runs another command",
    "((": "`((` begins arithmetic",
    "&": "`&` leaves it running in the background",
    "<<": "a here-document in it is not plain",
    "<<-": "a here-document in it is not plain",
    ";;": "`;;` belongs to a case",
    ";&": "`;&` belongs to a case",
    ";;&": "`;;&` belongs to a case",
}


def read_tokens(text: str) -> list[Token]:
    """Cut `text` into tokens; comments and blanks are left out.

    Raises:
        NotPlain: a quote is open, an operator has no place in a plain command, or digits stand
            so that parsers differ on whether they name a descriptor.
    """
    tokens: list[Token] = []
    end = 0
    while end < len(text):
        found = _TOKEN.match(text, end)
        if found is None:
            raise NotPlain("a quote in it is not closed")
        start, end = end, found.end()
        kind = found.lastgroup
        if kind in (None, "comment"):
            continue
        following = text[end : end + 1]
        if kind == "word":
            _refuse_glued(found[0], following)
            tokens.append(Token("word", found[0], start))
        elif kind == "operator":
            _refuse_operator(found[0], following)
            tokens.append(Token("operator", found[0], start))
        else:
            tokens.append(Token("line" if kind == "line" else "number", found[0], start))
    return tokens


def _refuse_glued(word: str, following: str) -> None:
    if following in ("<", ">") and (word[-1].isdigit() or "{" in word):
        raise NotPlain(f"it is not plain whether `{word}{following}` names a descriptor")


def _refuse_operator(operator: str, following: str) -> None:
    if operator in _REFUSED:
        raise NotPlain(_REFUSED[operator])
    if operator in (">&-", "<&-") and following and following not in _ALSO_WITHOUT_BLANK:
        raise NotPlain(f"`{operator}{following}` is no plain redirection")
