"""What every sandbox must hold, tried with real children.

A provider that cannot work on a machine is skipped with its reason, and that reason is checked.
"""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from contextlib import ExitStack
from dataclasses import replace
from multiprocessing import shared_memory
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from shard_jupyter.capabilities.sandbox.launch import find_machine
from shard_jupyter.capabilities.sandbox.trial import try_out
from shard_jupyter.contracts.process_runner import (
    ProcessRunner,
    ProcessSpec,
    SandboxAbilities,
    SandboxPolicy,
)
from shard_jupyter.core.processes import SystemProcessRunner
from tests.sandbox_rig import PROVIDERS, Box, demand, make_provider, open_box

ALL = SandboxAbilities(
    fs_write=True, fs_read=True, net_tcp=True, net_udp=True, unix_sockets=True, pids=True
)
CONNECT = "import socket; socket.socket({family}, {kind}).connect({address!r}); print('REACHED')"


@pytest.fixture(params=PROVIDERS)
async def box(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Box]:
    provider = make_provider(request.param)
    with anyio.fail_after(60):
        await demand(provider, tmp_path)
    with ExitStack() as stack:
        yield await anyio.to_thread.run_sync(
            stack.enter_context, open_box(tmp_path / "box", provider)
        )


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.proves("E09.probe")
async def test_what_a_probe_reports_was_tried_and_leaves_nothing(box: Box) -> None:
    before = sorted(box.root.iterdir())
    wanted = replace(ALL, mixed_folders=box.provider.name == "bubblewrap")
    assert await box.provider.probe(SystemProcessRunner(), box.root) == wanted
    assert sorted(box.root.iterdir()) == before


class OpenDoor:
    """A provider that locks nothing in."""

    name = "open-door"

    async def probe(self, processes: ProcessRunner, scratch: Path) -> SandboxAbilities:
        raise NotImplementedError

    def wrap(self, spec: ProcessSpec, policy: SandboxPolicy) -> ProcessSpec:
        del policy
        return spec


@pytest.mark.proves("E09.probe")
async def test_a_probe_of_what_holds_nothing_says_so(tmp_path: Path) -> None:
    with anyio.fail_after(60):
        found = await try_out(OpenDoor(), SystemProcessRunner(), tmp_path)
    assert found == SandboxAbilities(mixed_folders=True)


@pytest.mark.proves("E09.writes")
@pytest.mark.parametrize(
    "attempt",
    [
        "echo x > ../closed/new",
        "echo x > out/new",
        "echo x >> ../shared/secret",
        "mkdir /new",
        "mkdir ../new",
        "touch made && mv made ../closed/new",
        "ln ../shared/secret stolen && echo x > stolen",
        "rm ../closed/secret",
        "ln -s ../closed way && echo x > way/new",
        "(setsid bash -c 'echo x > ../closed/new')",
        "env -i /bin/bash -c 'exec /bin/bash -c \"echo x > ../closed/new\"'",
        "echo x > /etc/new",
        "truncate -s 0 ../shared/secret",
        "mkfifo ../closed/new",
    ],
)
async def test_nothing_outside_is_written(box: Box, attempt: str) -> None:
    code, output = await box.bash(attempt)
    assert code != 0, output
    assert names_in(box.root / "closed") == ["secret", "socket"]
    assert (box.root / "closed/secret").read_text(encoding="utf-8") == "SECRET"
    assert (box.root / "shared/secret").read_text(encoding="utf-8") == "SECRET"
    assert not Path("/etc/new").exists()
    assert not Path("/new").exists()


@pytest.mark.proves("E09.writes")
async def test_inside_everything_can_be_done(box: Box) -> None:
    text = (
        "set -e; mkdir -p a/b; echo one > a/b/f; mv a/b/f g; ln -s g link; ln g hard; chmod +x g;"
        "mkfifo pipe; rm pipe; truncate -s 1 g; cat link; echo t > $OLDPWD../tmp/t 2>/dev/null ||"
        " echo t > ../tmp/t; cp g ../tmp/g; mv ../tmp/g back; cat <(echo sub)"
    )
    assert await box.bash(text) == (0, "osub\n")
    assert (box.ws / "back").read_text(encoding="utf-8") == "o"


@pytest.mark.proves("E09.reads")
@pytest.mark.parametrize(
    "path",
    ["../closed/secret", "out/secret", "../mixed/hidden/secret", "../shared/hidden/secret",
     "/proc/self/cwd/../closed/secret", "/proc/$$/root{root}/closed/secret"],
)  # fmt: skip
async def test_nothing_hidden_is_read(box: Box, path: str) -> None:
    code, output = await box.bash(f"cat {path.format(root=box.root)}")
    assert code != 0
    assert "SECRET" not in output


@pytest.mark.proves("E09.reads")
async def test_what_is_granted_is_read(box: Box) -> None:
    assert await box.bash("cat ../shared/secret ../mixed/file") == (0, "SECRETMIXED")
    assert (await box.bash("echo more >> ../mixed/file && cat ../mixed/file"))[0] == 0


def connections(box: Box) -> dict[str, str]:
    tcp, udp = (box.sockets[name].getsockname() for name in ("tcp", "udp"))
    unix = {"near": "socket", "far": "../closed/socket", "abstract": f"\0shard-test-{os.getpid()}"}
    return {
        "tcp": CONNECT.format(family=2, kind=1, address=tcp),
        "udp": f"import socket; socket.socket(2, 2).sendto(b'x', {udp!r}); print('REACHED')",
        **{n: CONNECT.format(family=1, kind=1, address=a) for n, a in unix.items()},
    }


@pytest.mark.proves("E09.network")
@pytest.mark.parametrize("name", ["tcp", "udp", "near", "far", "abstract"])
async def test_no_socket_leads_out(box: Box, name: str) -> None:
    code, output = await box.python(connections(box)[name])
    assert code != 0
    assert "REACHED" not in output
    box.sockets["udp"].setblocking(False)
    with pytest.raises(BlockingIOError):
        box.sockets["udp"].recv(1)


@pytest.mark.proves("E09.network")
async def test_a_pair_of_datagram_sockets_is_no_way_around(box: Box) -> None:
    with anyio.fail_after(60):
        code, output = await box.python("import socket; socket.socketpair(1, socket.SOCK_DGRAM)")
    assert code != 0
    assert "PermissionError" in output
    code, output = await box.python("import socket; a, b = socket.socketpair(); print('works')")
    assert (code, output) == (0, "works\n")


@pytest.mark.proves("E09.network", "E09.lifted")
async def test_the_network_alone_is_lifted(box: Box) -> None:
    scripts = connections(box)
    assert await box.python(scripts["tcp"], network=True) == (0, "REACHED\n")
    assert await box.python(scripts["udp"], network=True) == (0, "REACHED\n")
    for name in ("near", "far"):
        assert "REACHED" not in (await box.python(scripts[name], network=True))[1], name
    assert (await box.bash("cat ../closed/secret", network=True))[0] != 0
    assert (await box.bash("echo x > ../closed/new", network=True))[0] != 0


POOL = """
import multiprocessing
from multiprocessing import shared_memory
lock = multiprocessing.get_context("fork").Lock()
with lock, multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(abs, [-1, -2]))
memory = shared_memory.SharedMemory(create=True, size=9)
memory.buf[0] = 7
print(memory.buf[0])
memory.close()
memory.unlink()
"""


@pytest.mark.proves("E09")
async def test_programs_share_work_and_memory_as_they_do_outside(box: Box) -> None:
    assert await box.python(POOL) == (0, "[1, 2]\n7\n")


@pytest.mark.proves("E09.reads", "E09.processes")
async def test_shared_memory_of_others_is_neither_listed_nor_left_open_to_programs(
    box: Box,
) -> None:
    theirs = shared_memory.SharedMemory(create=True, size=64)
    try:
        listed = await box.bash("ls /dev/shm/")
        assert theirs.name.strip("/") not in listed[1]
        made = await box.bash("mkdir /dev/shm/shard-test-folder || echo REFUSED")
        ran = await box.bash("cp /bin/true /dev/shm/shard-test && /dev/shm/shard-test; echo $?")
        Path("/dev/shm/shard-test").unlink(missing_ok=True)
    finally:
        theirs.close()
        theirs.unlink()
    if box.provider.name == "landlock":  # the other one has a /dev/shm of its own
        assert made[1].endswith("REFUSED\n")
        assert ran[1].endswith("126\n")


@pytest.mark.proves("E09.processes")
async def test_other_processes_are_neither_signalled_nor_looked_into(box: Box) -> None:
    own, other = os.getpid(), str(Path("/proc/self/ns/pid").readlink())
    text = f"""
import os, pathlib
def tried(act):
    try: act()
    except OSError: return "refused"
    return "REACHED"
same = os.readlink("/proc/self/ns/pid") == {other!r}
print(tried(lambda: os.kill({own}, 0)) if same else "refused")
for name in ("environ", "mem", "maps", "root/etc/passwd", "cwd/pyproject.toml", "fd/1"):
    path = f"/proc/{own}/{{name}}"
    print(tried(lambda: open(path, "rb").read(1)) if same else "refused")
"""
    assert await box.python(text) == (0, "refused\n" * 7)


@pytest.mark.proves("E09.processes")
async def test_its_own_children_can_be_signalled(box: Box) -> None:
    text = "sleep 1000 & kill $! && wait $!; echo $?"
    assert await box.bash(text) == (0, "143\n")


@pytest.mark.proves("E09.processes")
async def test_calls_that_reach_around_the_sandbox_are_refused(box: Box) -> None:
    machine = find_machine()
    if machine is None:
        pytest.skip("there is no filter for this machine")
    names = ("ptrace", "process_vm_readv", "io_uring_setup", "unshare", "setns", "mount", "bpf",
             "userfaultfd", "keyctl", "open_by_handle_at", "perf_event_open", "shmget")  # fmt: skip
    numbers = [machine.numbers[name] for name in names]
    text = f"""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for number in {numbers}:
    assert libc.syscall(number, *[ctypes.c_long(0)] * 5) == -1
    print(ctypes.get_errno(), end=" ")
assert libc.syscall({machine.numbers["clone"]}, ctypes.c_long(0x10000000 | 17), 0, 0, 0, 0) == -1
print(ctypes.get_errno())
"""
    refused = ["1"] * len(names) + ["1\n"]
    refused[names.index("io_uring_setup")] = "38"
    assert await box.python(text) == (0, " ".join(refused))


@pytest.mark.proves("E09.processes")
async def test_a_call_of_another_abi_is_death(box: Box) -> None:
    machine = find_machine()
    if machine is None or not machine.has_x32:
        pytest.skip("this machine has one ABI")
    call = "import ctypes; ctypes.CDLL(None).syscall(0x40000000 | 39); print('ALIVE')"
    assert await box.python(call) == (128 + signal.SIGSYS, "")
    # `int 0x80` with the number of getpid among the calls of 32 bits
    code = (
        "import ctypes, mmap; m = mmap.mmap(-1, 4096, prot=7); "
        "m.write(bytes.fromhex('b814000000cd80c3')); "
        "a = ctypes.addressof(ctypes.c_char.from_buffer(m)); ctypes.CFUNCTYPE(int)(a)(); "
        "print('ALIVE')"
    )
    exit_code, output = await box.python(code)
    assert "ALIVE" not in output
    assert exit_code in (128 + signal.SIGSYS, 128 + signal.SIGSEGV)


@pytest.mark.proves("E09.processes")
@pytest.mark.parametrize("how", ["limit", "cancelled"])
async def test_nothing_is_left_running(box: Box, how: str) -> None:
    """Children of children too, at the time limit and when it is called off."""
    os.mkfifo(box.ws / "alive")
    text = (
        "(setsid bash -c 'exec 9>alive; echo up >&9; sleep 1000' &) ;"
        "(env -i setsid setsid /bin/sleep 1000 9>alive &) ; sleep 1000 9>alive"
    )
    reader = os.open(box.ws / "alive", os.O_RDONLY | os.O_NONBLOCK)
    limit = 1.0 if how == "limit" else 600.0
    spec = replace(box.spec("bash", "-c", text), timeout_seconds=limit)
    try:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                group.start_soon(box.run, spec)
                await anyio.wait_readable(reader)
                assert os.read(reader, 3) == b"up\n"
                if how == "cancelled":
                    group.cancel_scope.cancel()
            # Every end of the pipe is closed: whoever held one is dead.
            await anyio.wait_readable(reader)
            assert os.read(reader, 1) == b""
    finally:
        os.close(reader)


@pytest.mark.proves("E09")
async def test_a_command_sees_what_it_would_outside(box: Box) -> None:
    """Arguments byte for byte, its own exit code, the given environment, and pipes that break."""
    odd = os.fsdecode(b"a b\xff'\"\n--")
    spec = box.spec(PYTHON_ARGUMENTS[0], *PYTHON_ARGUMENTS[1:], odd)
    outcome = await box.run(spec)
    assert outcome.output.head == b"a b\xff'\"\n--"
    assert (await box.bash("exit 7"))[0] == 7
    assert (await box.bash("kill -9 $$"))[0] == 137
    assert await box.bash("set -o pipefail; yes | head -1; exit $?") == (141, "y\n")
    seen = (await box.bash("env -u SHLVL -u _ -u OLDPWD -u PWD -u SHARD_CALL | sort"))[1]
    assert seen == f"HOME={box.root}\nPATH=/usr/local/bin:/usr/bin:/bin\n"
    assert await box.bash("pwd; cat") == (0, f"{box.ws}\n")
    code, output = (await box.run(box.spec("no-such-program"))).exit_code, ""
    assert code == 127, output


PYTHON_ARGUMENTS = ("bash", "-c", 'printf %s "$1"', "bash")


@pytest.mark.proves("T57")
async def test_existing_protected_names_stay_and_absent_ones_leave_no_trace(box: Box) -> None:
    (box.ws / ".git/hooks").mkdir(parents=True)
    (box.ws / ".git/config").write_text("[core]\n", encoding="utf-8")
    protected = tuple(box.ws / name for name in (".git/hooks", ".git/config", ".vscode", ".envrc"))
    box.policy = replace(box.policy, protected=protected)
    before = names_in(box.ws)
    assert (await box.bash("true"))[0] == 0
    assert names_in(box.ws) == before
    code, _ = await box.bash("echo x > .git/hooks/pre-commit; echo y >> .git/config")
    if box.provider.name == "bubblewrap":
        assert code != 0
        assert names_in(box.ws / ".git/hooks") == []
        assert (box.ws / ".git/config").read_text(encoding="utf-8") == "[core]\n"
    else:
        assert code == 0, "Landlock cannot take anything out of a folder: see sandboxed_run.py"


@pytest.mark.proves("E09.reads")
async def test_a_link_put_in_place_of_something_granted_opens_nothing(box: Box) -> None:
    """A virtual environment in the workspace is one of the folders to read."""
    box.policy = replace(box.policy, readable=(*box.policy.readable, box.ws / ".venv"))
    (box.ws / ".venv").mkdir()
    assert (await box.bash("rmdir .venv && ln -s ../closed .venv"))[0] == 0
    code, output = await box.bash("cat .venv/secret ../closed/secret")
    assert code != 0
    assert "SECRET" not in output


@pytest.mark.proves("E09.reads", "T57")
async def test_what_is_hidden_or_protected_cannot_be_moved_into_reach(box: Box) -> None:
    deep = box.root / "mixed/config/cloud"
    (deep / "keys").mkdir(parents=True)
    (deep / "keys/secret").write_text("SECRET", encoding="utf-8")
    (box.ws / ".git/hooks").mkdir(parents=True)
    hidden, protected = (*box.policy.hidden, deep / "keys"), (box.ws / ".git/hooks",)
    box.policy = replace(box.policy, hidden=hidden, protected=protected)
    for folder in ("config", "config/cloud", "config/cloud/keys"):
        assert (await box.bash(f"mv ../mixed/{folder} ../mixed/moved"))[0] != 0
        assert "SECRET" not in (await box.bash("cat ../mixed/moved/*/*/* ../mixed/moved/*/*"))[1]
    assert (deep / "keys/secret").read_text(encoding="utf-8") == "SECRET"
    if box.provider.name == "bubblewrap":
        assert (await box.bash("mv .git .moved"))[0] != 0


@pytest.mark.proves("E09.writes")
async def test_a_link_in_place_of_a_protected_folder_leads_nowhere(box: Box) -> None:
    (box.ws / ".vscode").symlink_to(box.root / "closed")
    (box.ws / ".git").symlink_to(box.root / "closed")
    protected = (box.ws / ".vscode", box.ws / ".git/secret")
    box.policy = replace(box.policy, protected=protected)
    assert (await box.bash("true"))[0] == 0, "it is no way to stop all commands either"
    code, output = await box.bash("cat .vscode/secret .git/secret; echo x > .git/new")
    assert code != 0
    assert "SECRET" not in output
    assert not (box.root / "closed/new").exists()
