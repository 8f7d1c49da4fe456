"""Names of places, as a person knows them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from shard_jupyter.core.files.path_guard import locate
from shard_jupyter.errors import ToolFailed

ANY_HOST = "any"
_URL_HOST = re.compile(
    r"\b[A-Za-z][A-Za-z0-9+.-]*://(?:[^\s/'\"?#@]*@)?(\[[^\]\s]*\]|[^\s/'\"?#\\]+)"
)


class Place(Protocol):
    """Where a path given by a model really lies."""

    @property
    def real(self) -> Path: ...
    @property
    def inside(self) -> bool: ...


def show_folder(folder: Path) -> str:
    """Write a folder as a person knows it: with `~` for their own."""
    home = Path.home()
    if home != Path(home.anchor) and folder.is_relative_to(home):
        inner = folder.relative_to(home)
        return "~" if inner == Path() else f"~/{inner}"
    return str(folder)


def name_place(place: Place, cwd: Path) -> str:
    if place.inside and place.real.is_relative_to(cwd):
        return str(place.real.relative_to(cwd))
    return show_folder(place.real)


def find_place(path: str, cwd: Path) -> Place | None:
    """Find where a path leads; None for what is none. Looks at the file system."""
    try:
        return locate(cwd, path)
    except ToolFailed:
        return None


def name_path(path: str, cwd: Path) -> str:
    place = find_place(path, cwd)
    return path if place is None else name_place(place, cwd)


def hosts_in(text: str) -> Iterator[str]:
    return (found[1] for found in _URL_HOST.finditer(text))
