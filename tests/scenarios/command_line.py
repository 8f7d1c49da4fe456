"""A person at a shell: a project folder, a home of their own, and `shard` as a real process."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest

from shard_jupyter.protocol.decode_event import decode_event
from shard_jupyter.surfaces.cli.main import run_cli
from shard_jupyter.types.events import Event
from shard_jupyter.types.wire_model import Unknown

ROOT = Path(__file__).parent.parent.parent
SHARD = (sys.executable, "-m", "shard_jupyter.surfaces.cli.main")
PATIENCE_SECONDS = 50.0
MODELS = ("openai:mock", "openai-responses:mock", "anthropic:mock")
YES_WARNING = "shard: --ask yes: whatever no deny rule forbids runs without a question.\n"


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def told(self) -> str:
        """What stands on stderr, without the warning that `--ask yes` always gives."""
        return self.err.removeprefix(YES_WARNING)


class Person:
    """Runs commands in `project`. `environ` is the whole environment: nothing is inherited."""

    def __init__(self, root: Path, url: str) -> None:
        self.root = root
        self.project = root / "project"
        self.project.mkdir()
        self.state = root / "state"
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(root),
            "SHARD_HOME": str(self.state),
            "SHARD_SANDBOX": "off",
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(ROOT),
            "PYTHONWARNINGS": "error",
            "OPENAI_BASE_URL": f"{url}/v1",
            "ANTHROPIC_BASE_URL": url,
        }

    def configure(self, **values: Any) -> None:
        file = self.root / ".config/shard/config.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values), encoding="utf-8")

    def start(self, *arguments: str | bytes, **options: Any) -> subprocess.Popen[bytes]:
        """Start `shard` in a session of its own, so that only what is sent to it reaches it."""
        given: dict[str, Any] = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "cwd": self.project,
            "start_new_session": True,
        }
        return subprocess.Popen([*SHARD, *arguments], env=self.environ, **{**given, **options})

    @contextmanager
    def started(self, *arguments: str | bytes, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
        """As `start`; whatever happens it is gone at the end."""
        with self.start(*arguments, **options) as child:
            try:
                yield child
            finally:
                child.send_signal(signal.SIGKILL)

    def shard(self, *arguments: str | bytes, stdin: bytes | None = None) -> Ended:
        """Run `shard` to its end."""
        pipe = subprocess.DEVNULL if stdin is None else subprocess.PIPE
        with self.start(*arguments, stdin=pipe) as child:
            try:
                out, err = child.communicate(stdin, timeout=PATIENCE_SECONDS)
            finally:
                child.kill()
        return Ended(child.returncode, out.decode(), err.decode())

    def run(self, prompt: str, *options: str, model: str = MODELS[0]) -> Ended:
        """`shard run` with everything allowed."""
        return self.shard("run", "--ask", "yes", "--model", model, *options, prompt)

    def lines(self, name: str = "MARK") -> list[str]:
        file = self.project / name
        return file.read_text(encoding="utf-8").split("\n")[:-1] if file.exists() else []

    def sessions(self) -> list[Path]:
        return sorted(self.state.glob("sessions/*/session.jsonl"))


class PersonHere(Person):
    """The same command line in this process, where a process of its own would prove no more."""

    def __init__(self, root: Path, url: str, capture: pytest.CaptureFixture[str]) -> None:
        super().__init__(root, url)
        self._capture = capture

    def shard(self, *arguments: str | bytes, stdin: bytes | None = None) -> Ended:
        standard_input = SimpleNamespace(buffer=io.BytesIO(stdin or b""), isatty=lambda: False)
        with (
            patch.dict(os.environ, self.environ, clear=True),
            patch.object(sys, "stdin", standard_input),
            contextlib.chdir(self.project),
        ):
            code = run_cli([os.fsdecode(argument) for argument in arguments])
        shown = self._capture.readouterr()
        return Ended(code, shown.out, shown.err)


def read_entries(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_bytes().split(b"\n") if line]


def read_events(out: str) -> list[Event]:
    """Read `--json` output; every line must be an event that the protocol knows."""
    records = [json.loads(line) for line in out.split("\n")[:-1]]
    events = [decode_event(record) for record in records]
    unknown = [event for event in events if isinstance(event, Unknown)]
    assert not unknown
    return events  # type: ignore[return-value]


def one_line(told: str) -> str:
    """What is told on stderr is one line of ours, and no traceback."""
    assert told.startswith("shard: ")
    assert told.count("\n") == 1
    return told
