"""The names of the parts of a split model: `big-00001-of-00003.gguf`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_NAME = re.compile(r"(?P<stem>.*)-(?P<part>[0-9]{5})-of-(?P<count>[0-9]{5})\.gguf", re.DOTALL)


@dataclass(frozen=True)
class PartName:
    """What a file's name says; parts count from 1."""

    stem: str
    part: int
    count: int

    def name_of(self, part: int) -> str:
        return f"{self.stem}-{part:05}-of-{self.count:05}.gguf"

    def name_all(self) -> Iterator[str]:
        """Name the parts one by one: a name may say that there are 99999."""
        return (self.name_of(part) for part in range(1, self.count + 1))


def read_part_name(path: Path) -> PartName | None:
    """Return None for a file whose name does not say that it is a part of several."""
    found = _NAME.fullmatch(path.name)
    if found is None:
        return None
    name = PartName(found["stem"], int(found["part"]), int(found["count"]))
    return name if 1 <= name.part <= name.count and name.count > 1 else None
