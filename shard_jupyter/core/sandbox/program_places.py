"""Where programs and their libraries lie, so that what works outside a sandbox works inside.

A program on PATH is often a link or a shim in a home that leads to an interpreter elsewhere
(security.md §5.1): the real one and what belongs to it must be readable too. A home itself never is.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

INTERPRETERS = (
    "python", "python3", "node", "ruby", "perl", "java", "go", "rustc", "cargo", "Rscript", "julia",
    "git", "bash", "uv", "rg",
)  # fmt: skip
ROOT_VARIABLES = (
    "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_ROOT", "MAMBA_ROOT_PREFIX", "PYENV_ROOT", "RBENV_ROOT",
    "RUSTUP_HOME", "CARGO_HOME", "GOROOT", "GOPATH", "NVM_DIR", "JAVA_HOME", "SDKMAN_DIR", "ASDF_DIR",
    "ASDF_DATA_DIR", "VOLTA_HOME", "BUN_INSTALL", "R_HOME", "JULIA_DEPOT_PATH",
)  # fmt: skip
ROOTS_IN_HOME = (
    ".pyenv", ".rbenv", ".rustup", ".cargo", ".nvm", ".asdf", ".sdkman", ".volta", ".bun", ".deno",
    "go", ".julia", ".local/lib", ".local/libexec", ".local/share/uv/python", ".gitconfig",
    ".config/git",
)  # fmt: skip
"""What tools install into by themselves; and what git says of a person, without which no commit."""
PROGRAM_FOLDERS = frozenset({"bin", "sbin", "shims", "condabin"})
MARKS = ("conda-meta", "pyvenv.cfg")
"""What stands in the root of an environment of Python's."""
LIBRARIES = ("lib", "lib32", "lib64", "libexec", "include")


def find_programs(environ: Mapping[str, str], home: Path) -> Iterator[Path]:
    """Yield real folders and files that exist. Looks at the file system."""
    for path in _candidates(environ, home):
        real = Path(os.path.realpath(path))
        if real.exists() and not home.is_relative_to(real):
            yield real


def _candidates(environ: Mapping[str, str], home: Path) -> Iterator[Path]:
    yield from (home / name for name in ROOTS_IN_HOME)
    yield from _absolute(environ.get(name, "") for name in ROOT_VARIABLES)
    yield from map(Path, (sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix))
    path = environ.get("PATH", "")
    for folder in _absolute(path.split(os.pathsep)):
        yield from _around(folder, home)
    for name in INTERPRETERS:
        found = shutil.which(name, path=path)
        if found and found.startswith("/"):
            yield Path(found)
            yield from _around(Path(os.path.realpath(found)).parent, home)
    yield from _absolute(environ.get("PYTHONPATH", "").split(os.pathsep))
    for root in _absolute((environ.get("VIRTUAL_ENV", ""), sys.prefix)):
        yield from _linked_packages(root)


def _absolute(names: Iterable[str]) -> Iterator[Path]:
    return (Path(name) for name in names if name.startswith("/"))


def _around(folder: Path, home: Path) -> Iterator[Path]:
    """Yield a folder of programs and what they load from beside it."""
    yield folder
    root = folder.parent
    if folder.name not in PROGRAM_FOLDERS or home.is_relative_to(root):
        return
    if not root.is_relative_to(home) or any((root / mark).exists() for mark in MARKS):
        yield root
    else:
        yield from (root / name for name in LIBRARIES)


def _linked_packages(root: Path) -> Iterator[Path]:
    """Yield folders of projects that are installed in place (`pip install -e`)."""
    for file in sorted(root.glob("lib/python3*/site-packages/*.pth")):
        try:
            lines = file.read_bytes().split(b"\n")
        except OSError:
            continue
        yield from _absolute(os.fsdecode(line).strip() for line in lines)
