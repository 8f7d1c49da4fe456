"""The agents of a kernel as `%shard` sees them, answering from what a test has written down."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from shard_jupyter.errors import AgentClosed, ShardError, UnknownMode
from shard_jupyter.protocol.results import AgentList, SessionOpDone
from shard_jupyter.surfaces.magics.line_commands import run_line
from shard_jupyter.types.agents import AgentInfo
from shard_jupyter.types.session_entries import SessionEntry
from shard_jupyter.types.usage import UsageTotals

PAGE = 2
MODES = ("build", "plan")


def info(name: str = "notebook", number: int = 1, **fields: Any) -> AgentInfo:
    values: dict[str, Any] = {
        "id": f"agent-{number}",
        "name": name,
        "session_id": f"session-{number}",
        "cwd": "/project",
        "model": "openai:gpt-5",
        "mode": "build",
        "status": "idle",
        "runtime_state": "running",
        "usage": UsageTotals(),
    }
    return AgentInfo(**(values | fields))


@dataclass
class RecordedAgents:
    """`trouble`: raised by the next requests, by command name, once each."""

    infos: dict[str, AgentInfo] = field(default_factory=dict)
    entries: Sequence[SessionEntry] = ()
    last: str | None = None
    trouble: dict[str, ShardError] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    on_trouble: Callable[[], None] = lambda: None

    @classmethod
    def of(cls, *infos: AgentInfo, entries: Sequence[SessionEntry] = ()) -> RecordedAgents:
        return cls({found.name: found for found in infos}, entries, infos[-1].name)

    def current(self) -> AgentInfo | None:
        return self.by_name(self.last) if self.last else None

    def by_name(self, name: str) -> AgentInfo | None:
        return self.infos.get(name)

    def all(self) -> tuple[AgentInfo, ...]:
        return tuple(self.infos.values())

    def request(
        self, command: type, result: type, *, timeout_seconds: float = 30.0, **fields: Any
    ) -> Any:
        made = command(id="c1", **fields)
        self.asked.append((made.type, fields))
        if made.type in self.trouble:
            error = self.trouble.pop(made.type)
            self.on_trouble()
            raise error
        if made.type == "agent.list":
            return AgentList(agents=self.all())
        found = next((one for one in self.infos.values() if one.id == made.agent_id), None)
        if found is None:
            raise AgentClosed("There is no such agent here.")
        answer = self._answer(made, found)
        assert isinstance(answer, result)
        return answer

    def _answer(self, made: Any, found: AgentInfo) -> Any:
        if made.type == "session_op":
            return self._page(made)
        if made.type == "set_mode" and made.mode not in MODES:
            raise UnknownMode(f"There is no mode {made.mode!r}.", next_step="Modes: build, plan.")
        changes = {"set_mode": "mode", "set_model": "model"}
        if made.type in changes:
            changed = changes[made.type]
            found = found.model_copy(update={changed: getattr(made, changed)})
            self.infos[found.name] = found
        return found

    def _page(self, made: Any) -> SessionOpDone:
        assert made.op == "list"
        newest_first = list(reversed(self.entries))
        ids = [entry.id for entry in newest_first]
        start = ids.index(made.entry_id) + 1 if made.entry_id else 0
        page = newest_first[start : start + PAGE]
        return SessionOpDone(entries=tuple(page), more=start + PAGE < len(newest_first))


def ask(agents: RecordedAgents, line: str) -> Any:
    return run_line(None, agents, line)  # type: ignore[arg-type]
