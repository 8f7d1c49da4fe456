"""The environment of a command that runs because it only reads, and nobody was asked.

Minimal on purpose (`security.md` §2.5): no variable that a program takes for an order, and no
folder on PATH from which the workspace or another user could put a program under a known name.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
KEPT = ("HOME", "USER", "TMPDIR")
NO_HOME = "/nonexistent"
SHIM_FOLDERS = frozenset({"shims", ".asdf", ".volta", "aquaproj-aqua"})
"""The programs in these look into the workspace for which program they shall start; that may be
one of the workspace (`.tool-versions`, `.python-version`, `aqua.yaml`)."""
FIXED = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TERM": "dumb"}


def confined_environment(base: Mapping[str, str], workspace: Path) -> dict[str, str]:
    """Make it from `base`, the agent's own. Looks at the folders on PATH: call it in a thread.

    `workspace` is absolute and real.
    """
    places = dict.fromkeys((*SYSTEM_PATH, *_trusted(base.get("PATH", ""), workspace)))
    kept = {name: base[name] for name in KEPT if name in base}
    if "HOME" in kept and _is_inside(Path(os.path.realpath(kept["HOME"])), workspace):
        kept["HOME"] = NO_HOME  # programs obey files in it, as jq does `.jq` and file `.magic`
    return {**kept, **FIXED, "PATH": ":".join(places)}


def _trusted(search_path: str, workspace: Path) -> Iterator[str]:
    for place in search_path.split(os.pathsep):
        if place.startswith(os.sep) and _is_trusted(Path(place), workspace):
            yield place


def _is_trusted(place: Path, workspace: Path) -> bool:
    """Neither the folder nor where it leads is of the workspace, open to all, or full of shims."""
    try:
        real = place.resolve(strict=True)
        if not real.is_dir() or any(map(_is_open, (place, real))):
            return False
        if any(_is_open(above, but_sticky=True) for above in (*place.parents, *real.parents)):
            return False
    except OSError:
        return False
    return not any(
        _is_inside(each, workspace) or not SHIM_FOLDERS.isdisjoint(map(str.casefold, each.parts))
        for each in (place, real)
    )


def _is_open(folder: Path, *, but_sticky: bool = False) -> bool:
    """All may put something in it; with `but_sticky`: in the place of what is in it."""
    mode = folder.stat().st_mode
    return bool(mode & stat.S_IWOTH) and not (but_sticky and mode & stat.S_ISVTX)


def _is_inside(path: Path, workspace: Path) -> bool:
    return workspace in (path, *path.parents)
