"""Which processes belong to one run, also those that tried to get away.

A child can leave its group and session (`setsid`), lose its parents (double fork) and clear its
environment (`env -i`). Three things hold on to it:

- *We are the subreaper while a run is active*: an orphan below us becomes our child instead of
  init's, so it is found from us downwards, and "I have no child" proves that nothing survived.
- *A label in a resource limit*: the soft limit of POSIX message queues, which nothing here uses,
  is set to a number of the run around the fork. It is inherited through exec, setsid and an emptied
  environment, and can even be read of a zombie. Linux only.
- *A marker in the environment*, for systems without the two above.

Nothing here signals or reaps a process that carries none of these: other code in this process may
have children of its own.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import random
import resource
import shlex
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

MARKER = "SHARD_CALL"
PR_SET_CHILD_SUBREAPER = 36
TAG_SPAN = 1 << 16
TAG_CEILING = 1 << 40
NAME_CHARS = 200


@dataclass(frozen=True)
class RunMark:
    """How the processes of one run are told from all others."""

    root: int
    """Pid of the first process, which is also its group and its session."""
    marker: str
    """Value of `SHARD_CALL`; a nested run appends to it, so that it is searched, not compared."""
    tag: int | None


@dataclass(frozen=True)
class Member:
    pid: int
    name: str


def has_no_child() -> bool:
    """One system call; True only if this process has no child at all, dead or alive."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return True
    return False


class Adoption:
    """Makes this process the subreaper while at least one run is active, and only then."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Start from nothing; a forked child does, because the kernel does not hand it down."""
        self._active = 0
        self._lock = threading.Lock()
        self._is_on = False

    @property
    def is_on(self) -> bool:
        return self._is_on

    def begin(self) -> None:
        with self._lock:
            self._active += 1
            if not self._is_on:
                self._is_on = _set_subreaper(enabled=True)

    def end(self) -> None:
        with self._lock:
            self._active -= 1
            if self._active == 0 and self._is_on:
                self._is_on = not _set_subreaper(enabled=False)


ADOPTION = Adoption()
os.register_at_fork(after_in_child=ADOPTION.reset)

_PRCTL = ctypes.CDLL(None).prctl if sys.platform.startswith("linux") else None


def _set_subreaper(*, enabled: bool) -> bool:
    """True if it was set; a system without the call finds escapees by their marker instead."""
    return _PRCTL is not None and _PRCTL(PR_SET_CHILD_SUBREAPER, int(enabled), 0, 0, 0) == 0


_TAG_LOCK = threading.Lock()
_TAG_NUMBERS = itertools.count(random.SystemRandom().randrange(TAG_SPAN))


@contextmanager
def tagged() -> Iterator[int | None]:
    """Give what is forked inside a number of its own. None where limits cannot be labelled.

    The lock keeps two event loops in two threads from taking each other's label for the original.
    """
    if not hasattr(resource, "prlimit"):
        yield None
        return
    with _TAG_LOCK:
        soft, hard = resource.getrlimit(resource.RLIMIT_MSGQUEUE)
        ceiling = hard if 0 <= hard < TAG_CEILING else TAG_CEILING
        tag = ceiling - next(_TAG_NUMBERS) % TAG_SPAN
        if ceiling <= TAG_SPAN or tag == soft:
            yield None
            return
        resource.setrlimit(resource.RLIMIT_MSGQUEUE, (tag, hard))
        try:
            yield tag
        finally:
            resource.setrlimit(resource.RLIMIT_MSGQUEUE, (soft, hard))


def find_members(mark: RunMark) -> list[Member]:
    """Every process of the run that is alive. Reaps the dead ones that were left to us.

    Reads `/proc`: call it in a thread. The root is never reaped here, its starter does that.
    """
    # Who dies while one looks leaves its children to us, too late to be in that look's list. So
    # "nobody" must be seen twice, with nobody reaped in between.
    quiet_looks = 0
    while quiet_looks < 2:
        alive, reaped = _look_once(mark)
        if alive:
            return alive
        quiet_looks = 0 if reaped else quiet_looks + 1
    return []


def _look_once(mark: RunMark) -> tuple[list[Member], int]:
    found: dict[int, Member] = {}
    reaped = 0
    for pid in _candidates(mark):
        if pid in found or not _belongs(pid, mark):
            continue
        if _is_dead(pid):
            reaped += _reap(pid, mark)
        else:
            for member in (pid, *_descendants(pid)):
                if not _is_dead(member):
                    found[member] = Member(member, _name_of(member))
    return list(found.values()), reaped


def _candidates(mark: RunMark) -> list[int]:
    """Where members must be: below us if we adopt orphans, else anywhere."""
    if ADOPTION.is_on:
        return _children_of(os.getpid())
    return [mark.root, *psutil.pids()]


def _children_of(pid: int) -> list[int]:
    listed: list[int] = []
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            listed += map(int, (task / "children").read_bytes().split())
    except OSError:
        # Another system, a kernel without these files, or a process that just ended.
        with suppress(psutil.Error):
            return [child.pid for child in psutil.Process(pid).children()]
    return listed


def _descendants(pid: int) -> list[int]:
    found: list[int] = []
    below = _children_of(pid)
    while below:
        child = below.pop()
        found.append(child)
        below += _children_of(child)
    return found


def _belongs(pid: int, mark: RunMark) -> bool:
    if pid == mark.root:
        return True
    with suppress(OSError):
        if mark.root in (os.getsid(pid), os.getpgid(pid)):
            return True
    if mark.tag is not None:
        with suppress(OSError):
            if resource.prlimit(pid, resource.RLIMIT_MSGQUEUE)[0] == mark.tag:
                return True
    with suppress(psutil.Error, OSError):
        return mark.marker in psutil.Process(pid).environ().get(MARKER, "")
    return False


def _is_dead(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return True


def _reap(pid: int, mark: RunMark) -> bool:
    if pid == mark.root:
        return False
    with suppress(ChildProcessError):  # somebody else's child, found by the scan of all
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    return False


def _name_of(pid: int) -> str:
    try:
        words = psutil.Process(pid).cmdline()
    except psutil.Error:
        return ""
    name = shlex.join(words)
    return name if len(name) <= NAME_CHARS else name[:NAME_CHARS] + "…"
