"""Which package indexes the person uses, from pip's and uv's own settings. Reads small files."""

from __future__ import annotations

import configparser
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

PUBLIC_INDEX = "https://pypi.org/simple"
_SECTIONS = ("global", "install")
_TRUE = frozenset({"1", "true", "yes", "on", "y", "t"})
_SYSTEM_FOLDERS = "/etc/xdg"


@dataclass(frozen=True)
class PipSettings:
    """What counts for a download.

    Attributes:
        indexes: in the order in which they are asked; empty: pip is told to ask none.
        certificates: a file or folder, empty for the system's.
        proxy: empty for those of the environment.
        notes: files that could not be read.
    """

    indexes: tuple[str, ...] = field(default=(PUBLIC_INDEX,), repr=False)
    certificates: str = ""
    proxy: str = field(default="", repr=False)
    notes: tuple[str, ...] = ()


def read_pip_settings(environ: Mapping[str, str], prefix: Path = Path(sys.prefix)) -> PipSettings:
    """Read as pip does: a later file wins, `[install]` over `[global]`, a variable over all."""
    values: dict[str, dict[str, str]] = {section: {} for section in _SECTIONS}
    notes = []
    for file in config_files(environ, prefix):
        try:
            for section, found in _read_file(file).items():
                values[section].update(found)
        except FileNotFoundError:
            continue
        except (OSError, ValueError, configparser.Error) as error:
            notes.append(f"{file} cannot be read: {type(error).__name__}")
    merged = values["global"] | values["install"] | _read_variables(environ)
    return PipSettings(
        indexes=_choose_indexes(merged, environ),
        certificates=merged.get("cert", ""),
        proxy=merged.get("proxy", ""),
        notes=tuple(notes),
    )


def _choose_indexes(merged: Mapping[str, str], environ: Mapping[str, str]) -> tuple[str, ...]:
    if merged.get("no-index", "").lower() in _TRUE:
        return ()
    of_uv = environ.get("UV_DEFAULT_INDEX") or environ.get("UV_INDEX_URL") or ""
    first = merged.get("index-url") or of_uv or PUBLIC_INDEX
    more = merged.get("extra-index-url") or environ.get("UV_EXTRA_INDEX_URL") or ""
    return tuple(dict.fromkeys([first.strip(), *more.split()]))


def config_files(environ: Mapping[str, str], prefix: Path) -> Iterator[Path]:
    """Name pip's files, those that win later."""
    own = environ.get("PIP_CONFIG_FILE", "")
    if own == os.devnull:
        return
    home = Path(environ.get("HOME") or Path.home())
    mac = sys.platform == "darwin"
    system = environ.get("XDG_CONFIG_DIRS") or _SYSTEM_FOLDERS
    folders = ["/Library/Application Support"] if mac else system.split(os.pathsep)
    yield from (Path(folder) / "pip" / "pip.conf" for folder in folders if folder)
    yield Path("/etc/pip.conf")
    if not (own and Path(own).exists()):
        yield home / ".pip" / "pip.conf"
        support = home / "Library" / "Application Support" / "pip"
        usual = Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "pip"
        yield (support if mac and support.is_dir() else usual) / "pip.conf"
    yield prefix / "pip.conf"
    if own:
        yield Path(own)


def _read_file(file: Path) -> dict[str, dict[str, str]]:
    parser = configparser.RawConfigParser()
    parser.read_string(file.read_bytes().decode("utf-8"))
    return {
        section: {_name(key): value for key, value in parser.items(section)}
        for section in _SECTIONS
        if parser.has_section(section)
    }


def _read_variables(environ: Mapping[str, str]) -> dict[str, str]:
    return {
        _name(key.removeprefix("PIP_")): value
        for key, value in environ.items()
        if key.startswith("PIP_") and value
    }


def _name(key: str) -> str:
    return key.strip().lower().replace("_", "-").removeprefix("--")
