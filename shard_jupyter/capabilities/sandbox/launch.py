"""The command line of the launcher. Looks at nothing but its arguments, once its text is read."""

from __future__ import annotations

import marshal
import os
import platform
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from shard_jupyter.capabilities.sandbox.seccomp_filter import build_filter
from shard_jupyter.capabilities.sandbox.syscall_numbers import MACHINES, Machine
from shard_jupyter.contracts.process_runner import ProcessSpec, SandboxPolicy

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
PROCESSORS = ("nvidia[0-9]*", "nvidiactl", "nvidia-uvm*", "kfd", "dri/render*")
"""Of graphics processors what computes, as names in /dev. Without it a program that would use one
goes on, ten times slower, and says nothing."""
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - where the C library keeps locks and memory with a name


@cache
def find_interpreter() -> Path:
    """Return the interpreter itself: a link to it may lie in a workspace and be changed there."""
    return Path(os.path.realpath(sys.executable))


@cache
def interpreter_folders() -> tuple[Path, ...]:
    """What the launcher has to read to start."""
    return (Path(os.path.realpath(sys.base_prefix)), Path(os.path.realpath(sys.base_exec_prefix)))


@cache
def read_launcher() -> str:
    """Return what Python's `-c` gets: the launcher, compiled, in ASCII.

    Read once, before any command could have changed the file; compiled here, because each command
    would wait for that.
    """
    text = Path(__file__).with_name("launcher.py").read_text(encoding="utf-8")
    code = compile(text, "shard-launcher", "exec", dont_inherit=True, optimize=2)
    held = marshal.dumps(code).hex()
    return f"import marshal;exec(marshal.loads(bytes.fromhex('{held}')))"


def find_machine() -> Machine | None:
    return MACHINES.get(platform.machine()) if sys.platform == "linux" else None


@cache
def find_processors() -> tuple[Path, ...]:
    return tuple(sorted(path for name in PROCESSORS for path in Path("/dev").glob(name)))


def list_readable(policy: SandboxPolicy) -> Iterator[Path]:
    """Yield what may be read, but nothing of what may be written, unless that is hidden.

    It would add nothing, and a command could have put a link there that leads anywhere.
    """
    for path in dict.fromkeys((*policy.readable, *interpreter_folders())):
        roots = [root for root in policy.writable if path.is_relative_to(root)]
        if not roots or any(
            path.is_relative_to(cut) and cut.is_relative_to(root)
            for cut in policy.hidden
            for root in roots
        ):
            yield path


def write_command(
    spec: ProcessSpec, policy: SandboxPolicy, machine: Machine | None, *, landlock: bool
) -> list[str]:
    """Write the command that runs `spec` behind the filter, and behind Landlock if asked."""
    options = [f"l={spec.env['LC_CTYPE']}"] if "LC_CTYPE" in spec.env else []
    if machine is not None:
        options.append(f"f={build_filter(machine, network=policy.network).hex()}")
    elif landlock:
        options.append("f=")  # which no kernel takes: without a filter the network would be open
    if landlock:
        options.append(f"a={int(not policy.network)}")
        options += [f"r={path}" for path in list_readable(policy)]
        options += [f"w={path}" for path in policy.writable]
        options += [f"d={path}" for path in (*DEVICES, *find_processors())]
        options.append(f"s={SHARED_MEMORY}")
        options += [f"h={path}" for path in policy.hidden]
    python = (str(find_interpreter()), "-I", "-S", "-E", "-X", "utf8", "-c", read_launcher())
    return [*python, *options, "--", *spec.argv]
