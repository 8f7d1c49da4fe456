"""The rules of one agent: those of its start, and those of `granted.json` as they are now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shard_jupyter.core.permissions.rule_files.granted_rules import GrantedRules
from shard_jupyter.types.decisions import Rule


class RuleBook:
    """Iterate over it as often as you like; each time it looks at the file. Blocking."""

    def __init__(self, fixed: Sequence[Rule], granted: GrantedRules | None = None) -> None:
        self._fixed = tuple(fixed)
        self._granted = granted

    def __iter__(self) -> Iterator[Rule]:
        yield from self._fixed
        if self._granted is not None:
            yield from self._granted.rules()
