"""A message that is being written. The pieces may come twice, or with a gap."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class OpenText:
    pieces: list[str] = field(default_factory=list)
    length: int = 0

    def add(self, offset: int, text: str) -> bool:
        """Take what is new. After a gap nothing is taken until the whole text comes."""
        new = text[self.length - offset :] if offset <= self.length else ""
        if not new:
            return False
        self.pieces.append(new)
        self.length += len(new)
        return True

    def join(self) -> str:
        self.pieces = ["".join(self.pieces)]
        return self.pieces[0]
