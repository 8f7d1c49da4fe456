"""`shard config`: show where every value comes from, and change the machine-made file."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from shard_jupyter.core.config.change_settings import set_value, unset_value
from shard_jupyter.core.config.config_files import find_config_paths, find_project_file
from shard_jupyter.core.config.known_keys import split_key
from shard_jupyter.core.config.layers import KeyPath
from shard_jupyter.core.config.load_settings import LoadedSettings, load_settings
from shard_jupyter.surfaces.cli.exit_codes import DONE
from shard_jupyter.surfaces.cli.output import align_columns, write_json, write_lines
from shard_jupyter.surfaces.render_static.visible_text import make_visible_line


def run_command(arguments: argparse.Namespace) -> int:
    actions = {"show": _show, "path": _show_paths, "set": _set, "unset": _unset}
    actions[arguments.action](arguments)
    return DONE


def _show(arguments: argparse.Namespace) -> None:
    loaded = load_settings(os.environ, Path.cwd(), trust_project=arguments.trust_project)
    values = loaded.settings.model_dump(mode="json")
    if arguments.json:
        write_json(_as_json(loaded, values))
        return
    rows = [
        (".".join(path), json.dumps(_value_at(values, path)), source)
        for path, source in sorted(loaded.sources.items())
    ]
    write_lines(align_columns([("key", "value", "from"), *rows]))
    for notice in loaded.notices:
        sys.stderr.write(f"shard: {make_visible_line(f'{notice.path}: {notice.message}')}\n")


def _as_json(loaded: LoadedSettings, values: dict[str, Any]) -> dict[str, Any]:
    return {
        "values": values,
        "sources": {".".join(path): source for path, source in loaded.sources.items()},
        "notices": [notice.model_dump(mode="json") for notice in loaded.notices],
    }


def _value_at(values: Any, path: KeyPath) -> Any:  # noqa: ANN401 - any JSON value
    for part in path:
        values = values[part]
    return values


def _show_paths(arguments: argparse.Namespace) -> None:
    paths = find_config_paths(os.environ)
    project_file = find_project_file(Path.cwd(), paths.state_home)
    named = {
        "config": str(paths.user_file),
        "settings": str(paths.machine_file),
        "state": str(paths.state_home),
        "project": str(project_file) if project_file else None,
    }
    if arguments.json:
        write_json(named)
    else:
        write_lines(align_columns([(name, path) for name, path in named.items() if path]))


def _set(arguments: argparse.Namespace) -> None:
    load_settings(os.environ, Path.cwd())  # a broken file is told before anything is changed
    file = set_value(os.environ, arguments.key, arguments.value)
    _say_if_overruled(arguments.key, file)


def _say_if_overruled(key: str, file: Path) -> None:
    """Say it when the change has no effect, because something stronger sets the same key."""
    loaded = load_settings(os.environ, Path.cwd())
    source = loaded.sources.get(split_key(key), str(file))
    if str(file) not in source:
        sys.stderr.write(f"shard: {key} is set in {file}, but overruled by {source}.\n")


def _unset(arguments: argparse.Namespace) -> None:
    removed = unset_value(os.environ, arguments.key)
    loaded = load_settings(os.environ, Path.cwd())
    source = loaded.sources.get(split_key(arguments.key))
    state = "was taken out" if removed else "was not in settings.json"
    now = f"; it now comes from: {source}" if source else ""
    sys.stderr.write(f"shard: {arguments.key} {state}{now}.\n")
