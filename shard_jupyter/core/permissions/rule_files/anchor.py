"""What a rule of one folder means in a workspace in or below it. Pure.

A path in a rule of a project is written as seen from the folder that holds `.shard`, and one in a
rule with `project` as seen from that folder. The gate sees paths from the workspace, which may lie
below: there the path is written from the root on.
"""

from __future__ import annotations

import posixpath
from pathlib import Path

from shard_jupyter.core.files.path_guard import is_within
from shard_jupyter.types.decisions import Rule


def counts_in(rule: Rule, cwd: Path) -> bool:
    """Whether the workspace is the rule's project or lies in it; true for a rule without one."""
    return not rule.project or is_within(cwd, Path(rule.project))


def anchor_rule(rule: Rule, root: Path, cwd: Path) -> Rule | None:
    """Write the rule for `cwd`, which is `root` or lies in it; None: no rule can say it.

    A deny or ask rule for every depth (`**/…`) stays as wide as it is written.
    """
    path = rule.path
    is_wide = path is not None and path.startswith("**") and rule.effect != "allow"
    if path is None or path.startswith("/") or is_wide or root == cwd:
        return rule
    name = str(root)
    if rule.effect == "allow" and any(sign in name for sign in "*?"):
        # A glob has no way to name such a folder alone.
        return None
    full = posixpath.join(name, path.removeprefix("./"))
    if ".." in path.split("/"):
        full = posixpath.normpath(full) + ("/" if path.endswith("/") else "")
    return rule.model_copy(update={"path": full})
