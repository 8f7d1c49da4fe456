"""One command in a sandbox: wrapped, run, and looked at afterwards."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial

import anyio.to_thread

from shard_jupyter.contracts.process_runner import (
    ActiveSandbox,
    OutputListener,
    ProcessOutcome,
    ProcessRunner,
    ProcessSpec,
)
from shard_jupyter.core.sandbox.watched_names import (
    Changes,
    Snapshot,
    compare,
    take_snapshot,
)

CHANGES = "protected_changes"
"""Key in the details of a result: what a command did to protected names, in words."""
OF_NETWORK = (
    b"network is unreachable",
    b"name resolution",
    b"could not resolve",
    b"unable to resolve",
    b"failed to resolve",
    b"name or service not known",
    b"getaddrinfo",
    b"eai_again",
    b"dns error",
    b"failed to establish a new connection",
    b"failed to connect",
    b"couldn't connect to host",
    b"connect eacces",
    b"socket: permission denied",
    b"_socket.socket",  # the last call in a traceback of Python's
)
"""In small letters, as programs in C, Python, JavaScript, Go and Rust say it."""
OF_FILES = (
    b"permission denied",
    b"permissionerror",
    b"operation not permitted",
    b"read-only file system",
    b"no new privileges",
    b"eacces",
    b"eperm",
    b"erofs",
)
_SIGNS = b"|".join(map(re.escape, (*OF_NETWORK, *OF_FILES)))
_ERROR = re.compile(
    rb"(?:\S*error\b|npm err|warning: |fatal: ).*(?:" + _SIGNS + rb")"
    rb"|[^:\s]+: .*: (?:" + _SIGNS + rb")$"
)

NO_CHANGES = Changes()


@dataclass(frozen=True)
class SandboxedOutcome:
    """`notes` are for the model, each a line."""

    outcome: ProcessOutcome
    notes: tuple[str, ...] = ()
    changes: Changes = NO_CHANGES


async def run_sandboxed(
    spec: ProcessSpec,
    sandbox: ActiveSandbox,
    processes: ProcessRunner,
    on_output: OutputListener,
    *,
    network: bool,
) -> SandboxedOutcome:
    """Run `spec` inside. What it did to protected names is not told of a cancelled run."""
    wrapped, before = await anyio.to_thread.run_sync(
        partial(_prepare, spec, sandbox, network=network)
    )
    outcome = await processes.run(wrapped, on_output)
    after = await anyio.to_thread.run_sync(take_snapshot, spec.cwd)
    changes = compare(before, after)
    notes = []
    if changes:
        notes.append(f"[{changes.in_words()}: other programs run or obey that; a person is told]")
    hint = find_hint(outcome, network=network, advice=sandbox.advice)
    if hint:
        notes.append(f"[{hint}]")
    return SandboxedOutcome(outcome, tuple(notes), changes)


def _prepare(
    spec: ProcessSpec, sandbox: ActiveSandbox, *, network: bool
) -> tuple[ProcessSpec, Snapshot]:
    return sandbox.wrap(spec, network=network), take_snapshot(spec.cwd)


def find_hint(outcome: ProcessOutcome, *, network: bool, advice: str = "") -> str:
    """Say how to get further if the sandbox may be why it failed; empty: it looks otherwise. Pure.

    A command that ended well must have written a line that is an error by its form: in
    `make | tail` the end is that of `tail`.
    """
    if outcome.exit_code is None:
        return ""
    text = outcome.output.head + outcome.output.tail + outcome.stderr.head + outcome.stderr.tail
    text = text.lower()
    lines = text.split(b"\n")
    if outcome.exit_code == 0 and not any(_ERROR.match(line.rstrip()) for line in lines):
        return ""
    if not network and any(sign in text for sign in OF_NETWORK):
        return (
            "The sandbox has no network. If it is needed, call again with network: true, "
            "which a person is asked for."
        )
    if any(sign in text for sign in OF_FILES):
        wanted = "unconfined: true" if network else "network: true or unconfined: true"
        where = advice or "Commands write in the workspace and in $TMPDIR only."
        return (
            f"The sandbox may have stopped it. {where} "
            f"If more is needed, call again with {wanted}, which a person is asked for."
        )
    return ""
