"""Whether a redirection may be made without a person."""

from __future__ import annotations

import os
from pathlib import Path

from shard_jupyter.core.permissions.shell.judge_paths import refuse_read
from shard_jupyter.core.permissions.shell.parsed_command import Redirection

WRITING = frozenset({">", ">>", ">|", "<>", "&>", "&>>"})


def written_file(redirection: Redirection) -> str | None:
    """Give the file that `redirection` writes, as given; None: it writes none that is kept."""
    target = redirection.target.text
    if redirection.operator not in WRITING:
        return None
    return None if target == os.devnull and redirection.operator != "<>" else target


def refuse_redirection(redirection: Redirection, folder: Path, workspace: Path) -> str:
    """Say what speaks against it; empty if nothing does."""
    written = written_file(redirection)
    if written is not None:
        return f"`{redirection.operator} {written}` writes a file"
    target = redirection.target.text
    if redirection.operator != "<" or target == os.devnull:
        return ""
    return refuse_read(workspace, folder, target)
