"""Turns a `%%shard` cell into one line of Python that awaits the magic. Pure.

IPython's own rewriting of a cell magic calls it, and a coroutine that it returns is never awaited.
It also takes blanks out of the body. Here the body goes through `repr`, so that nothing in it means
anything. The line does not call `run_cell_magic`, which refuses an empty body in its own way and
could not say whether a cell was rewritten or code called the magic.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from shard_jupyter.errors import UsageError

MAGIC = "%%shard"
_LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")
_OUTER = re.compile(
    r"\s*(?P<line>%%(?P<name>capture|time|timeit|prun)(?:[ \t][^\r\n]*)?)(?:\r\n|\r|\n)"
)
"""Magics that run the rest of their cell; they take it for Python, which a prompt is not."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_SHOWN_COMMENT_CHARS = 60


@dataclass(frozen=True)
class ShardCell:
    """A cell taken apart: what follows `%%shard` on its line, and all below it as it is."""

    line: str
    body: str


def find_shard_cell(text: str) -> ShardCell | None:
    """Take a `%%shard` cell apart; None for any other cell.

    Raises:
        UsageError: a comment stands above `%%shard`, where IPython finds no magic.
    """
    comment = ""
    position = 0
    while position < len(text):
        found = _LINE.match(text, position)
        assert found is not None  # matches the empty line too
        position = found.end()
        line = found[1].strip()
        if line.startswith("#"):
            comment = comment or line
        elif line:
            rest = _after_magic(line)
            if rest is None:
                return None
            if comment:
                raise _refuse_comment(comment)
            return ShardCell(rest, text[position:])
    return None


def rewrite_cell(text: str, *, is_awaited: bool) -> str | None:
    """Return what is to run in place of a `%%shard` cell; None for any other cell.

    Raises:
        UsageError: it can be no cell; IPython shows the error and fails the cell.
    """
    outer = _OUTER.match(text)
    cell = find_shard_cell(text if outer is None else text[outer.end() :])
    if cell is None:
        return None
    refuse_surrogates(text, "cell")
    call = f"get_ipython().find_cell_magic('shard')({cell.line!r}, {cell.body!r}"
    if outer is not None:
        return f"{_check_outer(outer)}\n{call})\n"
    return f"await {call}, is_awaited=True)\n" if is_awaited else f"{call})\n"


def restore_body(body: str, *raw_cells: str) -> str:
    """Take off the line end that IPython puts after a cell which has none.

    `raw_cells` are the cells that it may have come from, as they were sent.
    """
    for raw_cell in raw_cells:
        is_its_end = MAGIC in raw_cell and f"{raw_cell}\n".endswith(body)
        if body.endswith("\n") and is_its_end and not raw_cell.endswith("\n"):
            return body[:-1]
    return body


def refuse_surrogates(text: str, what: str) -> None:
    """Refuse half a surrogate pair: no encoding can carry it.

    Raises:
        UsageError: says which character it is, and in which line.
    """
    found = _SURROGATE.search(text)
    if found is None:
        return
    line = text.count("\n", 0, found.start()) + 1
    raise UsageError(
        f"Line {line} of the {what} holds half a character (U+{ord(found[0]):04X}), "
        "which cannot be sent.",
        next_step="Delete it, or type the character anew.",
    )


def _check_outer(outer: re.Match[str]) -> str:
    """The line of a magic around ours, which goes on to run what we put below it."""
    if outer["name"] == "capture":
        raise UsageError(
            f"%%capture around {MAGIC} would hide that a turn has failed.",
            next_step=f"Use {MAGIC} --quiet, or --out VAR to get the answer as a value.",
        )
    return outer["line"]


def _after_magic(line: str) -> str | None:
    """What follows the magic in a stripped line; None if it does not start with it."""
    if not line.startswith(MAGIC):
        return None
    rest = line[len(MAGIC) :]
    return rest.lstrip() if not rest or rest[0].isspace() else None


def _refuse_comment(comment: str) -> UsageError:
    shown = comment[:_SHOWN_COMMENT_CHARS] + ("…" if len(comment) > _SHOWN_COMMENT_CHARS else "")
    return UsageError(
        f"The comment {shown!r} stands above {MAGIC}, which must be the first line of its cell.",
        next_step=f"Move the comment into a cell of its own, or below the {MAGIC} line.",
    )
