"""Which files of a rules folder are read: regular ones that lie in it, in the order of their names."""

from __future__ import annotations

import os
import stat
from itertools import islice
from pathlib import Path
from typing import NoReturn

from shard_jupyter.core.files.path_guard import is_within, shown
from shard_jupyter.errors import ConfigError

MAX_FILES = 64
MAX_ENTRIES = 1000


def list_rule_files(folder: Path, *, home: Path | None = None) -> tuple[Path, ...]:
    """Return the real paths of the rule files in `folder`; none where there is no such folder.

    Files whose names begin with a dot, or end in something else than `.json`, are none of ours.

    Args:
        folder: where the files lie.
        home: the folder must really lie in this one.

    Raises:
        ConfigError: something in it cannot be read, leads out of it, or is too much.
    """
    if not os.path.lexists(folder):
        return ()
    real = _follow(folder)
    if home is not None and not is_within(real, _follow(home)):
        _refuse(folder, f"leads out of {home}", "Put a folder there.")
    names = _names_in(folder, real)
    if len(names) > MAX_FILES:
        _refuse(folder, f"holds more than {MAX_FILES} rule files", "Put their rules together.")
    return tuple(_check_file(folder, real, name) for name in names)


def _names_in(folder: Path, real: Path) -> list[str]:
    try:
        with os.scandir(real) as entries:
            names = [entry.name for entry in islice(entries, MAX_ENTRIES + 1)]
    except OSError as error:
        _refuse(folder, f"cannot be read: {error.strerror}", "Make it a folder of yours.")
    if len(names) > MAX_ENTRIES:
        _refuse(folder, f"holds more than {MAX_ENTRIES} entries", "Take out what is no rule file.")
    ours = (name for name in names if name.casefold().endswith(".json"))
    return sorted(name for name in ours if not name.startswith("."))


def _check_file(folder: Path, real: Path, name: str) -> Path:
    file = _follow(real / name)
    if not is_within(file, real):
        _refuse(folder / name, "is a link that leads out of its folder", "Put a copy there.")
    try:
        is_regular = stat.S_ISREG(file.lstat().st_mode)
    except OSError as error:
        _refuse(folder / name, f"cannot be read: {error.strerror}", "Mend it, or take it away.")
    if not is_regular:
        _refuse(folder / name, "is not a regular file", "Put a file there, or take it away.")
    return file


def _follow(path: Path) -> Path:
    try:
        return Path(os.path.realpath(path))
    except OSError as error:
        _refuse(path, f"cannot be read: {error.strerror}", "Mend it, or take it away.")


def _refuse(path: Path, what: str, next_step: str) -> NoReturn:
    raise ConfigError(f"{shown(str(path))} {what}.", next_step=next_step)
