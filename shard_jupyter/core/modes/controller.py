"""Which mode an agent is in."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from shard_jupyter.contracts.mode import Mode
from shard_jupyter.errors import UnknownMode


class ModeController:
    """Holds the current mode; a change counts from the next model call on."""

    def __init__(self, modes: Mapping[str, Mode], start: str) -> None:
        """Begin in `start`.

        Raises:
            UnknownMode: there is no such mode.
        """
        self.modes = dict(modes)
        self.current = self.find(start)

    def find(self, name: str) -> Mode:
        """Look a mode up by its exact name.

        Raises:
            UnknownMode: there is none; the message names those that there are.
        """
        mode = self.modes.get(name)
        if mode is None:
            near = difflib.get_close_matches(name, self.modes, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            known = ", ".join(sorted(self.modes))
            raise UnknownMode(f"There is no mode {name!r}.{hint}", next_step=f"Modes: {known}.")
        return mode

    def switch(self, name: str) -> tuple[Mode, Mode]:
        """Change the mode; return the old and the new one.

        Raises:
            UnknownMode: there is no such mode.
        """
        old, self.current = self.current, self.find(name)
        return old, self.current
