"""The filter of system calls, as a BPF program. Pure.

What Landlock cannot see is closed here: sockets of every family, also those with a name in the file
system (a container daemon's would be a way out), io_uring, which goes around both, and whatever
reaches into other processes or changes namespaces and mounts.
"""

from __future__ import annotations

import errno
import struct
from functools import cache

from shard_jupyter.capabilities.sandbox.syscall_numbers import Machine

FORBIDDEN = (
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd",
    "mount", "umount2", "pivot_root", "move_mount", "open_tree", "open_tree_attr", "fsopen",
    "fsconfig", "fsmount", "fspick", "mount_setattr", "unshare", "setns", "open_by_handle_at",
    "keyctl", "add_key", "request_key", "bpf", "perf_event_open", "userfaultfd", "fanotify_init",
    "shmget", "shmat", "semget", "msgget", "mq_open", "init_module", "finit_module",
    "delete_module", "kexec_load", "kexec_file_load", "reboot", "swapon", "swapoff", "acct",
    "quotactl", "quotactl_fd", "syslog", "vhangup", "sethostname", "setdomainname",
    "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "iopl", "ioperm",
)  # fmt: skip
UNKNOWN = ("io_uring_setup", "io_uring_enter", "io_uring_register", "clone3")
"""Callers go on without these if the kernel seems not to have them. The flags of clone3 lie in
memory, where no filter can look."""

AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16
SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET = 1, 2, 5
NAMESPACES = 0x7E02_0000
"""All CLONE_NEW… flags."""

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_ALLOW, _KILL, _ERROR = 0x7FFF_0000, 0x8000_0000, 0x0005_0000
_NUMBER, _ARCH = 0, 4
_X32, _NO_CALL = 0x4000_0000, 0xFFFF_FFFF

Instruction = tuple[int, int, int, int]


@cache
def build_filter(machine: Machine, *, network: bool) -> bytes:
    """Return the program: an array of `struct sock_filter`."""
    program = [*_check_abi(machine), (_LOAD, 0, 0, _NUMBER)]
    for names, error in ((FORBIDDEN, errno.EPERM), (UNKNOWN, errno.ENOSYS)):
        for name in names:
            if name in machine.numbers:
                program += _on_call(machine, name, _fail(error))
    program += _on_call(machine, "clone", _refuse_namespaces())
    program += _on_call(machine, "socketpair", _judge_socketpair())
    if network:
        program += _on_call(machine, "socket", _judge_socket())
    else:
        for name in ("socket", "connect", "bind"):
            program += _on_call(machine, name, _fail(errno.EACCES))
    program.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def _check_abi(machine: Machine) -> list[Instruction]:
    """Kill what calls by another ABI, whose numbers mean something else."""
    checks: list[Instruction] = [
        (_LOAD, 0, 0, _ARCH),
        (_EQUAL, 1, 0, machine.arch),
        (_RETURN, 0, 0, _KILL),
    ]
    if machine.has_x32:
        checks += [
            (_LOAD, 0, 0, _NUMBER),
            (_EQUAL, 2, 0, _NO_CALL),
            (_AT_LEAST, 0, 1, _X32),
            (_RETURN, 0, 0, _KILL),
        ]
    return checks


def _on_call(machine: Machine, name: str, body: list[Instruction]) -> list[Instruction]:
    """`body` must end in returns: it may load something else than the number."""
    return [(_EQUAL, 0, len(body), machine.numbers[name]), *body]


def _fail(error: int) -> list[Instruction]:
    return [(_RETURN, 0, 0, _ERROR | error)]


def _argument(index: int) -> Instruction:
    """The lower half of an argument; both machines are little-endian."""
    return (_LOAD, 0, 0, 16 + 8 * index)


def _refuse_namespaces() -> list[Instruction]:
    return [
        _argument(0),
        (_ANY_BIT, 0, 1, NAMESPACES),
        *_fail(errno.EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]


def _judge_socketpair() -> list[Instruction]:
    """A pair of datagram sockets could send to any name; a connected stream cannot."""
    return [
        _argument(1),
        (_AND, 0, 0, 0xF),
        (_EQUAL, 2, 0, SOCK_STREAM),
        (_EQUAL, 1, 0, SOCK_SEQPACKET),
        *_fail(errno.EACCES),
        (_RETURN, 0, 0, _ALLOW),
    ]


def _judge_socket() -> list[Instruction]:
    """Internet sockets but raw ones, and what asks the kernel for its addresses."""
    return [
        _argument(0),
        (_EQUAL, 5, 0, AF_INET),
        (_EQUAL, 4, 0, AF_INET6),
        (_EQUAL, 0, 2, AF_NETLINK),
        _argument(2),
        (_EQUAL, 5, 0, 0),
        *_fail(errno.EACCES),
        _argument(1),
        (_AND, 0, 0, 0xF),
        (_EQUAL, 1, 0, SOCK_STREAM),
        (_EQUAL, 0, 1, SOCK_DGRAM),
        (_RETURN, 0, 0, _ALLOW),
        *_fail(errno.EACCES),
    ]
