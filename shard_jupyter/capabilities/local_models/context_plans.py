"""How much context a model gets, the same for all who use it at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from shard_jupyter.capabilities.local_models.gguf.gguf_header import GgufHeader
from shard_jupyter.capabilities.local_models.memory.context_plan import ContextPlan, plan_context
from shard_jupyter.capabilities.local_models.memory.free_memory import find_available_memory

TINY_CONTEXT = 4096
"""Enough for the tiny profile, whose prompts are short (reference §2.2)."""
_Key = tuple[Path, int | None]


@dataclass
class _Held:
    plan: ContextPlan
    users: int = 0


class ContextPlans:
    """Plans in use. Any thread may use it.

    A server that is up takes the memory that its own plan counted as free: whoever joins it must
    get the same plan, or a second server would be started.
    """

    def __init__(self, find_memory: Callable[[], int] = find_available_memory) -> None:
        self._find_memory = find_memory
        self._held: dict[_Key, _Held] = {}
        self._lock = threading.Lock()

    def look(self, header: GgufHeader, wanted: int | None) -> ContextPlan:
        """Return the plan in use, or one for now. Reads files.

        Raises:
            NotEnoughMemory: not even the smallest context fits.
        """
        with self._lock:
            held = self._held.get((header.path, wanted))
        if held is not None:
            return held.plan
        most = TINY_CONTEXT if wanted is None and header.is_tiny else wanted
        return plan_context(header, self._find_memory(), most)

    def hold(
        self, header: GgufHeader, wanted: int | None
    ) -> tuple[ContextPlan, Callable[[], None]]:
        """As `look`, and keep it until the function that comes with it was called."""
        plan = self.look(header, wanted)
        key = (header.path, wanted)
        with self._lock:
            held = self._held.setdefault(key, _Held(plan))
            held.users += 1
        is_given_back = False

        def give_back() -> None:
            nonlocal is_given_back
            with self._lock:
                if is_given_back:
                    return
                is_given_back = True
                held.users -= 1
                if not held.users and self._held.get(key) is held:
                    del self._held[key]

        return held.plan, give_back
