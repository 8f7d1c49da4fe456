"""Where our own configuration and state lie, also when a workspace holds them."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from shard_jupyter.errors import ConfigError

_APPLICATION = "shard"
_NAMES = ("HOME", "SHARD_HOME", "XDG_CONFIG_HOME", "SHARD_POLICY")


@dataclass(frozen=True)
class ConfigPaths:
    """Absolute paths; none of them need exist.

    Attributes:
        user_file: written by the person.
        machine_file: written by `shard config set`.
        state_home: SHARD_HOME.
    """

    user_file: Path
    machine_file: Path
    state_home: Path


def find_config_paths(environ: Mapping[str, str]) -> ConfigPaths:
    """Say where things lie.

    Raises:
        ConfigError: SHARD_HOME is not an absolute path.
    """
    folder = _config_folder(environ)
    return ConfigPaths(folder / "config.json", folder / "settings.json", find_state_home(environ))


def find_state_home(environ: Mapping[str, str]) -> Path:
    """Return SHARD_HOME, `~/.shard` when it is not set.

    Raises:
        ConfigError: it is set to a relative path, which would mean another folder in each place.
    """
    given = environ.get("SHARD_HOME", "").strip()
    if not given:
        return _home(environ) / f".{_APPLICATION}"
    path = _home(environ) / given[2:] if given.startswith("~/") else Path(given)
    if not path.is_absolute():
        raise ConfigError(
            f"SHARD_HOME is not an absolute path: {given!r}.",
            next_step="Set it to a path that starts with a slash, or unset it.",
        )
    return path


def _config_folder(environ: Mapping[str, str]) -> Path:
    given = environ.get("XDG_CONFIG_HOME", "").strip()
    # A relative one is void by the XDG rules; here it would also read a repository's files.
    if given and Path(given).is_absolute():
        return Path(given) / _APPLICATION
    if sys.platform == "darwin":
        import platformdirs  # noqa: PLC0415 - 13 ms that other systems need not pay

        return platformdirs.user_config_path(_APPLICATION, appauthor=False)
    return _home(environ) / ".config" / _APPLICATION


def _home(environ: Mapping[str, str]) -> Path:
    given = environ.get("HOME", "")
    return Path(given) if given and Path(given).is_absolute() else Path.home()


def own_places(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the real paths of the folders that no tool changes or reads without a person."""
    return _places(*(environ.get(name, "") for name in _NAMES))


@lru_cache(maxsize=16)
def _places(home: str, state: str, config: str, policy: str) -> tuple[Path, ...]:
    environ = {"HOME": home, "SHARD_HOME": state, "XDG_CONFIG_HOME": config}
    try:
        paths = find_config_paths(environ)
    except ConfigError:  # a SHARD_HOME that is no place: nothing is kept there
        paths = find_config_paths({**environ, "SHARD_HOME": ""})
    found = [paths.user_file.parent, paths.state_home]
    if Path(policy).is_absolute():
        found.append(Path(policy))
    return tuple(Path(os.path.realpath(folder)) for folder in found)
