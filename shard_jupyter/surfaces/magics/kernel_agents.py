"""The agents of this kernel, and the worker process that holds them.

Cheap to import and to make: what talks to the worker is loaded with the first agent. Every method
may be called from any thread; those that wait for the worker block.
"""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from shard_jupyter.protocol.agent_commands import Command
    from shard_jupyter.surfaces.magics.agents.agent_roster import AgentRoster, OpenedAgent
    from shard_jupyter.surfaces.magics.cell_options import CellOptions
    from shard_jupyter.types.agents import AgentInfo
    from shard_jupyter.types.wire_model import WireModel

R = TypeVar("R", bound="WireModel")

LOCK_SECONDS = 1.0
_made: weakref.WeakSet[KernelAgents] = weakref.WeakSet()


class KernelAgents:
    """One per kernel process. Nothing starts before the first agent or request needs it.

    A forked child of the kernel starts with none: the parent's agents are not its own.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._roster: AgentRoster | None = None
        self._default_name: str | None = None
        _made.add(self)

    def default_name(self, proposed: str) -> str:
        """Return the name of the agent that a cell means without naming one; the first stays."""
        self._default_name = self._default_name or proposed
        return self._default_name

    def current(self) -> AgentInfo | None:
        """Return the agent that was used last."""
        roster = self._roster
        return None if roster is None or roster.last is None else self.by_name(roster.last)

    def by_name(self, name: str) -> AgentInfo | None:
        return next((agent for agent in self.all() if agent.name == name), None)

    def all(self) -> tuple[AgentInfo, ...]:
        """Return every agent as it was known last, the oldest first."""
        roster = self._roster
        return () if roster is None else roster.agents()

    def open(self, options: CellOptions, default_name: str) -> OpenedAgent:
        """Find or make the agent that a cell names; starts the worker where none runs. Blocks.

        Raises:
            UserError: a wrong model, mode, session or configuration.
            StorageError: its session cannot be opened.
            ShardError: the worker cannot be started, or does not answer.
        """
        with self._lock:
            return self._load_roster().open(options, default_name, dict(os.environ))

    def request(
        self,
        command: type[Command],
        result: type[R],
        *,
        timeout_seconds: float = 30.0,
        **fields: object,
    ) -> R:
        """Send a command and wait for its reply. Blocks.

        Raises:
            ShardError: as the reply says, or nothing came in time.
        """
        from shard_jupyter.surfaces.magics.agents.agent_roster import (  # noqa: PLC0415 - loads pydantic
            ask_worker,
        )

        with self._lock:
            connection = self._load_roster().connect(dict(os.environ))
        reply = ask_worker(connection, command, result, timeout_seconds=timeout_seconds, **fields)
        with self._lock:
            self._load_roster().note(reply)
        return reply

    def leave_behind(self, agent_id: str, ending: threading.Event) -> None:
        """A turn of the agent goes on without its cell; `ending` is set when it is over."""
        if self._roster is not None:
            self._roster.leave_behind(agent_id, ending)

    def close(self) -> None:
        """End the agents and the worker. What comes afterwards starts new ones. Idempotent."""
        # An interrupted cell may have left a thread that still opens an agent: it must not hold
        # up the end of the kernel.
        is_ours = self._lock.acquire(timeout=LOCK_SECONDS)
        try:
            roster, self._roster = self._roster, None
        finally:
            if is_ours:
                self._lock.release()
        if roster is not None:
            roster.close()

    def _load_roster(self) -> AgentRoster:
        if self._roster is None:
            from shard_jupyter.surfaces.magics.agents.agent_roster import (  # noqa: PLC0415 - see above
                AgentRoster,
            )

            self._roster = AgentRoster()
        return self._roster

    def forget(self) -> None:
        """Let go of everything that the parent of this forked process owns; ends nothing."""
        self._lock = threading.RLock()  # a thread that is not here may have held the old one
        self._roster = self._default_name = None


def _forget_all() -> None:
    for agents in tuple(_made):
        agents.forget()


def _close_all() -> None:
    for agents in tuple(_made):
        agents.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
atexit.register(_close_all)
