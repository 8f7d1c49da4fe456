"""Looks at folders and small files of other programs: reads only, and never waits or gives up."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from shard_jupyter.capabilities.local_models.gguf.safe_text import make_safe_text

MOST_ENTRIES = 20_000
"""Of all folders of one place together."""
_MOST_NOTES = 50
_LARGEST_SMALL_FILE = 1 << 20


class Search:
    """A look at one place. `notes` says what could not be read; `label` names the place."""

    def __init__(self, label: str, notes: list[str], most_entries: int = MOST_ENTRIES) -> None:
        self._label, self._notes = label, notes
        self._left = self._most = most_entries
        self._told_limit = False

    def note(self, what: str) -> None:
        told = f"{self._label}: {what}"
        if told in self._notes:
            return
        if len(self._notes) < _MOST_NOTES:
            self._notes.append(told)
        elif len(self._notes) == _MOST_NOTES:
            self._notes.append("There was more that could not be read.")

    def list_folder(self, folder: Path) -> list[Path]:
        """List what lies in a folder, sorted; nothing when it is not there."""
        found: list[Path] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if self._left == 0:
                        self._say_limit(folder)
                        break
                    self._left -= 1
                    found.append(folder / entry.name)
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as error:
            self.note(f"{show_path(folder)} cannot be read: {error.strerror}.")
        return sorted(found)

    def list_folders_in(self, folder: Path) -> list[Path]:
        """List the folders in a folder, links to folders too."""
        return [path for path in self.list_folder(folder) if self.is_folder(path)]

    def is_folder(self, path: Path) -> bool:
        look = self.look_at(path)
        return look is not None and stat.S_ISDIR(look.st_mode)

    def look_at(self, path: Path) -> os.stat_result | None:
        """Look at what a path leads to; None when there is nothing (any more)."""
        try:
            return path.stat()
        except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a NUL in it
            return None
        except OSError as error:
            self.note(f"{show_path(path)} cannot be read: {error.strerror}.")
            return None

    def read_small_file(self, path: Path) -> bytes | None:
        """Read a file of another program; None, with a note, when that is not possible."""
        try:
            # O_NONBLOCK: opening a pipe would wait for a writer.
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            try:
                look = os.fstat(descriptor)
                if stat.S_ISREG(look.st_mode) and look.st_size <= _LARGEST_SMALL_FILE:
                    return os.pread(descriptor, look.st_size, 0)
            finally:
                os.close(descriptor)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            self.note(f"{show_path(path)} cannot be read: {error.strerror}.")
            return None
        self.note(f"{show_path(path)} is not what it should be.")
        return None

    def _say_limit(self, folder: Path) -> None:
        if not self._told_limit:
            self._told_limit = True
            self.note(f"looked at {self._most} files and folders, up to {show_path(folder)}.")


def show_path(path: Path) -> str:
    return make_safe_text(str(path))


def find_canonical(path: Path) -> Path:
    """Follow all links; never fails, not for a loop of links either."""
    return Path(os.path.realpath(path))
