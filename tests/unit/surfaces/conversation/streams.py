"""Text streams that say whether they are a terminal."""

from __future__ import annotations

import io


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True
