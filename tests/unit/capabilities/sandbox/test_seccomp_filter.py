"""The filter as a kernel reads it: a small machine for BPF runs it for every call."""

from __future__ import annotations

import errno
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.capabilities.sandbox.seccomp_filter import FORBIDDEN, UNKNOWN, build_filter
from shard_jupyter.capabilities.sandbox.syscall_numbers import MACHINES, Machine

pytestmark = pytest.mark.proves("E09.network", "E09.processes")
ALLOW, KILL = 0x7FFF_0000, 0x8000_0000
BOTH = pytest.mark.parametrize("machine", MACHINES.values(), ids=list(MACHINES))
NETWORK = pytest.mark.parametrize("network", [False, True])


def judge(
    machine: Machine, number: int, *arguments: int, network: bool = False, arch: int | None = None
) -> int:
    """Run the filter; an error comes back as its number, the rest as the kernel's word for it."""
    program = list(struct.iter_unpack("=HBBI", build_filter(machine, network=network)))
    padded = (*arguments, *[0] * (6 - len(arguments)))
    data = struct.pack("=IIQ6Q", number, machine.arch if arch is None else arch, 0, *padded)
    at, held = 0, 0
    while True:
        code, if_true, if_false, value = program[at]
        at += 1
        match code:
            case 0x20:
                (held,) = struct.unpack_from("=I", data, value)
            case 0x54:
                held &= value
            case 0x15:
                at += if_true if held == value else if_false
            case 0x35:
                at += if_true if held >= value else if_false
            case 0x45:
                at += if_true if held & value else if_false
            case 0x06:
                return value & 0xFFFF if value & 0x7FFF_0000 == 0x0005_0000 else value
            case _:
                raise AssertionError(f"no such instruction: {code:#x}")


@BOTH
@NETWORK
def test_what_reaches_around_the_sandbox_is_refused(machine: Machine, network: bool) -> None:
    for name in FORBIDDEN:
        if name in machine.numbers:
            assert judge(machine, machine.numbers[name], network=network) == errno.EPERM, name
    for name in UNKNOWN:
        assert judge(machine, machine.numbers[name], network=network) == errno.ENOSYS, name


@BOTH
@NETWORK
def test_another_abi_is_death(machine: Machine, network: bool) -> None:
    assert judge(machine, 1, arch=0x40000003, network=network) == KILL
    expected = KILL if machine.has_x32 else ALLOW
    assert judge(machine, 0x4000_0000 | 41, network=network) == expected
    assert judge(machine, 0xFFFF_FFFF, network=network) == ALLOW, "no call at all"


@BOTH
@NETWORK
@pytest.mark.parametrize("flag", [17, 25, 26, 27, 28, 29, 30])
def test_no_namespace_is_made(machine: Machine, network: bool, flag: int) -> None:
    clone = machine.numbers["clone"]
    assert judge(machine, clone, 1 << flag | 17, network=network) == errno.EPERM
    assert judge(machine, clone, 0x3D0F00, network=network) == ALLOW, "a thread"
    assert judge(machine, clone, 17, network=network) == ALLOW, "a process"


@BOTH
@given(family=st.integers(0, 50), kind=st.integers(0, 1 << 20), protocol=st.integers(0, 300))
def test_without_network_there_is_no_socket(
    machine: Machine, family: int, kind: int, protocol: int
) -> None:
    assert judge(machine, machine.numbers["socket"], family, kind, protocol) == errno.EACCES
    for name in ("connect", "bind"):
        assert judge(machine, machine.numbers[name], 3, 0, 0) == errno.EACCES


@BOTH
@given(family=st.integers(0, 50), kind=st.integers(0, 1 << 20), protocol=st.integers(0, 300))
def test_with_network_there_are_internet_sockets_only(
    machine: Machine, family: int, kind: int, protocol: int
) -> None:
    internet = family in (2, 10) and kind & 0xF in (1, 2)
    addresses = family == 16 and protocol == 0
    expected = ALLOW if internet or addresses else errno.EACCES
    call = machine.numbers["socket"]
    assert judge(machine, call, family, kind, protocol, network=True) == expected


@BOTH
@NETWORK
@given(kind=st.integers(0, 1 << 20))
def test_a_pair_of_sockets_is_connected_for_good(
    machine: Machine, network: bool, kind: int
) -> None:
    expected = ALLOW if kind & 0xF in (1, 5) else errno.EACCES
    assert judge(machine, machine.numbers["socketpair"], 1, kind, network=network) == expected


@BOTH
@NETWORK
def test_everything_else_is_allowed(machine: Machine, network: bool) -> None:
    judged = {*machine.numbers.values()}
    others = [number for number in range(480) if number not in judged]
    assert all(judge(machine, number, network=network) == ALLOW for number in others)
