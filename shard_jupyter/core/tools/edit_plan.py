"""Where an edit goes and what it puts there. Pure: text in, replacements out.

Matching is done on decoded text, the change on bytes (`splice`): what no replacement covers stays
the same bytes, whatever encoding, BOM, tabs or mixed line ends it has. New text is never
interpreted: it is spliced, not substituted by a pattern.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches

from shard_jupyter.core.text.text_encoding import TextEncoding
from shard_jupyter.core.text.text_lines import line_number_at, split_keeping_ends, split_lines
from shard_jupyter.core.text.truncation import cut_line
from shard_jupyter.errors import ToolFailed

MAX_LISTED = 10
MAX_SEARCHED_LINES = 10_000
"""Up to here similar lines are looked for."""
MAX_APPROXIMATE_CHARS = 2 << 20
MIN_APPROXIMATE_CHARS = 8
"""Less than this, without blanks, is found by chance."""

_LOOKALIKES = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "-"}
)


@dataclass(frozen=True)
class Replacement:
    """Put `text` in the place of the characters from `start` to `end`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class EditPlan:
    """Replacements in the order of the file, not overlapping."""

    replacements: tuple[Replacement, ...]
    is_approximate: bool = False


def plan_edit(text: str, old: str, new: str, *, everywhere: bool) -> EditPlan:
    """Find `old` and say what to replace. LF in `old` and `new` stands for the file's line end.

    Raises:
        ToolFailed: nothing or too much matches; the text says what is nearest.
    """
    old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    spans = _find_all(text, old)
    if len(spans) > 1 and not everywhere:
        raise ToolFailed(
            f"The old text occurs {len(spans)} times, {_at_lines(text, [s for s, _ in spans])}.",
            next_step="Give more of the lines around it, or set all.",
        )
    if spans:
        return EditPlan(tuple(_fit_ends(text, span, old, new) for span in spans))
    return EditPlan((_approximate(text, old, new),), is_approximate=True)


def apply_plan(text: str, plan: EditPlan) -> str:
    parts: list[str] = []
    at = 0
    for change in plan.replacements:
        parts += (text[at : change.start], change.text)
        at = change.end
    return "".join((*parts, text[at:]))


def splice(data: bytes, text: str, encoding: TextEncoding, plan: EditPlan) -> bytes:
    """Do to the bytes what `apply_plan` does to the text.

    Raises:
        ToolFailed: the new text does not go into the encoding, or the place of a character in
            the bytes is not certain (an encoding in which several byte runs mean the same).
    """
    parts = [data[: len(encoding.bom)]]
    at_byte, at_char = len(encoding.bom), 0
    for change in plan.replacements:
        for end, is_kept in ((change.start, True), (change.end, False)):
            run = text[at_char:end].encode(encoding.codec)
            if data[at_byte : at_byte + len(run)] != run:
                raise ToolFailed(
                    f"The file cannot be edited safely as {encoding.codec}.",
                    next_step="Use bash, or convert it to UTF-8 (iconv) first.",
                )
            if is_kept:
                parts.append(run)
            at_byte, at_char = at_byte + len(run), end
        parts.append(_encode_new(text[change.start : change.end], change.text, encoding))
    return b"".join((*parts, data[at_byte:]))


def _encode_new(replaced: str, new: str, encoding: TextEncoding) -> bytes:
    """Characters that stood there before are known to fit, also where the encoding is a guess."""
    encoding.encode("".join(set(new) - set(replaced)))
    return new.encode(encoding.codec)


def _find_all(text: str, old: str) -> list[tuple[int, int]]:
    if "\n" in old and "\r\n" in text:
        pattern = "(?:\r\n|\n)".join(re.escape(line) for line in old.split("\n"))
        return [found.span() for found in re.finditer(pattern, text)]
    spans = []
    start = text.find(old)
    while start >= 0:
        spans.append((start, start + len(old)))
        start = text.find(old, start + len(old))
    return spans


def _fit_ends(text: str, span: tuple[int, int], old: str, new: str) -> Replacement:
    """Give new lines the line end of the place, and unchanged ones exactly their own."""
    start, end = span
    if "\r\n" not in text or "\n" not in new:
        return Replacement(start, end, new)
    there = _ends_in(text[start:end])
    usual = there[0] if there else _end_near(text, end)
    old_lines, new_lines = old.split("\n"), new.split("\n")
    ahead = _count_equal(old_lines, new_lines)
    behind = _count_equal(old_lines[::-1], new_lines[::-1])
    count = len(new_lines) - 1
    ends = []
    for index in range(count):
        back = count - index
        if index < min(ahead, len(there)):
            ends.append(there[index])
        elif back <= min(behind, len(there)):
            ends.append(there[-back])
        else:
            ends.append(usual)
    whole = (line + line_end for line, line_end in zip(new_lines, (*ends, ""), strict=True))
    return Replacement(start, end, "".join(whole))


def _ends_in(text: str) -> list[str]:
    return re.findall("\r\n|\n", text)


def _end_near(text: str, at: int) -> str:
    """The line end of the line in which `at` lies, or else of the line before."""
    newline = text.find("\n", at)
    if newline < 0:
        newline = text.rfind("\n", 0, at)
    return "\r\n" if newline > 0 and text[newline - 1] == "\r" else "\n"


def _count_equal(first: list[str], second: list[str]) -> int:
    count = 0
    for left, right in zip(first, second, strict=False):
        if left != right:
            break
        count += 1
    return count


def _approximate(text: str, old: str, new: str) -> Replacement:
    """The one place whose lines differ from `old` only by blanks, quotes or dashes.

    It has as many lines as `old`, so a match can never swallow more.
    """
    lines = split_keeping_ends(text) if len(text) <= MAX_APPROXIMATE_CHARS else []
    wanted = split_lines(old)
    plain = [_plain(line) for line in wanted]
    places = []
    if len("".join(plain).replace(" ", "")) >= MIN_APPROXIMATE_CHARS:
        normal = [_plain(line) for line in lines]
        first = plain[0]
        places = [
            index
            for index, line in enumerate(normal)
            if line == first and normal[index : index + len(plain)] == plain
        ]
    if len(places) != 1:
        raise _no_match(text, old, new, places)
    first_line = places[0]
    there = lines[first_line : first_line + len(wanted)]
    start = sum(map(len, lines[:first_line]))
    ends_there = there[-1].endswith("\n") and not old.endswith("\n")
    end = (
        start + sum(map(len, there)) - (len(there[-1]) - len(_bare(there[-1])) if ends_there else 0)
    )
    usual = next(iter(_ends_in("".join(there))), _end_near(text, end))
    body = usual.join(_adapt(wanted, [_bare(line) for line in there], split_lines(new)))
    return Replacement(start, end, body + (usual if new.endswith("\n") else ""))


def _adapt(wanted: list[str], there: list[str], new_lines: list[str]) -> list[str]:
    """Lines that the edit keeps stay as the file has them; new ones get the file's indentation."""
    indents = {
        _indent(old): _indent(real) for old, real in zip(wanted, there, strict=True) if old.strip()
    }
    result = []
    for kind, i1, i2, j1, j2 in SequenceMatcher(None, wanted, new_lines, False).get_opcodes():
        if kind == "equal":
            result += there[i1:i2]
        else:
            result += [_reindent(line, indents) for line in new_lines[j1:j2]]
    return result


def _reindent(line: str, indents: dict[str, str]) -> str:
    lead = _indent(line)
    known = max((key for key in indents if lead.startswith(key)), key=len, default=None)
    return line if known is None else indents[known] + line[len(known) :]


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _bare(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")


def _plain(line: str) -> str:
    return " ".join(line.translate(_LOOKALIKES).split())


def _no_match(text: str, old: str, new: str, places: list[int]) -> ToolFailed:
    if places:
        numbers = ", ".join(str(place + 1) for place in places[:MAX_LISTED])
        return ToolFailed(
            "The old text is not in the file; apart from blanks and quotes it is there "
            f"{len(places)} times, at lines {numbers}.",
            next_step="Give it exactly.",
        )
    if new and len(found := _find_all(text, new)) == 1:
        return ToolFailed(
            "The old text is not in the file, but the new text is, "
            f"{_at_lines(text, [found[0][0]])}: perhaps the edit was made before."
        )
    lines = split_lines(text)[:MAX_SEARCHED_LINES]
    first = next((line.strip() for line in split_lines(old) if line.strip()), "")
    numbers_of = {line.strip(): number for number, line in enumerate(lines, 1) if line.strip()}
    near = get_close_matches(first[:400], [line[:400] for line in numbers_of], n=3, cutoff=0.6)
    listed = [
        f"\n{number}: {cut_line(line)}" for line, number in numbers_of.items() if line[:400] in near
    ]
    hint = f" Nearest to its first line:{''.join(listed[:3])}" if listed else ""
    return ToolFailed(
        f"The old text is not in the file.{hint}", next_step="Read the file and give it exactly."
    )


def _at_lines(text: str, starts: list[int]) -> str:
    listed = [str(line_number_at(text, start)) for start in starts[:MAX_LISTED]]
    more = f" and {len(starts) - MAX_LISTED} more" if len(starts) > MAX_LISTED else ""
    return f"at line{'s' if len(starts) > 1 else ''} {', '.join(listed)}{more}"
