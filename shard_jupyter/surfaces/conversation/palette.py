"""What a stream can show: colours only on a terminal, and only where they are wanted."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TextIO

Style = Literal["dim", "bold", "red", "green", "yellow", "cyan"]
_CODES: dict[Style, str] = {
    "dim": "2", "bold": "1", "red": "31", "green": "32", "yellow": "33", "cyan": "36",
}  # fmt: skip


@dataclass(frozen=True)
class Palette:
    """Puts colour around text that is harmless already; `on` False leaves it as it is."""

    on: bool

    def paint(self, text: str, *styles: Style) -> str:
        if not self.on or not text:
            return text
        codes = ";".join(_CODES[style] for style in styles)
        return f"\x1b[{codes}m{text}\x1b[0m"


def choose_palette(stream: TextIO, environ: Mapping[str, str]) -> Palette:
    """NO_COLOR of any value but the empty one switches colours off (no-color.org)."""
    wanted = not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
    return Palette(on=wanted and stream.isatty())


def can_rewrite(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether a line that stands there already can be taken back."""
    return stream.isatty() and environ.get("TERM") != "dumb"


def terminal_width(stream: TextIO) -> int:
    """Columns of the terminal behind `stream`; 80 where there is none."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
