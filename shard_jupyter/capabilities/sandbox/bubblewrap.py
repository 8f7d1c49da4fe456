"""bubblewrap: a file system, a network and processes of its own for each command."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import anyio.to_thread

from shard_jupyter.capabilities.sandbox.launch import (
    find_machine,
    find_processors,
    list_readable,
    write_command,
)
from shard_jupyter.capabilities.sandbox.trial import try_out
from shard_jupyter.contracts.process_runner import (
    ProcessRunner,
    ProcessSpec,
    SandboxAbilities,
    SandboxPolicy,
)

PLACES = ("/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin", "/run/wrappers/bin")
"""Where the program is looked for. Not along PATH: that may lead into a workspace."""
ISOLATION = (
    "--die-with-parent", "--new-session", "--unshare-user-try", "--unshare-ipc", "--unshare-pid",
    "--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL",
)  # fmt: skip
TMP = Path("/tmp")  # noqa: S108 - the name inside, where it is the agent's own
_ORDER = ("readable", "writable", "hidden", "protected")


@dataclass(frozen=True)
class BubblewrapProvider:
    """A `SandboxProvider`. `program`: the one to use; None: the one in a folder of the system."""

    program: Path | None = None

    @property
    def name(self) -> str:
        return "bubblewrap"

    async def probe(self, processes: ProcessRunner, scratch: Path) -> SandboxAbilities:
        if await anyio.to_thread.run_sync(self._find_program) is None:
            return SandboxAbilities(reason="bubblewrap (bwrap) is not installed")
        return await try_out(self, processes, scratch)

    def wrap(self, spec: ProcessSpec, policy: SandboxPolicy) -> ProcessSpec:
        program = self._find_program() or Path(PLACES[0]) / "bwrap"
        inner = write_command(spec, policy, find_machine(), landlock=False)
        options = [*ISOLATION, *_network(policy), *_files(policy), "--chdir", str(spec.cwd)]
        return replace(spec, argv=[str(program), *options, "--", *inner])

    def _find_program(self) -> Path | None:
        if self.program is not None:
            return self.program
        places = (Path(place) / "bwrap" for place in PLACES)
        return next((place for place in places if os.access(place, os.X_OK)), None)


def _network(policy: SandboxPolicy) -> tuple[str, ...]:
    return () if policy.network else ("--unshare-net",)


def _files(policy: SandboxPolicy) -> Iterator[str]:
    """Build the file system from above to below: of two rules for a path the longer one holds."""
    yield from ("--proc", "/proc", "--dev", "/dev")
    for device in find_processors():
        yield from ("--dev-bind-try", str(device), str(device))
    empty: list[Path] = []
    if policy.temporary is not None and not _holds_any(TMP, (*policy.writable, *policy.readable)):
        # What a command leaves there the next one finds.
        yield from ("--bind", str(policy.temporary), str(TMP))
    else:
        empty.append(TMP)
        yield from ("--tmpfs", str(TMP))
    rules = sorted(
        set(_rules(policy)), key=lambda rule: (len(rule[0].parts), _ORDER.index(rule[1]))
    )
    for path, kind in rules:
        match kind:
            case "readable" | "protected":
                yield from ("--ro-bind-try", str(path), str(path))
            case "writable":
                yield from ("--bind-try", str(path), str(path))
            case _ if path.is_dir():
                empty.append(path)
                yield from ("--tmpfs", str(path))
            case _:
                yield from ("--ro-bind", "/dev/null", str(path))
    # What is no part of any rule must refuse to be written, not take it and forget it.
    for path in (*empty, Path("/")):
        yield from ("--remount-ro", str(path))


def _rules(policy: SandboxPolicy) -> Iterator[tuple[Path, str]]:
    """Name what to mount. A mount point that is missing would be made on the disk: so none is."""
    granted = (*policy.writable, *policy.readable)
    for path in list_readable(policy):
        if not _is_special(path):
            yield path, "readable"
    for path in policy.writable:
        yield path, "writable"
    covered = [(path, "hidden") for path in policy.hidden if _is_below(path, granted)]
    covered += [(path, "protected") for path in policy.protected
                if _is_below(path, policy.writable)]  # fmt: skip
    for path, kind in covered:
        # A link may have been put there; what it leads to is not granted by itself.
        if path.exists() and os.path.realpath(path) == str(path):
            yield path, kind
            yield from _pin(path, policy)


def _pin(path: Path, policy: SandboxPolicy) -> Iterator[tuple[Path, str]]:
    """Make mount points of the folders above: else they could be renamed, and it be reached so."""
    fixed = {*policy.writable, *policy.readable, *policy.hidden}
    above = itertools.takewhile(lambda folder: folder not in fixed, path.parents)
    if _is_below(path, policy.writable):
        yield from ((folder, "writable") for folder in above)


def _is_special(path: Path) -> bool:
    """/proc and /dev are made anew inside."""
    return path.parts[1:2] in (("proc",), ("dev",))


def _is_below(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _holds_any(folder: Path, paths: Iterable[Path]) -> bool:
    return any(path.is_relative_to(folder) for path in paths)
