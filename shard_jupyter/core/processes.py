"""The only place that starts a process.

`subprocess.Popen` is called on the event loop on purpose: with `close_fds` and no `preexec_fn` it
forks by `vfork`, which keeps the interpreter lock in a thread as well, so a thread would only add
its own cost (0.6 ms for `/bin/true`, of which half is the child's). Everything after the start is
readiness of descriptors: the child's pidfd and its pipes.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio

from shard_jupyter.contracts.process_runner import (
    CapturedOutput,
    OutputListener,
    ProcessOutcome,
    ProcessSpec,
)
from shard_jupyter.core.children.exit_watch import watch_exit
from shard_jupyter.core.children.output_ring import OutputRing
from shard_jupyter.core.children.peer import Peer
from shard_jupyter.core.children.process_end import end_members
from shard_jupyter.core.children.process_tree import ADOPTION, MARKER, RunMark, has_no_child, tagged
from shard_jupyter.core.children.stream_capture import StreamCapture, spill_for
from shard_jupyter.errors import ShardError, ToolFailed
from shard_jupyter.types.ids import new_id

DRAIN_SECONDS = 0.1
"""How long the pipe may stay open after the process itself has exited."""
DRAIN_BYTES = 1 << 20
"""The largest pipe: more than that was written after the exit."""


class SystemProcessRunner:
    """Starts real processes. Holds no state of a run: one instance serves everything.

    Where stderr is not merged, a listener hears stdout only, and the file of stderr gets the
    suffix `.stderr`.
    """

    async def run(
        self, spec: ProcessSpec, on_output: OutputListener | None = None
    ) -> ProcessOutcome:
        started = time.monotonic()
        ADOPTION.begin()
        try:
            child = _Child(spec, on_output)
            try:
                with anyio.move_on_after(spec.timeout_seconds):
                    await child.exited.wait()
                timed_out = not child.exited.is_set()
                if not timed_out:
                    await child.drain()
            finally:
                with anyio.CancelScope(shield=True):
                    killed = await child.end()
        finally:
            ADOPTION.end()
        output, errors = child.captured
        return ProcessOutcome(
            exit_code=None if timed_out else child.exit_code,
            output=output,
            stderr=errors,
            timed_out=timed_out,
            duration_seconds=time.monotonic() - started,
            killed=killed,
        )


class _Child:
    """One process, its pipes and everything that came of it. Ended exactly once, by `end`."""

    def __init__(self, spec: ProcessSpec, on_output: OutputListener | None) -> None:
        marker = new_id("call")
        self.exited = asyncio.Event()
        self.captured = (CapturedOutput(), CapturedOutput())
        outlets, inlet = _open_pipes(spec)
        try:
            self._popen, tag = _start(spec, marker, outlets, inlet)
        except ToolFailed:
            _close(*(read_end for read_end, _ in outlets), *(inlet[1:] if inlet else ()))
            raise
        finally:
            _close(*(write_end for _, write_end in outlets), *(inlet[:1] if inlet else ()))
        self._mark = RunMark(self._popen.pid, marker, tag)
        self._streams = [
            StreamCapture(
                read_end,
                OutputRing(spec.head_bytes, spec.tail_bytes),
                spill_for(spec.spill_path, spec.max_spill_bytes, suffix),
                listener,
            )
            for (read_end, _), suffix, listener in zip(
                outlets, ("", ".stderr"), (on_output, None), strict=False
            )
        ]
        self._input = _InputFeed(inlet[1], spec.stdin or b"") if inlet else None
        self._stop_watch = watch_exit(self._popen.pid, self._popen.wait, self._note_exit)

    @property
    def exit_code(self) -> int | None:
        """As a shell counts: 128 + signal."""
        code = self._popen.returncode
        return 128 - code if code is not None and code < 0 else code

    async def drain(self) -> None:
        """Read on until the pipes are closed, at most for a moment: a survivor may hold them."""
        for stream in self._streams:
            stream.drain(DRAIN_BYTES)
        if all(stream.ended.is_set() for stream in self._streams):
            return
        with anyio.move_on_after(DRAIN_SECONDS):
            for stream in self._streams:
                await stream.ended.wait()

    async def end(self) -> tuple[str, ...]:
        """Kill what is alive, close everything; the command lines of background survivors."""
        killed: tuple[str, ...] = ()
        if self._may_have_survivors():
            members = await end_members(self._mark)
            killed = tuple(m.name for m in members if m.pid != self._mark.root and m.name)
            with anyio.move_on_after(DRAIN_SECONDS):
                await self.exited.wait()
        self._stop_watch()
        if self._input is not None:
            self._input.close()
        for stream in self._streams:
            stream.drain(DRAIN_BYTES)
        captured = [await stream.aclose() for stream in self._streams]
        self.captured = (captured[0], captured[1] if len(captured) > 1 else CapturedOutput())
        return killed

    def _may_have_survivors(self) -> bool:
        if not self.exited.is_set() or not ADOPTION.is_on:
            return True
        return not has_no_child()

    def _note_exit(self) -> None:
        self._popen.poll()
        self.exited.set()


class _InputFeed:
    """Writes the child's stdin as fast as it reads, and stops when it does not want more."""

    def __init__(self, fd: int, data: bytes) -> None:
        self._fd = fd
        self._rest = memoryview(data)
        self._loop = asyncio.get_running_loop()
        os.set_blocking(fd, False)
        self._loop.add_writer(fd, self._write_some)

    def close(self) -> None:
        if self._fd >= 0:
            self._loop.remove_writer(self._fd)
            os.close(self._fd)
            self._fd = -1

    def _write_some(self) -> None:
        try:
            self._rest = self._rest[os.write(self._fd, self._rest) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self.close()
            return
        if not self._rest:
            self.close()


Pipe = tuple[int, int]
"""Read end, write end."""


def _open_pipes(spec: ProcessSpec) -> tuple[list[Pipe], Pipe | None]:
    """Pipes for what comes out, and one for stdin where there is any."""
    outlets = 1 if spec.merge_stderr else 2
    pipes: list[Pipe] = []
    try:
        for _ in range(outlets + (spec.stdin is not None)):
            pipes.append(os.pipe())
    except OSError as error:
        _close(*(end for pipe in pipes for end in pipe))
        raise ToolFailed(f"No pipe for a process: {error.strerror}.") from error
    return pipes[:outlets], pipes[outlets] if len(pipes) > outlets else None


def _start(
    spec: ProcessSpec,
    marker: str,
    outlets: list[Pipe],
    inlet: Pipe | None,
) -> tuple[subprocess.Popen[bytes], int | None]:
    try:
        with tagged() as tag:
            popen = subprocess.Popen(
                spec.argv,
                cwd=spec.cwd,
                env=_environment_of(spec.env, marker),
                stdin=inlet[0] if inlet else subprocess.DEVNULL,
                stdout=outlets[0][1],
                stderr=outlets[-1][1],
                start_new_session=True,
                close_fds=True,
            )
    except (OSError, ValueError) as error:
        raise ToolFailed(_why_not_started(spec, error)) from error
    return popen, tag


def start_peer(
    argv: Sequence[str],
    *,
    sock: socket.socket,
    env: Mapping[str, str],
    cwd: Path,
    log: int | None = None,
    log_stdout: bool = False,
    leaves_nothing: bool = False,
) -> Peer:
    """Start a long-lived child in a session of its own, without an event loop.

    It inherits `sock` and nothing else, under the number that the descriptor has here. `log` is a
    descriptor that takes its stderr, with `log_stdout` also its stdout. Both stay the caller's to
    close. `leaves_nothing` as in `Peer`.

    Raises:
        ShardError: the system cannot start it (code `not_started`).
    """
    marker = new_id("peer")
    try:
        popen = subprocess.Popen(
            argv,
            cwd=cwd,
            env=_environment_of(env, marker),
            stdin=subprocess.DEVNULL,
            stdout=log if log is not None and log_stdout else subprocess.DEVNULL,
            stderr=subprocess.DEVNULL if log is None else log,
            pass_fds=(sock.fileno(),),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        message = f"{argv[0]!r} could not be started: {reason}."
        raise ShardError(message, code="not_started") from error
    mark = RunMark(popen.pid, marker, tag=None)
    return Peer(popen, mark, leaves_nothing=leaves_nothing)


def _environment_of(env: Mapping[str, str], marker: str) -> dict[str, str]:
    """Add the marker; drop relative parts of the PATH, so that no program is found in `cwd`.

    `Popen` looks the program up in the PATH of this environment, in the child.
    """
    child = dict(env)
    child[MARKER] = f"{env[MARKER]} {marker}" if MARKER in env else marker
    if "PATH" in child:
        child["PATH"] = os.pathsep.join(
            part for part in child["PATH"].split(os.pathsep) if part.startswith("/")
        )
    return child


def _why_not_started(spec: ProcessSpec, error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and str(error.filename) == str(spec.cwd):
        return f"The folder {spec.cwd} cannot be used: {error.strerror}."
    if isinstance(error, FileNotFoundError):
        return f"The program {spec.argv[0]!r} does not exist on the PATH."
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return f"The program {spec.argv[0]!r} could not be started: {reason}."


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
