"""Reads the inside of a JSON string while it is being written. Pure."""

from __future__ import annotations

_PLAIN = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_REPLACEMENT = "\ufffd"


class StringReader:
    """Takes what follows the opening quote, in pieces of any size.

    Half of a surrogate pair becomes U+FFFD, because no log or client could carry it.
    """

    def __init__(self) -> None:
        self.is_closed = False
        self.is_broken = False
        self._escape = ""
        self._high = ""

    def feed(self, piece: str) -> str:
        """Return the text that is certain now. What follows the closing quote is not looked at."""
        out: list[str] = []
        for char in piece:
            if self.is_closed or self.is_broken:
                break
            self._take(char, out)
        return "".join(out)

    def _take(self, char: str, out: list[str]) -> None:
        if self._escape:
            self._take_escaped(char, out)
        elif char == "\\":
            self._escape = char
        elif char == '"':
            self.is_closed = True
            self._put("", out)
        elif char < " ":
            self.is_broken = True
        else:
            self._put(char, out)

    def _take_escaped(self, char: str, out: list[str]) -> None:
        self._escape += char
        if self._escape[1] != "u":
            self.is_broken = char not in _PLAIN
            if not self.is_broken:
                self._put(_PLAIN[char], out)
            self._escape = ""
        elif len(self._escape) > 2 and char not in "0123456789abcdefABCDEF":
            self.is_broken = True
        elif len(self._escape) == 6:
            digits = self._escape[2:]
            self._put(chr(int(digits, 16)), out)
            self._escape = ""

    def _put(self, char: str, out: list[str]) -> None:
        """Put a character, or hold the first half of a pair until the second comes."""
        high, self._high = self._high, ""
        is_low = "\udc00" <= char <= "\udfff"
        if high and is_low:
            char = (high + char).encode("utf-16", "surrogatepass").decode("utf-16")
        elif high:
            out.append(_REPLACEMENT)
        if len(char) == 1 and "\ud800" <= char <= "\udbff":
            self._high = char
        elif len(char) == 1 and "\udc00" <= char <= "\udfff":
            out.append(_REPLACEMENT)
        else:
            out.append(char)
