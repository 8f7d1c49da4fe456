"""The launcher fails closed: what cannot be applied ends it, and the command has not run."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from shard_jupyter.capabilities.sandbox import launch
from shard_jupyter.capabilities.sandbox.bubblewrap import BubblewrapProvider
from shard_jupyter.capabilities.sandbox.landlock import LandlockProvider
from shard_jupyter.contracts.process_runner import ProcessSpec, SandboxPolicy
from shard_jupyter.core.processes import SystemProcessRunner
from tests.sandbox_rig import landlock_version

FAILED = 125


def start(*options: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    python = str(launch.find_interpreter())
    command = [python, "-I", "-S", "-X", "utf8", "-c", launch.read_launcher(), *options]
    return subprocess.run(
        [*command, "--", "touch", "ran"], cwd=cwd, capture_output=True, check=False
    )


@pytest.mark.proves("E09.required")
@pytest.mark.parametrize("program", ["00", "06000000ffffff7f" * 5000, "ffff0000ffffffff", ""])
def test_a_filter_that_the_kernel_refuses_runs_nothing(tmp_path: Path, program: str) -> None:
    ended = start(f"f={program}", cwd=tmp_path)
    assert ended.returncode == FAILED
    assert ended.stderr.startswith(b"shard: the sandbox cannot be applied: seccomp")
    assert not (tmp_path / "ran").exists()


@pytest.mark.proves("E09.required")
@pytest.mark.skipif(landlock_version() < 1, reason="this kernel has no Landlock")
def test_landlock_that_cannot_be_applied_runs_nothing(tmp_path: Path) -> None:
    """Inside a filter that refuses Landlock, as a kernel without it does."""
    refused = f"""
import ctypes, os, struct, sys
number = {{"x": 444}}["x"]
code = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (6, 0, 0, 0x00050000 | 95), (6, 0, 0, 0x7fff0000)]
program = b"".join(struct.pack("=HBBI", *each) for each in code)
held = ctypes.create_string_buffer(program, len(program))
head = struct.pack("HxxxxxxP", 4, ctypes.addressof(held))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, head, 0, 0) == 0
os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", {launch.read_launcher()!r},
         "a=1", "w={tmp_path}", "r=/usr", "--", "touch", "ran"])
"""
    python = str(launch.find_interpreter())
    ended = subprocess.run([python, "-c", refused], cwd=tmp_path, capture_output=True, check=False)
    assert ended.returncode == FAILED
    assert ended.stderr.startswith(b"shard: the sandbox cannot be applied: Landlock")
    assert not (tmp_path / "ran").exists()


async def test_another_machine_has_no_landlock_sandbox(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(launch.platform, "machine", lambda: "riscv64")
    found = await LandlockProvider().probe(SystemProcessRunner(), tmp_path)
    assert found.reason == "there is no filter of system calls for riscv64 machines"


@pytest.mark.proves("E09.reads")
def test_no_secret_and_no_link_into_a_workspace_is_in_the_command(tmp_path: Path) -> None:
    spec = ProcessSpec(argv=("true",), cwd=tmp_path, env={"SECRET": "seeded", "LC_CTYPE": "C"})
    policy = SandboxPolicy(writable=(tmp_path,), hidden=(tmp_path / "h",))
    wrapped = LandlockProvider().wrap(spec, policy)
    assert "seeded" not in repr(wrapped.argv)
    assert Path(wrapped.argv[0]) == Path(wrapped.argv[0]).resolve()
    assert replace(wrapped, argv=spec.argv) == spec
    assert {f"w={tmp_path}", f"h={tmp_path}/h", "l=C", "a=1"} < set(wrapped.argv)
    lifted = LandlockProvider().wrap(spec, replace(policy, network=True))
    assert "a=0" in lifted.argv


@pytest.mark.proves("E09")
def test_a_graphics_processor_can_be_used_as_outside(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Another device stands in for one."""
    spec = ProcessSpec(argv=("true",), cwd=tmp_path, env={})
    policy = SandboxPolicy(writable=(tmp_path,))
    monkeypatch.setattr(launch, "PROCESSORS", ("tt[y]", "absent*"))
    launch.find_processors.cache_clear()
    try:
        assert "d=/dev/tty" in LandlockProvider().wrap(spec, policy).argv
        argv = list(BubblewrapProvider(Path("/usr/bin/bwrap")).wrap(spec, policy).argv)
    finally:
        launch.find_processors.cache_clear()
    at = argv.index("--dev-bind-try")
    assert argv[at + 1 : at + 3] == ["/dev/tty", "/dev/tty"]
    assert at > argv.index("--dev")


@pytest.mark.parametrize("name", ["launcher.py", "trial_child.py"])
def test_what_is_given_as_an_argument_fits_every_locale(name: str) -> None:
    assert Path(launch.__file__).with_name(name).read_bytes().isascii()
