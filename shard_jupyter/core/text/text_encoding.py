"""How bytes are read as text: BOM, strict UTF-8, what the file declares, and only then a guess."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from functools import lru_cache

from shard_jupyter.errors import ToolFailed

SNIFF_BYTES = 1 << 16
BINARY_PROBE_BYTES = 8192

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: its BOM starts with the shorter one
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARATION = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")  # PEP 263
_STATEFUL = re.compile(r"iso2022|hz|utf_?7|punycode|idna|escape")


@dataclass(frozen=True)
class TextEncoding:
    """A codec and the BOM in front of the text, which is never part of it."""

    codec: str
    bom: bytes = b""
    is_guessed: bool = False

    @property
    def is_plain(self) -> bool:
        """UTF-8 without a BOM: nothing a reader need be told."""
        return self.codec == "utf-8" and not self.bom

    def decode(self, data: bytes) -> str:
        """Text of a whole file, without its BOM."""
        return data[len(self.bom) :].decode(self.codec)

    def encode(self, text: str) -> bytes:
        """Bytes of new text, without a BOM.

        Raises:
            ToolFailed: the encoding has no such character, or it is a guess that new
                characters would have to bet on.
        """
        if self.is_guessed and not text.isascii():
            raise ToolFailed(
                f"The encoding of this file is only guessed ({self.codec}), so text beyond ASCII "
                "cannot be put into it safely.",
                next_step="Use ASCII, or convert the file to UTF-8 with bash (iconv) first.",
            )
        try:
            return text.encode(self.codec)
        except UnicodeEncodeError as error:
            raise ToolFailed(
                f"The file is {self.codec}, which has no {error.object[error.start]!r}."
            ) from error


UTF8 = TextEncoding("utf-8")


def looks_binary(data: bytes) -> bool:
    """Zero bytes near the start, and no BOM that would explain them."""
    return _by_bom(data) is None and b"\0" in data[:BINARY_PROBE_BYTES]


def detect_encoding(data: bytes) -> TextEncoding | None:
    """Find an encoding that reads all of `data`; None when it is no text."""
    marked = _by_bom(data)
    if marked is not None:
        return marked if _reads(marked, data) else None
    if looks_binary(data):
        return None
    if _reads(UTF8, data):
        return UTF8
    return _declared(data) or _guess(data)


def _by_bom(data: bytes) -> TextEncoding | None:
    for bom, codec in _BOMS:
        if data.startswith(bom):
            return TextEncoding(codec, bom)
    return None


def _reads(encoding: TextEncoding, data: bytes) -> bool:
    try:
        encoding.decode(data)
    except (UnicodeError, LookupError):
        return False
    return True


def _declared(data: bytes) -> TextEncoding | None:
    for line in data[:SNIFF_BYTES].split(b"\n")[:2]:
        found = _DECLARATION.match(line)
        if found:
            encoding = TextEncoding(found[1].decode("ascii").lower())
            return encoding if _is_splicable(encoding) and _reads(encoding, data) else None
    return None


def _guess(data: bytes) -> TextEncoding:
    """Statistics over the start; Latin-1 reads anything and is the last resort."""
    encoding = TextEncoding(_guessed_codec(data[:SNIFF_BYTES]), is_guessed=True)
    if _is_splicable(encoding) and _reads(encoding, data):
        return encoding
    return TextEncoding("latin-1", is_guessed=True)


@lru_cache(maxsize=8)
def _guessed_codec(sample: bytes) -> str:
    from charset_normalizer import (  # noqa: PLC0415 - 17 ms that only such a file need cost
        from_bytes,
    )

    best = from_bytes(sample).best()
    return "latin-1" if best is None else best.encoding


def _is_splicable(encoding: TextEncoding) -> bool:
    """False for codecs in which the meaning of a byte depends on what came long before it."""
    try:
        name = codecs.lookup(encoding.codec).name.replace("-", "_")
    except LookupError:
        return False
    return not _STATEFUL.search(name)
