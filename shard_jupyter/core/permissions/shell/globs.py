"""The names for which a glob stands, found by ourselves as bash would by default.

Nothing is listed outside the workspace. Patterns whose meaning depends on the version or the
locale of bash (hidden names, named classes) are not taken.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from shard_jupyter.core.files.path_guard import is_within
from shard_jupyter.core.permissions.shell.look_budget import LookBudget
from shard_jupyter.core.permissions.shell.parsed_command import Word
from shard_jupyter.core.permissions.shell.parsing.read_word import NotPlain

MAX_NAMES = 1000
MAX_TOTAL = 65_536
_ODD_NAME = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u200b-\u200f\u2028-\u202e\u2060-\u2069]")

Part = tuple[tuple[str, bool], ...]
"""The characters of a pattern between two slashes; True: it was quoted."""


def expand_glob(word: Word, folder: Path, workspace: Path, budget: LookBudget) -> tuple[str, ...]:
    """Give the names for which `word` stands in `folder`; none where bash leaves it as it is.

    Sorted by code point. Names may start with `-`: the caller looks for that.

    Raises:
        NotPlain: the pattern is not taken, leads out of the workspace, or finds too much.
    """
    parts = _split(word)
    found = [""]
    for number, part in enumerate(parts):
        is_last = number == len(parts) - 1
        found = list(_extend(found, part, folder, workspace, budget, is_last=is_last))
        if len(found) > MAX_NAMES:
            raise NotPlain(f"`{word.text}` stands for more than {MAX_NAMES} names")
    if sum(map(len, found)) > MAX_TOTAL:
        raise NotPlain(f"the names for which `{word.text}` stands are too long together")
    odd = next((name for name in found if _ODD_NAME.search(name)), None)
    if odd is not None:
        raise NotPlain(f"`{word.text}` stands for a name with characters that cannot be seen")
    return tuple(sorted(found))


def _split(word: Word) -> list[Part]:
    signs = [(sign, piece.is_quoted) for piece in word.pieces for sign in piece.text]
    parts: list[Part] = [()]
    for sign, is_quoted in signs:
        if sign == "/":
            parts.append(())
        else:
            parts[-1] = (*parts[-1], (sign, is_quoted))
    if any(not part for part in parts[1:-1]):
        raise NotPlain(f"`{word.text}` has empty parts")
    return parts


def _extend(
    found: list[str],
    part: Part,
    folder: Path,
    workspace: Path,
    budget: LookBudget,
    *,
    is_last: bool,
) -> Iterator[str]:
    """Put one more part behind each of `found`, keeping what exists."""
    after = "" if is_last else "/"
    text = "".join(sign for sign, _ in part)
    if not any(sign in "*?[" and not is_quoted for sign, is_quoted in part):
        for before in found:
            # Before the first pattern nothing is looked at, as bash does not either.
            budget.spend(1)
            if not before or not text or os.path.lexists(folder / (before + text)):
                yield before + text + after
        return
    if text.startswith("."):
        raise NotPlain(f"`{text}` stands for hidden names")
    pattern = _compile(part)
    for before in found:
        yield from (
            before + name + after
            for name in _list_names(folder / before, workspace, budget, only_folders=not is_last)
            if pattern.fullmatch(name)
        )


def _list_names(
    place: Path, workspace: Path, budget: LookBudget, *, only_folders: bool
) -> list[str]:
    real = Path(os.path.realpath(place))
    if not is_within(real, workspace):
        raise NotPlain(f"{place.name or place} leads out of the workspace")
    names: list[str] = []
    try:
        with os.scandir(real) as entries:
            for entry in entries:
                budget.spend(1)
                if not entry.name.startswith(".") and (not only_folders or entry.is_dir()):
                    names.append(entry.name)
    except OSError:
        return []
    return names


def _compile(part: Part) -> re.Pattern[str]:
    written: list[str] = []
    at = 0
    while at < len(part):
        sign, is_quoted = part[at]
        at += 1
        if is_quoted or sign not in "*?[":
            written.append(re.escape(sign))
        elif sign == "[":
            choice, at = _compile_choice(part, at)
            written.append(choice)
        elif sign == "?" or not written or written[-1] != ".*":
            written.append(".*" if sign == "*" else ".")
    return re.compile("".join(written), re.DOTALL)


def _compile_choice(part: Part, at: int) -> tuple[str, int]:
    """Compile what follows `[`; without its end it is a plain sign."""
    end = at + (at < len(part) and part[at] in (("!", False), ("^", False)))
    end += end < len(part) and part[end][0] == "]"
    while end < len(part) and part[end] != ("]", False):
        end += 1
    if end >= len(part):
        return re.escape("["), at
    inner = part[at:end]
    text = "".join(sign for sign, _ in inner)
    if "[" in text or any(is_quoted for _, is_quoted in inner) or "\\" in text:
        raise NotPlain(f"`[{text}]` is no plain choice of characters")
    is_negated = text[:1] in ("!", "^")
    choice = "".join(_ranges(text[is_negated:]))
    return f"[{'^' if is_negated else ''}{choice}]", end + 1


def _ranges(text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        if text[at + 1 : at + 2] == "-" and at + 2 < len(text):
            first, last = text[at], text[at + 2]
            if not (first.isalnum() and last.isalnum() and first <= last):
                raise NotPlain(f"`{first}-{last}` is no plain range of characters")
            yield f"{first}-{last}"
            at += 3
        else:
            yield re.escape(text[at])
            at += 1
