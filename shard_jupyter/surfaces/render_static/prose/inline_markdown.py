"""Make the inside of a line of Markdown harmless, and write data into one. Pure.

See `safe_markdown` for what holds; this module holds to it within a line.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

from shard_jupyter.surfaces.render_static.prose.link_hosts import untold_host
from shard_jupyter.surfaces.render_static.visible_text import make_visible

_TICKS = re.compile(r"`+")
_TASK = re.compile(r"\s*(?:>\s*)*(?:[-*+]|\d{1,9}[.)])\s+\[[ xX]\](?=\s)")
_ENTITY = re.compile(r"&(?:\#[0-9]{1,8}|\#[xX][0-9a-fA-F]{1,8}|[A-Za-z][A-Za-z0-9]{1,40});?")
_TAG_START = re.compile(r"<(?=[A-Za-z/!?])")
_ESCAPED = {"\\<": "&lt;", "\\&": "&amp;", "\\\\": "&#92;", "\\": "&#92;"}
_TOKEN = re.compile(
    r"\\[!-/:-@\[-`{-~]|\\(?=[A-Za-z])|\{(?==)"  # an escaped sign; what TeX, or pandoc, obeys
    r"|`+|~{3,}|(?<!~)~(?!~)|\$+|\^"
    r"|!?\[|!(?=<)"
    rf"|{_TAG_START.pattern}|{_ENTITY.pattern}"
)
_ADDRESS = r"[^\s<>()\"'`\\]{0,2000}(?:\([^\s<>()\"'`\\]{0,200}\)[^\s<>()\"'`\\]{0,200}){0,9}"
_LINK = re.compile(
    r"!?\[(?P<text>(?:\\.|`[^`]{1,200}`|[^\[\]\\`]){0,500})\]"
    rf"\([ \t]*(?:<(?P<angled>[^\s<>`\\]*)>|(?P<url>{_ADDRESS}))"
    r"(?:[ \t]+(?:\"[^\"]*\"|'[^']*'))?[ \t]*\)"
)
# A renderer that makes links of bare addresses takes everything up to a blank for a part of them.
_ADDRESS_START = re.compile(r"://|www\.", re.IGNORECASE)
_AUTOLINK = re.compile(r"<(?P<url>https?://[^\s<>`\\\"']+)>", re.IGNORECASE)
_MATH = re.compile(r"(\${1,2})(?!\$)(?P<inside>(?:\\[^$`\n]|[^$`\\\n])+)\1(?!\$)")
_NO_MATH = re.compile(
    r"\]\(|!\[|\]:|\\\\[\[(]|://|www\.|^[ \t]*(?:~~~|>|#)"
    # Commands with which TeX would read or write files, or build such commands.
    r"|\\(?:\w*input|include|\w*write|open(?:in|out)|read|catcode|[egx]?def|let|csname|use|require"
    r"|special|immediate|directlua|scantokens|everyeof|file|href|url|html|class|style|cssid)",
    re.IGNORECASE | re.MULTILINE,
)
# What could be the end, or for a reader of blocks the start, of something that goes beyond code.
_NO_CODE = re.compile(r"~~|\$\$|\\\\[\[(]|\\begin\{|\\\Z")
_SAFE_SCHEME = re.compile(r"(?:https?://|mailto:)[!-~\u00a1-\U0010ffff]+\Z", re.IGNORECASE)
_QUOTED = {sign: f"%{ord(sign):02X}" for sign in "()[]|`\"'<>\\$"}


def mend_line(line: str, in_table: bool) -> str:
    """`in_table`: it stands in what may be a table, where a bar ends code and math."""
    task = _TASK.match(line)
    start = task.end() if task else 0
    return line[:start] + _mend_inline(line[start:], in_table)


def _mend_inline(text: str, in_table: bool) -> str:
    done: list[str] = []
    at = read = 0
    in_address = False
    while found := _TOKEN.search(text, at):
        done.append(text[at : found.start()])
        in_address = _is_address(text[read : found.start()], in_address)
        read = found.start()
        if in_address and found[0][0] in "`[!<$":
            mended = _Mended(_escape_all(found[0]), found.end())
        else:
            mended = _mend_token(text, found, in_table)
        done.append(mended.written)
        at = mended.end
        if mended.is_closed:
            read, in_address = at, False
    done.append(text[at:])
    return "".join(done)


def _is_address(more: str, was_address: bool) -> bool:
    """Whether a renderer that links bare addresses would take what follows `more` for its part."""
    blank = max(more.rfind(" "), more.rfind("\t"))
    return (was_address and blank < 0) or _ADDRESS_START.search(more, blank + 1) is not None


@dataclass(frozen=True)
class _Mended:
    """What to write for a token, and where to go on."""

    written: str
    end: int
    is_closed: bool = False
    """Code or a link: no address can begin in it and go on after it."""


def _escape_all(signs: str) -> str:
    """What a renderer may take for a part of a bare address must not start anything."""
    return "".join("&lt;" if sign == "<" else f"\\{sign}" for sign in signs)


def ends_in_address(text: str) -> bool:
    return _is_address(text, was_address=False)


def _mend_token(text: str, found: re.Match[str], in_table: bool) -> _Mended:
    sign, end = found[0], found.end()
    match sign[0]:
        case "\\":
            return _Mended(_ESCAPED.get(sign, sign), end)
        case "{" | "^":
            return _Mended(f"\\{sign}", end)
        case "`":
            return _mend_code(text, found, in_table)
        case "!" if sign == "!":  # before what may become a link: it would be an image
            return _Mended("\\!", end)
        case "$":
            return _mend_dollars(text, found, in_table)
        case "~":
            return _Mended("\\~" * len(sign), end)
        case "<":
            link = _AUTOLINK.match(text, found.start())
            if link and _is_safe(link["url"]):
                written = _write_link(escape_inline(link["url"]), link["url"])
                return _Mended(written, link.end(), is_closed=True)
            return _Mended("&lt;", end)
        case "&":
            return _Mended(_mend_entity(found), end)
        case _:
            return _mend_link(text, found, in_table)


def _mend_dollars(text: str, found: re.Match[str], in_table: bool) -> _Mended:
    math = _MATH.match(text, found.start())
    if math is not None:
        inside = math["inside"]
        is_split = (in_table and "|" in inside) or (len(found[0]) == 1 and "\\begin" in inside)
        mended = None if is_split else mend_math(inside)
        if mended is not None:
            return _Mended(f"{math[1]}{mended}{math[1]}", math.end(), is_closed=True)
    return _Mended("\\$" * len(found[0]), found.end())


def mend_math(inside: str) -> str | None:
    """Make math harmless; None for what is better not taken for math.

    Blanks mean nothing in it, and a blank makes that `<` starts no tag.
    """
    if _NO_MATH.search(inside):
        return None
    return _ENTITY.sub(_mend_entity, _TAG_START.sub("< ", inside))


def _mend_entity(found: re.Match[str]) -> str:
    decoded = html.unescape(found[0])
    shown = make_visible(decoded)
    return found[0] if shown == decoded else shown


def _mend_code(text: str, found: re.Match[str], in_table: bool) -> _Mended:
    run = found[0]
    for closing in _TICKS.finditer(text, found.end()):
        if closing[0] == run:
            inside = text[found.end() : closing.start()]
            span = code_span(inside, in_table=in_table)
            if span is None:
                return _Mended(write_code(inside, in_table=in_table), closing.end())
            return _Mended(span, closing.end(), is_closed=True)
    return _Mended("\\`" * len(run), found.end())


def write_code(text: str, *, in_table: bool = False) -> str:
    """Write code of one line as code where every renderer ends it, else as text in backticks."""
    return code_span(text, in_table=in_table) or f"\\`{escape_inline(text)}\\`"


def code_span(text: str, *, in_table: bool) -> str | None:
    """Write code of one line; None where no renderer can be relied on to end it."""
    if (in_table and "|" in text) or _NO_CODE.search(text) or not text.strip():
        return None
    runs = set(map(len, _TICKS.findall(text)))
    for length in (1, 2):
        if length not in runs:
            pad = " " if text.startswith("`") or text.endswith("`") else ""
            return f"{'`' * length}{pad}{text}{pad}{'`' * length}"
    return None


def _mend_link(text: str, found: re.Match[str], in_table: bool) -> _Mended:
    """Keep a web or mail link; write any other, and an image, as its text and address."""
    link = _LINK.match(text, found.start())
    if link is None:
        return _Mended(found[0].replace("[", "\\["), found.end())
    label = _mend_inline(link["text"], in_table)
    url = link["angled"] if link["angled"] is not None else link["url"]
    is_image = link[0].startswith("!")
    if _is_safe(url) and not is_image:
        host = untold_host(link["text"], url)
        where = f" ({write_code(host, in_table=in_table)})" if host else ""
        return _Mended(_write_link(label, url) + where, link.end(), is_closed=True)
    told = f"Image: {label}" if is_image and label else "Image" if is_image else label
    if not url:
        return _Mended(told, link.end())
    return _Mended(f"{told} ({write_code(url, in_table=in_table)})", link.end(), is_closed=True)


def _is_safe(url: str) -> bool:
    plain = html.unescape(url)
    return bool(_SAFE_SCHEME.match(url)) and make_visible(plain) == plain and "⟨U+" not in url


def _write_link(label: str, url: str) -> str:
    return f"[{label}]({''.join(_QUOTED.get(sign, sign) for sign in url)})"


_WRITTEN = {"<": "&lt;", "&": "&amp;", "\\": "&#92;"}
_SPECIAL = re.compile(r"[\\`*\[\]|~$^]|\{(?==)|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|<|&(?=[#A-Za-z])")
_AT_START = re.compile(r"(?:#{1,6}(?=\s|\Z)|>|[+-](?=\s|\Z)|(?:=+|-+)\s*\Z|\d{1,9}[.)](?=\s|\Z))")


def escape_inline(text: str) -> str:
    """Write data as text that means nothing inside a line. `text` must be visible already."""
    return _SPECIAL.sub(_escape_sign, text)


def escape_line(text: str) -> str:
    """Write data as text that also means nothing at the start of a line."""
    escaped = escape_inline(text.strip())
    if not _AT_START.match(escaped):
        return escaped
    place = len(escaped) - len(escaped.lstrip("0123456789"))
    return f"{escaped[:place]}\\{escaped[place:]}"


def _escape_sign(found: re.Match[str]) -> str:
    return _WRITTEN.get(found[0], f"\\{found[0]}")
