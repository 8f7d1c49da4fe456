"""Where configuration and state lie, and how a configuration file is read.

The person's own `config.json` is only ever read. What `shard config set` changes lies beside it in
`settings.json`. State is another folder (SHARD_HOME), because it has another lifetime.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from shard_jupyter.errors import ConfigError

_APPLICATION = "shard"
_MAX_FILE_BYTES = 1 << 20


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


def find_project_file(cwd: Path, state_home: Path) -> Path | None:
    """Return the nearest `.shard/config.json` from `cwd` up to the root of its repository.

    Outside a repository only `cwd` itself is looked at. Only asks whether the file exists. The
    state folder is no project, even where it is called `.shard`.
    """
    cwd = cwd.resolve()
    folders = (cwd, *cwd.parents)
    root = next((folder for folder in folders if (folder / ".git").exists()), cwd)
    for folder in folders[: folders.index(root) + 1]:
        file = folder / ".shard" / "config.json"
        if file.parent != state_home.resolve() and os.path.lexists(file):
            return file
    return None


def read_json_object(path: Path) -> dict[str, Any] | None:
    """Read one configuration file; None when there is none.

    Raises:
        ConfigError: it cannot be read, or is no JSON object; says where and what to do.
    """
    data = _read_bytes(path)
    if data is None:
        return None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        _refuse(path, f"is not UTF-8 at byte {error.start}", "Save it as UTF-8.")
    if not text.strip():
        _refuse(path, "is empty", "Write {} into it, or delete it.")
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        _refuse(path, f"is not valid JSON at {place}: {error.msg}", "Mend it there.")
    except RecursionError:
        _refuse(path, "is nested too deeply", "Mend it.")
    except _NotPlain as error:
        _refuse(path, str(error), "Mend it.")
    if not isinstance(value, dict):
        _refuse(path, "holds no JSON object", "Put its content between { and }.")
    return value


def _read_bytes(path: Path) -> bytes | None:
    try:
        # Not blocking: a named pipe in the place of the file would otherwise wait for ever.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:  # noqa: PTH123
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                _refuse(path, "is not a regular file", "Put a file there, or take it away.")
            data = file.read(_MAX_FILE_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        _refuse(path, f"cannot be read: {error.strerror}", "Mend its permissions.")
    if len(data) > _MAX_FILE_BYTES:
        _refuse(path, "is larger than 1 MiB", "Make it smaller.")
    return data


def _refuse(path: Path, what: str, next_step: str) -> NoReturn:
    raise ConfigError(f"{path} {what}.", next_step=next_step)


class _NotPlain(ValueError):
    """JSON that Python would take, though its meaning is not certain."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _NotPlain(f'holds the key "{twice}" twice')
    return result


def _no_constant(name: str) -> NoReturn:
    raise _NotPlain(f"holds {name}, which is no JSON number")
