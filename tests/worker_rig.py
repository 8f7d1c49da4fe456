"""A real worker process, agents in it that ask the mock model, and what they say."""

from __future__ import annotations

import os
import queue
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from shard_jupyter.errors import ShardError
from shard_jupyter.protocol.agent_commands import Command, Prompt
from shard_jupyter.protocol.registry_commands import AgentCreate, AgentKill, AgentListCommand
from shard_jupyter.protocol.results import AgentList, PromptAccepted
from shard_jupyter.surfaces.transports.client_connection import ClientConnection
from shard_jupyter.surfaces.transports.worker import Worker
from shard_jupyter.types.agents import AgentInfo
from shard_jupyter.types.wire_model import WireModel

PATIENCE_SECONDS = 40.0
R = TypeVar("R", bound=WireModel)


class Listener:
    """What one agent says, in order. Its end is a `ShardError` in the same queue."""

    def __init__(self, connection: ClientConnection, agent_id: str) -> None:
        self._items: queue.Queue[Any] = queue.Queue()
        self.came: list[Any] = []
        self.unsubscribe = connection.subscribe(agent_id, self._items.put, self._items.put)

    def next(self) -> Any:
        self.came.append(self._items.get(timeout=PATIENCE_SECONDS))
        return self.came[-1]

    def until(self, *types: str) -> Any:
        """Read on to the next event of one of these types."""
        while True:
            item = self.next()
            assert not isinstance(item, ShardError), item
            if item.type in types:
                return item

    def until_lost(self) -> ShardError:
        while not isinstance(item := self.next(), ShardError):
            pass
        return item

    def text(self) -> str:
        return "".join(one.text for one in self.came if getattr(one, "type", "") == "message_delta")


class WorkerRig:
    """A worker and what a test makes in it. `environ` is what the agents of the test see."""

    def __init__(self, worker: Worker, folder: Path, url: str) -> None:
        self.worker = worker
        self.project = folder / "project"
        self.project.mkdir(parents=True, exist_ok=True)
        self.state = folder / "state"
        keys = {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "key-of-agent"}
        self.environ = {**plain_environ(folder), **keys}

    @property
    def connection(self) -> ClientConnection:
        return self.worker.connection

    def ask(self, command: type[Command], result: type[R], **fields: Any) -> R:
        return self.connection.request(command, result, **fields).result(PATIENCE_SECONDS)

    def refused(self, command: type[Command], result: type[R], **fields: Any) -> ShardError:
        error = self.connection.request(command, result, **fields).exception(PATIENCE_SECONDS)
        assert isinstance(error, ShardError), error
        return error

    def create(self, **fields: Any) -> AgentInfo:
        given = {
            "cwd": str(self.project),
            "model": "openai:mock",
            "ask": "yes",
            "environment": self.environ,
        }
        return self.ask(AgentCreate, AgentInfo, **{**given, **fields})

    def listen(self, agent: AgentInfo) -> Listener:
        return Listener(self.connection, agent.id)

    def prompt(self, agent: AgentInfo, text: str, **fields: Any) -> str:
        accepted = self.ask(Prompt, PromptAccepted, agent_id=agent.id, text=text, **fields)
        assert accepted.turn_id is not None
        return accepted.turn_id

    def sessions(self) -> list[Path]:
        return sorted(self.state.glob("sessions/*/session.jsonl"))

    def kill_agents(self) -> None:
        for agent in self.ask(AgentListCommand, AgentList).agents:
            self.ask(AgentKill, AgentInfo, agent_id=agent.id)


def plain_environ(folder: Path) -> dict[str, str]:
    """An environment without keys, with its state below `folder`."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "SHARD_HOME": str(folder / "state"),
        "SHARD_SANDBOX": "off",
        "LANG": "C.UTF-8",
    }


@contextmanager
def running_worker(folder: Path) -> Iterator[Worker]:
    """A worker; at the end it has ended in good order and has written nothing to stderr."""
    worker = Worker.start(
        client="test", environ={**plain_environ(folder), "PYTHONWARNINGS": "error"}
    )
    try:
        yield worker
    finally:
        worker.close()
        logs = read_logs(folder)
    assert (worker.exit_code, logs) == (0, {})


def read_logs(folder: Path) -> dict[str, str]:
    logs = (folder / "state" / "logs").glob("*.log")
    return {path.name: path.read_text(encoding="utf-8") for path in logs}


def wait_for(is_true: Callable[[], bool], what: str) -> None:
    """Poll something that tells no event: a file of a foreign process, a process that dies."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_true():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def shell(command: str, **directives: object) -> str:
    """A prompt on which the mock model calls the shell."""
    more = "".join(f" @@{name} {value}" for name, value in directives.items())
    return f"go @@shell {command}{more} @@"
