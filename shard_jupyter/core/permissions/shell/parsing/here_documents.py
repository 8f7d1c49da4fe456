"""Here-documents, taken out of a text so that the rest can be read line by line.

`cat <<'EOF'` with its lines becomes `cat <<<MARK`, and the lines are kept beside it. MARK holds a
control character, which no text has that came through the pre-gate.
"""

from __future__ import annotations

import re

from shard_jupyter.core.permissions.shell.parsing.read_word import NotPlain, read_word

MARK = "\x01"
_STEP = re.compile(
    r"""(?P<word>(?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|[^\s|&;()<>'"\\])+)|(?P<here><<(?:-|(?!<)))"""
    r"""|(?P<line>\n)|(?P<other><<<|[ \t|&;()<>])""",
    re.DOTALL,
)
_DELIMITER = re.compile(r"""[ \t]*((?:\\.|'[^'\n]*'|"[^"\n\\]*"|[^\s|&;()<>'"\\])+)""")
_COMMENT = re.compile(r"#[^\n]*")


def take_here_documents(text: str) -> tuple[str, tuple[str, ...]]:
    """Take the here-documents out; give the text with marks, and their lines in its order.

    Raises:
        NotPlain: one is not quoted, so that the shell would put values in, or does not end.
    """
    if "<<" not in text:
        return text, ()
    kept: list[str] = []
    bodies: list[str] = []
    open_ones: list[tuple[str, bool]] = []
    end = 0
    while end < len(text):
        comment = _COMMENT.match(text, end) if _may_begin_comment(text, end) else None
        found = comment or _STEP.match(text, end)
        if found is None:
            raise NotPlain("a quote in it is not closed")
        end = found.end()
        if found.lastgroup == "here":
            delimiter, end = _read_delimiter(text, end)
            kept.append(f"<<<{MARK}{len(bodies) + len(open_ones)}{MARK}")
            open_ones.append((delimiter, found[0] == "<<-"))
            continue
        kept.append(found[0])
        if found.lastgroup == "line":
            for delimiter, strips_tabs in open_ones:
                body, end = _read_body(text, end, delimiter, strips_tabs=strips_tabs)
                bodies.append(body)
            open_ones = []
    if open_ones:
        raise NotPlain("a here-document in it does not end")
    return "".join(kept), tuple(bodies)


def find_body(word: str, bodies: tuple[str, ...]) -> str | None:
    """Find the lines for which `word` stands; None if it stands for itself."""
    return bodies[int(word.strip(MARK))] if word.startswith(MARK) else None


def _may_begin_comment(text: str, at: int) -> bool:
    return text[at] == "#" and (at == 0 or text[at - 1] in " \t\n;|&()<>")


def _read_delimiter(text: str, at: int) -> tuple[str, int]:
    found = _DELIMITER.match(text, at)
    if found is None:
        raise NotPlain("a here-document in it has no end mark")
    if text[found.end() : found.end() + 1] in ("'", '"'):
        raise NotPlain("the end mark of a here-document in it has several lines")
    if not any(sign in found[1] for sign in "'\"\\"):
        raise NotPlain("the shell puts values into a here-document whose end mark is not quoted")
    return read_word(found[1]).text, found.end()


def _read_body(text: str, at: int, delimiter: str, *, strips_tabs: bool) -> tuple[str, int]:
    lines: list[str] = []
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end].lstrip("\t") if strips_tabs else text[at:end]
        if line == delimiter:
            return "".join(lines), min(end + 1, len(text))
        lines.append(line + "\n")
        at = end + 1
    raise NotPlain("a here-document in it does not end")
