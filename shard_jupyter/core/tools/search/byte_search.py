"""A regular expression over files, as a program of its own: `python -I -S byte_search.py`.

Never imported by the agent to search: a pattern can take for ever, and a process can be killed.
Standard library only, and little of it, because its start is most of its cost. Input, separated by
NUL: flags (`l` literal, `i` ignore case), lines of context, the pattern, then file names. Output:
the records that `match_records` reads.
"""

from __future__ import annotations

import os
import re
import stat
import sys

TYPE_CHECKING = False  # as in typing, whose import would double the start
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

MAX_FILE_BYTES = 64 << 20
PROBE_BYTES = 8192
BAD_PATTERN = 3
"""Exit code: the pattern is no regular expression; the reason is on stderr."""

# Patterns for which a line by itself is another question than the same line in its file.
_NEEDS_LINES = re.compile(r"\\A|\\Z|\(\?")


def compile_pattern(pattern: str, *, literal: bool, ignore_case: bool) -> re.Pattern[str]:
    flags = re.MULTILINE | (re.IGNORECASE if ignore_case else 0)
    return re.compile(re.escape(pattern) if literal else pattern, flags)


def text_of(data: bytes) -> str | None:
    """Text with LF line ends; bytes that are no UTF-8 survive as surrogates. None: binary."""
    for bom, codec in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if data.startswith(bom):
            return data[2:].decode(codec, "replace").replace("\r\n", "\n")
    if b"\0" in data[:PROBE_BYTES]:
        return None
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    return text.replace("\r\n", "\n") if "\r\n" in text else text


def find_hits(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Each matching line once: its number and the place of its first match, both 0-based."""
    if _NEEDS_LINES.search(pattern.pattern):
        lines = text.removesuffix("\n").split("\n") if text else []
        for number, line in enumerate(lines):
            found = pattern.search(line)
            if found:
                yield number, found.start()
        return
    # One search over the file finds the next line that may match, which is then asked alone.
    at = number = 0
    while found := pattern.search(text, at):
        start = text.rfind("\n", 0, found.start()) + 1
        if start == len(text):
            return
        end = text.find("\n", found.start())
        end = len(text) if end < 0 else end
        number += text.count("\n", at, start)
        alone = pattern.search(text[start:end])
        if alone:
            yield number, alone.start()
        at, number = end + 1, number + 1
        if at >= len(text):
            return


def search_file(name: bytes, pattern: re.Pattern[str], context: int, out: BinaryIO) -> None:
    data = read_file(name)
    text = None if data is None else text_of(data)
    if text is None:
        return
    hits = dict(find_hits(text, pattern))
    if not hits:
        return
    lines = text.split("\n")
    last = len(lines) - (text.endswith("\n"))
    wanted = {
        number
        for hit in hits
        for number in range(max(hit - context, 0), min(hit + context + 1, last))
    }
    for number in sorted(wanted):
        line = lines[number]
        mark = b"-"
        if number in hits:
            mark = b":%d:" % (len(to_bytes(line[: hits[number]])) + 1)
        out.write(b"%s\0%d%s%s\n" % (name, number + 1, mark, to_bytes(line)))


def to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def read_file(name: bytes) -> bytes | None:
    """None for what is gone, is no regular file, or is too large."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FILE_BYTES:
            return None
        return file.read()


def main() -> int:
    flags, context, source, *names = sys.stdin.buffer.read().split(b"\0")
    try:
        pattern = compile_pattern(source.decode(), literal=b"l" in flags, ignore_case=b"i" in flags)
    except re.error as error:
        sys.stderr.write(str(error))
        return BAD_PATTERN
    for name in names:
        search_file(name, pattern, int(context), sys.stdout.buffer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
