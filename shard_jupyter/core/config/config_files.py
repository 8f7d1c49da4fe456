"""Where configuration and state lie, and how a configuration file is read.

The person's own `config.json` is only ever read. What `shard config set` changes lies beside it in
`settings.json`. State is another folder (SHARD_HOME), because it has another lifetime.
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any, NoReturn

from shard_jupyter.core.files.own_places import ConfigPaths, find_config_paths, find_state_home
from shard_jupyter.errors import ConfigError

__all__ = [
    "ConfigPaths",
    "find_config_paths",
    "find_project_file",
    "find_state_home",
    "read_json_object",
]

_MAX_FILE_BYTES = 1 << 20


def find_project_file(cwd: Path, state_home: Path) -> Path | None:
    """Return the nearest `.shard/config.json` from `cwd` up to the root of its repository.

    Outside a repository only `cwd` itself is looked at. Only asks whether the file exists. The
    state folder is no project, even where it is called `.shard`.
    """
    files = (folder / "config.json" for folder in find_project_folders(cwd, state_home))
    return next((file for file in files if os.path.lexists(file)), None)


def find_project_folders(cwd: Path, state_home: Path) -> tuple[Path, ...]:
    """Name every `.shard` that may speak for `cwd`, the nearest first; none of them need exist.

    From `cwd` up to the root of its repository; outside a repository `cwd` alone. The state
    folder is no project.
    """
    cwd = cwd.resolve()
    folders = (cwd, *cwd.parents)
    root = next((folder for folder in folders if (folder / ".git").exists()), cwd)
    named = (folder / ".shard" for folder in folders[: folders.index(root) + 1])
    return tuple(folder for folder in named if folder != state_home.resolve())


def read_json_object(path: Path) -> dict[str, Any] | None:
    """Read one configuration file; None when there is none.

    Raises:
        ConfigError: it cannot be read, or is no JSON object; says where and what to do.
    """
    value = read_json_value(path)
    if value is not None and not isinstance(value, dict):
        _refuse(path, "holds no JSON object", "Put its content between { and }.")
    return value


def read_json_value(path: Path) -> Any | None:  # noqa: ANN401 - any JSON value
    """Read one file of strict JSON; None when there is none. `null` in it is refused.

    Raises:
        ConfigError: it cannot be read, or is no JSON; says where and what to do.
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
    except ValueError:  # Python reads no number of that length
        _refuse(path, "holds a number that is too long", "Mend it.")
    if value is None:
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
