"""In which folder each part of a command runs, as `cd` moves it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from shard_jupyter.core.permissions.shell.judge_paths import find_place, refuse_read
from shard_jupyter.core.permissions.shell.parsed_command import Connector, SimpleCommand
from shard_jupyter.core.permissions.shell.parsing.read_word import NotPlain
from shard_jupyter.errors import ToolFailed

DEPENDS = "in which folder it runs depends on what runs before it"


@dataclass
class WorkingFolder:
    """The folder of one shell; a subshell and each stage of a pipeline has a copy.

    Attributes:
        folder: where the next command runs; None: that depends on what ran before.
        is_conditional: it is this one only for what `&&` joins to the `cd` that moved it.
    """

    folder: Path | None
    is_conditional: bool = False

    def copy(self) -> WorkingFolder:
        """Begin a list of its own: what runs in it does so after the `cd`, if there was one."""
        return WorkingFolder(self.folder)

    def leave_group(self, inner: WorkingFolder) -> None:
        """Take over where `{ …; }` ended."""
        self.folder = inner.folder
        self.is_conditional = self.is_conditional or inner.is_conditional

    def pass_connector(self, connector: Connector) -> None:
        """Note what stands before the next pipeline."""
        if self.is_conditional and connector in (";", "||"):
            self.folder = None

    def note_move(self, before: Path | None, connector: Connector, *, ran_surely: bool) -> None:
        """Note that the pipeline after `connector` has run, or not; it was in `before`."""
        if self.folder == before or ran_surely:
            return
        self.is_conditional = True
        if connector == "||":
            self.folder = None


def is_cd(command: SimpleCommand) -> bool:
    return command.words[0].text == "cd"


def find_cd_target(command: SimpleCommand, folder: Path | None, workspace: Path) -> Path:
    """Find the real folder into which `cd` goes.

    Raises:
        NotPlain: it is no single folder inside the workspace that exists and may be entered.
    """
    if folder is None:
        raise NotPlain(DEPENDS)
    words = command.words[2:] if _has_double_dash(command) else command.words[1:]
    if len(words) != 1 or words[0].is_glob or (words[0].text.startswith("-")):
        raise NotPlain("where `cd` goes is not plain")
    given = words[0].text
    if not given:
        raise NotPlain("where `cd` goes is not plain")
    why = refuse_read(workspace, folder, given)
    if why:
        raise NotPlain(why)
    try:
        real = find_place(workspace, folder, given).real
    except ToolFailed as failed:
        raise NotPlain(str(failed)) from failed
    if not real.is_dir() or not os.access(real, os.X_OK):
        raise NotPlain(f"{given} is no folder that can be entered")
    return real


def _has_double_dash(command: SimpleCommand) -> bool:
    return len(command.words) > 1 and command.words[1].text == "--"
