"""The modes that come with the package, the one that changes things first."""

from __future__ import annotations

from shard_jupyter.contracts.mode import Mode
from shard_jupyter.core.modes.build import BUILD
from shard_jupyter.core.modes.plan import PLAN

BUILTIN_MODES: tuple[Mode, ...] = (BUILD, PLAN)
