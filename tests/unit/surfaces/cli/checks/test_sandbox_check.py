"""What doctor says of the sandbox, and what to do about it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shard_jupyter.contracts.process_runner import SandboxAbilities
from shard_jupyter.core.sandbox.sandbox_choice import Tried
from shard_jupyter.surfaces.cli.checks.sandbox_check import check_sandbox, describe_trials

pytestmark = pytest.mark.proves("E09.missing")
ALL = SandboxAbilities(
    fs_write=True, fs_read=True, net_tcp=True, net_udp=True, unix_sockets=True, pids=True
)
ABSENT = Tried("bubblewrap", SandboxAbilities(reason="bubblewrap (bwrap) is not installed"))


def test_what_is_used_is_told_with_what_it_stops() -> None:
    used, other = describe_trials("auto", [ABSENT, Tried("landlock", ALL)])
    assert (used.status, used.message.split(" ")[:2]) == ("ok", ["landlock", "stops"])
    assert "UDP and name look-ups" in used.message
    assert other.message == "bubblewrap is not used: bubblewrap (bwrap) is not installed"


def test_what_it_does_not_stop_is_told() -> None:
    (told,) = describe_trials("auto", [Tried("landlock", replace(ALL, pids=False))])
    assert told.status == "warn"
    assert "does not stop reaching into other processes" in told.message
    assert told.next_step.startswith("Install bubblewrap")


def test_none_is_a_problem_only_where_one_is_required() -> None:
    (told,) = describe_trials("auto", [ABSENT])
    assert told.status == "warn"
    (told,) = describe_trials("required", [ABSENT])
    assert told.status == "problem"
    assert told.next_step


def test_switched_off_is_told() -> None:
    (told,) = check_sandbox("off")
    assert told.status == "warn"


def test_the_bundled_ones_are_tried_for_real() -> None:
    first, *_ = check_sandbox("auto")
    assert first.name == "sandbox"
    assert first.status in ("ok", "warn")
