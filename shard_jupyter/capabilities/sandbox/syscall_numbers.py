"""Numbers of system calls, by machine. A machine that is not in here has no filter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class Machine:
    """One kind of processor.

    Attributes:
        arch: the kernel's AUDIT_ARCH value.
        has_x32: numbers from 0x40000000 on are calls of another ABI with the same `arch`.
    """

    arch: int
    has_x32: bool
    numbers: Mapping[str, int]


_COMMON = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "clone3": 435,
    "pidfd_getfd": 438,
    "process_madvise": 440,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "open_tree_attr": 467,
}  # one number on every machine since Linux 5.1

# fmt: off
_X86_64 = {
    "shmget": 29, "shmat": 30, "socket": 41, "connect": 42, "bind": 49, "socketpair": 53,
    "clone": 56, "semget": 64, "msgget": 68, "ptrace": 101, "syslog": 103, "vhangup": 153,
    "pivot_root": 155, "adjtimex": 159, "acct": 163, "settimeofday": 164, "mount": 165,
    "umount2": 166, "swapon": 167, "swapoff": 168, "reboot": 169, "sethostname": 170,
    "setdomainname": 171, "iopl": 172, "ioperm": 173, "init_module": 175, "delete_module": 176,
    "quotactl": 179, "clock_settime": 227, "mq_open": 240, "kexec_load": 246, "add_key": 248,
    "request_key": 249, "keyctl": 250, "unshare": 272, "perf_event_open": 298,
    "fanotify_init": 300, "open_by_handle_at": 304, "clock_adjtime": 305, "setns": 308,
    "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "finit_module": 313,
    "kexec_file_load": 320, "bpf": 321, "userfaultfd": 323,
}
_AARCH64 = {
    "umount2": 39, "mount": 40, "pivot_root": 41, "vhangup": 58, "quotactl": 60, "acct": 89,
    "unshare": 97, "kexec_load": 104, "init_module": 105, "delete_module": 106,
    "clock_settime": 112, "syslog": 116, "ptrace": 117, "reboot": 142, "sethostname": 161,
    "setdomainname": 162, "settimeofday": 170, "adjtimex": 171, "mq_open": 180, "msgget": 186,
    "semget": 190, "shmget": 194, "shmat": 196, "socket": 198, "socketpair": 199, "bind": 200,
    "connect": 203, "add_key": 217, "request_key": 218, "keyctl": 219, "clone": 220,
    "swapon": 224, "swapoff": 225, "perf_event_open": 241, "fanotify_init": 262,
    "open_by_handle_at": 265, "clock_adjtime": 266, "setns": 268, "process_vm_readv": 270,
    "process_vm_writev": 271, "kcmp": 272, "finit_module": 273, "bpf": 280, "userfaultfd": 282,
    "kexec_file_load": 294,
}
# fmt: on

MACHINES: Mapping[str, Machine] = {
    "x86_64": Machine(0xC000003E, has_x32=True, numbers={**_COMMON, **_X86_64}),
    "aarch64": Machine(0xC00000B7, has_x32=False, numbers={**_COMMON, **_AARCH64}),
}
"""By what `uname` calls the machine."""
