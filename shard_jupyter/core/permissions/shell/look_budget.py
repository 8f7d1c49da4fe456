"""How much of the disk is looked at for one decision."""

from __future__ import annotations

from dataclasses import dataclass

from shard_jupyter.core.permissions.shell.parsing.read_word import NotPlain

MAX_LOOKED_AT = 10_000


@dataclass
class LookBudget:
    """Shared by all that looks at files for one text, so that many patterns cost no more."""

    left: int = MAX_LOOKED_AT

    def spend(self, files: int) -> None:
        """Note that so many names are looked at.

        Raises:
            NotPlain: they were too many.
        """
        self.left -= files
        if self.left < 0:
            raise NotPlain("too many files would have to be looked at")
