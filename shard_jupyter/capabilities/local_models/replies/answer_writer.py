"""What is shown of an answer while a small model writes it. Pure.

What was shown cannot be taken back, so the last word is held until it is whole.
"""

from __future__ import annotations

import re

CUT_MARK = " …"
_SENTENCE_END = re.compile(r"(?<=[^\W\d_])[.!?][\"')\]]*(?=\s)|[。！？]|(?=\n)")


class AnswerWriter:
    """`is_full`: nothing more is taken; the model may be stopped.

    Attributes:
        text: all that was shown.
    """

    def __init__(self, *, one_sentence: bool) -> None:
        self.text = ""
        self.is_full = False
        self._one_sentence = one_sentence
        self._held = ""

    def add(self, piece: str) -> str:
        """Return what may be shown now."""
        if self.is_full:
            return ""
        self._held += piece
        if not self.text:
            self._held = self._held.lstrip()
        if self._one_sentence and (end := self._find_end()) is not None:
            self._held, self.is_full = self._held[:end], True
            return self._show(len(self._held))
        words = re.search(r"\s+\S*\Z", self._held)
        return self._show(words.start() if words else 0)

    def finish(self, *, is_whole: bool) -> str:
        """Return the rest. An answer that was cut loses its last, broken word and gets a mark."""
        if self.is_full:
            return ""
        self.is_full = True
        rest = self._held.rstrip() if is_whole else ""
        self._held = rest if is_whole else rest + (CUT_MARK if self.text else "")
        return self._show(len(self._held))

    def _find_end(self) -> int | None:
        # The end may be at the seam: what was shown ends with a word, what is held begins after it.
        seam = self.text[-1:]
        found = _SENTENCE_END.search(seam + self._held)
        return None if found is None else max(0, found.end() - len(seam))

    def _show(self, length: int) -> str:
        shown, self._held = self._held[:length], self._held[length:]
        self.text += shown
        return shown
