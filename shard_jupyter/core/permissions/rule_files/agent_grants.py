"""`permission-grants.json` beside a session log: what a person allowed this agent always.

It goes with the session, so that it counts again when that is reopened. A damaged file is moved
aside and grants nothing.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from shard_jupyter.core.config.config_files import read_json_object
from shard_jupyter.core.files.path_guard import shown
from shard_jupyter.core.permissions.rule_files.kept_file import ReadAgain, changing, replace_text
from shard_jupyter.errors import ConfigError, StorageError
from shard_jupyter.types.decisions import Grant
from shard_jupyter.types.ids import new_id

NAME = "permission-grants.json"
VERSION = 1
MAX_GRANTS = 1000
NEWER = "newer_version"


def read_agent_grants(path: Path) -> tuple[Grant, ...]:
    """Read the file; nothing where there is none. Blocking.

    Raises:
        ConfigError: it is damaged, or (code `newer_version`) a newer version wrote it.
    """
    value = read_json_object(path)
    if value is None:
        return ()
    version = value.get("version")
    if isinstance(version, int) and version > VERSION:
        raise ConfigError(f"{shown(str(path))} was written by a newer version.", code=NEWER)
    raw = value.get("grants")
    is_fine = set(value) == {"version", "grants"} and version == VERSION
    if not is_fine or not isinstance(raw, list) or len(raw) > MAX_GRANTS:
        raise ConfigError(f"{shown(str(path))} holds no list of grants.")
    try:
        return tuple(Grant.model_validate_json(json.dumps(one), strict=True) for one in raw)
    except ValidationError:
        raise ConfigError(f"{shown(str(path))} holds what is no grant.") from None


class AgentGrants:
    """The file of one agent. Every method blocks."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._now = ReadAgain(path, self._read)

    def grants(self) -> tuple[Grant, ...]:
        """Return what it holds now; nothing while it is damaged."""
        return self._now.content()

    def mend(self) -> tuple[str, ...]:
        """Move a damaged file aside; returns what a person should know.

        Raises:
            StorageError: it cannot be moved.
        """
        try:
            read_agent_grants(self.path)
        except ConfigError as error:
            if error.code == NEWER:
                return (f"{error.message} None of its grants count.",)
            with changing(self.path):
                return (self._move_aside(error),)
        return ()

    def add(self, grant: Grant) -> None:
        """Keep one more.

        Raises:
            StorageError: it cannot be written, or a newer version has written it.
        """
        with changing(self.path):
            old = self._read_to_change()
            if len(old) >= MAX_GRANTS:
                raise StorageError(
                    f"{shown(str(self.path))} is full: it holds {MAX_GRANTS} grants.",
                    next_step="`shard grants` lists them; revoke some.",
                )
            self._write((*(one for one in old if one.grant_id != grant.grant_id), grant))

    def revoke(self, grant_ids: Collection[str] | None) -> tuple[Grant, ...]:
        """Take grants out, all of them for None; returns those that were there.

        Raises:
            ConfigError: the file is damaged; it stays as it is.
            StorageError: it cannot be written.
        """
        if not self.path.exists():
            return ()
        with changing(self.path):
            old = read_agent_grants(self.path)
            gone = tuple(one for one in old if grant_ids is None or one.grant_id in grant_ids)
            if gone:
                self._write(one for one in old if one not in gone)
        return gone

    def _read(self) -> tuple[Grant, ...]:
        try:
            return read_agent_grants(self.path)
        except ConfigError:
            return ()

    def _read_to_change(self) -> tuple[Grant, ...]:
        try:
            return read_agent_grants(self.path)
        except ConfigError as error:
            if error.code == NEWER:
                raise StorageError(error.message) from error
            self._move_aside(error)
            return ()

    def _move_aside(self, error: ConfigError) -> str:
        aside = self.path.with_name(f"{self.path.name}.{new_id('damaged')}")
        self.path.rename(aside)
        return f"{error.message} Nothing of it counts; it lies in {shown(aside.name)} now."

    def _write(self, grants: Iterable[Grant]) -> None:
        value: dict[str, Any] = {
            "version": VERSION,
            "grants": [grant.model_dump(mode="json") for grant in grants],
        }
        replace_text(self.path, json.dumps(value, indent=2) + "\n")
