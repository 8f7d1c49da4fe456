"""A real kernel for tests: run cells in it and see everything that it sends.

`SHARD_TEST_KERNEL_PATH` goes in front of the kernel's PYTHONPATH, so that the same tests run with
another ipykernel than the installed one.
"""

from __future__ import annotations

import json
import os
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import zmq
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

import shard_jupyter

ROOT = Path(shard_jupyter.__file__).parents[1]
KERNEL_PATH = "SHARD_TEST_KERNEL_PATH"
START_SECONDS = 60.0
CELL_SECONDS = 30.0
QUIET_MILLISECONDS = 300
PRIVATE = ("SHARD_", "OPENAI_", "ANTHROPIC_", "PYTEST_")

Message = dict[str, Any]
StdinAnswer = Callable[[str, bool], str]
"""Given the prompt and whether it asks for a password, returns the line to send."""

OUTPUTS = frozenset({"stream", "display_data", "execute_result", "update_display_data", "error"})


class KernelTooSlow(AssertionError):
    """Nothing came within the time limit; says what had come until then."""


@dataclass
class CellRun:
    """One executed cell: what came back on every channel, in order of arrival.

    Attributes:
        messages: every iopub message whose parent is this cell.
        strays: iopub messages that came meanwhile and belong to another parent.
        asked: prompts of the input requests that were answered.
    """

    msg_id: str
    reply: Message = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    strays: list[Message] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    idle: bool = False

    @property
    def is_over(self) -> bool:
        return bool(self.reply) and self.idle

    @property
    def status(self) -> str:
        """`ok`, `error` or `aborted`."""
        return str(self.reply["content"]["status"])

    @property
    def outputs(self) -> list[Message]:
        """What a notebook would show, in order, as messages."""
        return [message for message in self.messages if message["msg_type"] in OUTPUTS]

    def contents(self, msg_type: str) -> list[dict[str, Any]]:
        return [found["content"] for found in self.messages if found["msg_type"] == msg_type]

    @property
    def error(self) -> dict[str, Any] | None:
        """`ename`, `evalue` and `traceback` of the one `error` output, None without one."""
        found = self.contents("error")
        assert len(found) <= 1, found
        return found[0] if found else None

    def stream(self, name: str = "stdout") -> str:
        parts = self.contents("stream")
        return "".join(part["text"] for part in parts if part["name"] == name)

    @property
    def result(self) -> str | None:
        """`text/plain` of the value of the cell."""
        found = self.contents("execute_result")
        return str(found[0]["data"]["text/plain"]) if found else None


@dataclass
class Kernel:
    """A running kernel and a client of it. Used from one thread."""

    manager: KernelManager
    client: BlockingKernelClient
    log_path: Path

    def execute(
        self,
        code: str,
        *,
        timeout: float = CELL_SECONDS,
        allow_stdin: bool = False,
        on_stdin: StdinAnswer | None = None,
        metadata: Mapping[str, object] | None = None,
        silent: bool = False,
        store_history: bool = True,
    ) -> CellRun:
        """Run a cell to its end: the reply and the idle status have both come."""
        cell = self.start_cell(
            code,
            allow_stdin=allow_stdin,
            metadata=metadata,
            silent=silent,
            store_history=store_history,
        )
        return self.finish(cell, timeout=timeout, on_stdin=on_stdin)

    def start_cell(
        self,
        code: str,
        *,
        allow_stdin: bool = False,
        metadata: Mapping[str, object] | None = None,
        silent: bool = False,
        store_history: bool = True,
    ) -> CellRun:
        """Send a cell and do not wait; go on with `wait_until`, `finish`, `interrupt`."""
        content = {
            "code": code,
            "silent": silent,
            "store_history": store_history,
            "user_expressions": {},
            "allow_stdin": allow_stdin,
            "stop_on_error": True,
        }
        session = self.client.session
        request = session.msg("execute_request", content, metadata=dict(metadata or {}))
        self.client.shell_channel.send(request)
        return CellRun(msg_id=request["header"]["msg_id"])

    def wait_until(
        self,
        cell: CellRun,
        reached: Callable[[CellRun], bool],
        *,
        timeout: float = CELL_SECONDS,
        on_stdin: StdinAnswer | None = None,
    ) -> CellRun:
        """Take messages until `reached(cell)` holds, asked after every message.

        Raises:
            KernelTooSlow: it does not hold after `timeout` seconds.
        """
        deadline = time.monotonic() + timeout
        while not reached(cell):
            channel = self._next_channel(deadline)
            if channel is None:
                raise KernelTooSlow(f"after {timeout} s: {cell}\n{self.log()}")
            self._take(cell, channel, on_stdin)
        return cell

    def finish(
        self,
        cell: CellRun,
        *,
        timeout: float = CELL_SECONDS,
        on_stdin: StdinAnswer | None = None,
    ) -> CellRun:
        return self.wait_until(cell, lambda run: run.is_over, timeout=timeout, on_stdin=on_stdin)

    def ask(self, msg_type: str, content: Mapping[str, object], timeout: float = 30.0) -> Message:
        """Send another shell request (complete_request, …); returns the content of its reply."""
        request = self.client.session.msg(msg_type, dict(content))
        self.client.shell_channel.send(request)
        answer = CellRun(msg_id=request["header"]["msg_id"])
        self.finish(answer, timeout=timeout)
        return dict(answer.reply["content"])

    def complete(self, code: str, cursor: int | None = None) -> list[str]:
        position = len(code) if cursor is None else cursor
        reply = self.ask("complete_request", {"code": code, "cursor_pos": position})
        return [str(match) for match in reply["matches"]]

    def interrupt(self) -> None:
        self.manager.interrupt_kernel()

    def is_alive(self) -> bool:
        return bool(self.manager.is_alive())

    def log(self) -> str:
        """What the kernel process wrote to its own standard output and error."""
        return self.log_path.read_bytes().decode("utf-8", "replace")

    def _next_channel(self, deadline: float) -> str | None:
        """The channel that has a message; iopub first, so that an idle never overtakes output."""
        poller = zmq.Poller()
        sockets = {
            name: getattr(self.client, f"{name}_channel").socket
            for name in ("iopub", "stdin", "shell")
        }
        for socket in sockets.values():
            poller.register(socket, zmq.POLLIN)
        left = max(0.0, deadline - time.monotonic())
        ready = dict(poller.poll(left * 1000))
        return next((name for name, socket in sockets.items() if socket in ready), None)

    def _take_iopub_until_quiet(self, cell: CellRun) -> None:
        """A question may overtake what is shown with it; a person answers when it is there."""
        while self.client.iopub_channel.socket.poll(QUIET_MILLISECONDS):
            self._take(cell, "iopub", None)

    def _take(self, cell: CellRun, channel: str, on_stdin: StdinAnswer | None) -> None:
        message = getattr(self.client, f"{channel}_channel").get_msg(timeout=1)
        is_ours = message["parent_header"].get("msg_id") == cell.msg_id
        if channel == "iopub":
            (cell.messages if is_ours else cell.strays).append(message)
            state = message["content"].get("execution_state")
            cell.idle = cell.idle or (is_ours and state == "idle")
        elif channel == "shell" and is_ours:
            cell.reply = message
        elif channel == "stdin":
            content = message["content"]
            assert on_stdin is not None, f"the kernel asks {content['prompt']!r}"
            self._take_iopub_until_quiet(cell)
            cell.asked.append(content["prompt"])
            self.client.input(on_stdin(content["prompt"], bool(content["password"])))


@contextmanager
def open_kernel(folder: Path, *, environ: Mapping[str, str] | None = None) -> Iterator[Kernel]:
    """Start a kernel whose home, state and working folder lie in `folder`; end it afterwards."""
    try:
        kernel = _start_kernel(folder, environ)
    except RuntimeError:
        # It died. A kernel is told its ports before it has them, so somebody may take one first.
        kernel = _start_kernel(folder, environ)
    try:
        yield kernel
    finally:
        _end_kernel(kernel)


def _start_kernel(folder: Path, environ: Mapping[str, str] | None) -> Kernel:
    work = folder / "work"
    work.mkdir(parents=True, exist_ok=True)
    log_path = folder / f"kernel-{uuid.uuid4().hex[:8]}.log"
    manager = KernelManager(
        kernel_name="python3", connection_file=str(folder / f"{uuid.uuid4().hex}.json")
    )
    with log_path.open("wb") as log, warnings.catch_warnings():
        warnings.simplefilter("ignore", EncodingWarning)  # of jupyter_client
        manager.start_kernel(
            cwd=str(work), env=kernel_environ(folder, environ), stdout=log, stderr=log
        )
    client = manager.client()
    client.session.pack = _pack_as_a_browser
    client.start_channels()
    kernel = Kernel(manager, client, log_path)
    try:
        client.wait_for_ready(timeout=START_SECONDS)
    except BaseException:
        _end_kernel(kernel)
        raise
    return kernel


def _end_kernel(kernel: Kernel) -> None:
    kernel.client.stop_channels()
    kernel.manager.shutdown_kernel(now=True)
    kernel.client.context.destroy(linger=0)


def _pack_as_a_browser(content: object) -> bytes:
    """With an escape for half a surrogate pair, which jupyter_client cannot send."""
    return json.dumps(content, default=str, allow_nan=False).encode("ascii")


def kernel_environ(folder: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a kernel process: nothing of the developer's, this tree's package."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(PRIVATE)}
    path = [os.environ.get(KERNEL_PATH, ""), str(ROOT)]
    return kept | {
        "HOME": str(folder),
        "IPYTHONDIR": str(folder / "ipython"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "SHARD_HOME": str(folder / "state"),
        # Tests whose subject it is switch it on; others write outside of their workspace.
        "SHARD_SANDBOX": "off",
        "PYTHONPATH": os.pathsep.join(part for part in path if part),
        "PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "random"),
        **(extra or {}),
    }
