"""How anything starts a process (issue rule: one module starts processes).

The runner gives each process its own session (so that nothing of it can reach our terminal),
stdin from `/dev/null` unless told, and never a login shell. Whatever way a run ends — exit,
time-out, cancellation — no descendant survives it.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol


@dataclass(frozen=True)
class ProcessSpec:
    """What to run.

    Attributes:
        argv: the program, found on the PATH of `env`, and its arguments; never a shell string.
        env: the whole environment of the child; nothing is inherited.
        timeout_seconds: None means no limit. At the limit everything is killed and the outcome
            says `timed_out`.
        head_bytes: how much of the start of the output is kept.
        tail_bytes: how much of its end is kept.
        spill_path: where the whole output goes once it passes head + tail; None: nowhere.
        max_spill_bytes: the spill file stops growing there.
        merge_stderr: True: stdout and stderr in one stream, in the order in which they came.
    """

    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    stdin: bytes | None = None
    timeout_seconds: float | None = None
    head_bytes: int = 16_384
    tail_bytes: int = 32_768
    spill_path: Path | None = None
    max_spill_bytes: int = 1 << 30
    merge_stderr: bool = True


@dataclass(frozen=True)
class CapturedOutput:
    """Head and tail of a stream; `dropped_bytes` lie between them."""

    head: bytes = b""
    tail: bytes = b""
    dropped_bytes: int = 0
    spill_path: Path | None = None
    spill_complete: bool = True

    @property
    def total_bytes(self) -> int:
        return len(self.head) + self.dropped_bytes + len(self.tail)


@dataclass(frozen=True)
class ProcessOutcome:
    """How it ended.

    Attributes:
        exit_code: as the shell counts: 128 + signal when killed by one; None when timed out.
        stderr: empty when it was merged.
        killed: command lines of background children that were still alive and were killed.
    """

    exit_code: int | None
    output: CapturedOutput
    stderr: CapturedOutput = field(default_factory=CapturedOutput)
    timed_out: bool = False
    duration_seconds: float = 0.0
    killed: tuple[str, ...] = ()


OutputListener = Callable[[bytes], None]


class ProcessRunner(Protocol):
    async def run(
        self, spec: ProcessSpec, on_output: OutputListener | None = None
    ) -> ProcessOutcome:
        """Run to the end.

        Returns when the process itself has exited and its pipe was drained for a short time, even
        if a background child still holds the pipe. `on_output` gets raw chunks on the event loop.

        Cancellation kills every descendant, waits for their end, and re-raises.

        Raises:
            ToolFailed: the program does not exist or may not be started.
        """
        ...


SandboxSetting = Literal["off", "auto", "required"]
"""`auto`: whichever works, and what is missing is said. `required`: nothing runs without."""


@dataclass(frozen=True)
class SandboxPolicy:
    """What a sandboxed child may do. All paths are absolute; but for the system's they are real.

    Of two entries that hold a path the longer one counts.

    Attributes:
        writable: folders in which it may write: the workspace, its private temporary folder.
        readable: what else it may read: the system, the interpreters on PATH.
        hidden: what must not even be seen: state, keys, runtime files of Jupyter.
        protected: files and folders inside `writable` that it may only read, where a provider can
            do that and they exist.
        temporary: the one of `writable` that stands in for /tmp, where a provider can do that.
        network: False: no network at all, not even loopback.
    """

    writable: tuple[Path, ...]
    readable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    protected: tuple[Path, ...] = ()
    temporary: Path | None = None
    network: bool = False


@dataclass(frozen=True)
class SandboxAbilities:
    """What a provider was seen to do here: each True was tried with a real child.

    Attributes:
        mixed_folders: files can be made in a writable folder that holds something hidden.
        reason: why it cannot be used at all, in words; empty where it works.
    """

    fs_write: bool = False
    fs_read: bool = False
    net_tcp: bool = False
    net_udp: bool = False
    unix_sockets: bool = False
    pids: bool = False
    mixed_folders: bool = False
    reason: str = ""


class SandboxProvider(Protocol):
    """One way to lock children in (DESIGN §8, FEATURES E09). Holds no state of a run."""

    @property
    def name(self) -> str: ...

    async def probe(self, processes: ProcessRunner, scratch: Path) -> SandboxAbilities:
        """Try for real, with children that attempt what must fail; never raises for "not here"."""
        ...

    def wrap(self, spec: ProcessSpec, policy: SandboxPolicy) -> ProcessSpec:
        """Return what has to be started so that `spec` runs inside.

        Changes nothing; looks at the file system, so call it off the event loop.
        """
        ...


class ActiveSandbox(Protocol):
    """The sandbox of one agent: a provider that was probed, and the agent's policy."""

    @property
    def name(self) -> str: ...

    @property
    def abilities(self) -> SandboxAbilities: ...

    @property
    def advice(self) -> str:
        """A sentence for whoever meets its limits in this workspace; mostly empty."""
        ...

    def wrap(self, spec: ProcessSpec, *, network: bool) -> ProcessSpec:
        """Return `spec` as it runs inside. `network`: a person has allowed the network.

        Looks at the file system: call it off the event loop.
        """
        ...


class LongLivedChild(Protocol):
    """A child that runs until it is ended. Everything may be called from any thread."""

    @property
    def pid(self) -> int: ...

    @property
    def exit_code(self) -> int | None:
        """As a shell counts: 128 + signal. None until `poll` or `wait` has found it dead."""
        ...

    def poll(self) -> int | None:
        """Look whether it has ended. If so it is reaped, and what it left behind is ended."""
        ...

    def wait(self, timeout_seconds: float) -> int | None:
        """Block until its end, at most so long; None: it still runs."""
        ...

    def terminate(self) -> None: ...

    def kill(self) -> None: ...


class ChildStarter(Protocol):
    """Starts a long-lived child in a session of its own; needs no event loop."""

    def __call__(
        self,
        argv: Sequence[str],
        *,
        sock: socket.socket,
        env: Mapping[str, str],
        cwd: Path,
        log: int | None = None,
        log_stdout: bool = False,
    ) -> LongLivedChild:
        """Start it. It inherits `sock` under the number it has here, and nothing else.

        `log` is a descriptor that takes its stderr, and with `log_stdout` its stdout too. Both
        stay the caller's to close.

        Raises:
            ShardError: the system cannot start it (code `not_started`).
        """
        ...
