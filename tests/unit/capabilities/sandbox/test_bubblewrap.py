"""What bubblewrap is asked for, without bubblewrap."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from shard_jupyter.capabilities.sandbox.bubblewrap import BubblewrapProvider
from shard_jupyter.contracts.process_runner import ProcessSpec, SandboxPolicy
from shard_jupyter.core.processes import SystemProcessRunner

BWRAP = Path("/usr/bin/bwrap")


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    for folder in ("ws/.git/hooks", "ws/keys", "state/scratch/tmp"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "ws/token").write_text("x", encoding="utf-8")
    return tmp_path / "ws"


def wrap(ws: Path, **policy: object) -> list[str]:
    made = SandboxPolicy(writable=(ws,), readable=(Path("/usr"), Path("/proc")))
    made = replace(made, **policy)  # type: ignore[arg-type]
    spec = ProcessSpec(argv=("bash", "-c", "x"), cwd=ws, env={})
    return list(BubblewrapProvider(BWRAP).wrap(spec, made).argv)


def holds(argv: list[str], *words: object) -> bool:
    wanted = [str(word) for word in words]
    return any(argv[at : at + len(wanted)] == wanted for at in range(len(argv)))


@pytest.mark.proves("E09.processes")
def test_namespaces_and_rights_are_given_up(ws: Path) -> None:
    argv = wrap(ws)
    assert argv[0] == str(BWRAP)
    for option in ("--die-with-parent", "--new-session", "--unshare-pid", "--unshare-ipc",
                   "--unshare-uts", "--unshare-net"):  # fmt: skip
        assert option in argv
    assert holds(argv, "--cap-drop", "ALL")
    assert holds(argv, "--proc", "/proc", "--dev", "/dev")
    assert not holds(argv, "--ro-bind-try", "/proc", "/proc")
    assert argv[-4:] == ["--", "bash", "-c", "x"]


@pytest.mark.proves("E09.lifted")
def test_the_network_is_kept_only_where_it_is_lifted(ws: Path) -> None:
    assert "--unshare-net" not in wrap(ws, network=True)


@pytest.mark.proves("E09.reads")
def test_hidden_places_are_covered_and_stay_read_only(ws: Path) -> None:
    argv = wrap(ws, hidden=(ws / "keys", ws / "token", ws / "absent", Path("/elsewhere")))
    assert holds(argv, "--tmpfs", ws / "keys")
    assert holds(argv, "--remount-ro", ws / "keys")
    assert holds(argv, "--ro-bind", "/dev/null", ws / "token")
    assert str(ws / "absent") not in argv, "its mount point would be left on the disk"
    assert "/elsewhere" not in argv
    assert argv.index(str(ws)) < argv.index(str(ws / "keys")), "else the workspace covers it"


def test_the_longer_of_two_rules_holds(ws: Path) -> None:
    state = ws.parent / "state"
    argv = wrap(
        ws, writable=(ws, state / "scratch/tmp"), readable=(ws.parent, state / "scratch"),
        hidden=(state,),
    )  # fmt: skip
    order = [argv.index(str(path)) for path in (ws.parent, state, state / "scratch",
                                                state / "scratch/tmp")]  # fmt: skip
    assert order == sorted(order)


@pytest.mark.proves("T57")
def test_what_exists_of_protected_names_is_read_only(ws: Path) -> None:
    argv = wrap(ws, protected=(ws / ".git/hooks", ws / ".vscode"))
    assert holds(argv, "--ro-bind-try", ws / ".git/hooks", ws / ".git/hooks")
    assert str(ws / ".vscode") not in argv


def test_the_folder_of_the_agent_stands_in_for_tmp_unless_the_workspace_is_there(ws: Path) -> None:
    own = ws.parent / "state/scratch/tmp"
    elsewhere = SandboxPolicy(writable=(Path("/srv/ws"),), temporary=own)
    spec = ProcessSpec(argv=("true",), cwd=ws, env={})
    assert holds(list(BubblewrapProvider(BWRAP).wrap(spec, elsewhere).argv), "--bind", own, "/tmp")
    if ws.is_relative_to("/tmp"):
        assert holds(wrap(ws, temporary=own), "--tmpfs", "/tmp")


@pytest.mark.proves("E09.probe")
async def test_without_the_program_it_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Also where PATH would find one: a workspace may have put it there."""
    (tmp_path / "bwrap").write_text("#!/bin/sh\n", encoding="utf-8")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("shard_jupyter.capabilities.sandbox.bubblewrap.PLACES", ("/nowhere",))
    found = await BubblewrapProvider().probe(SystemProcessRunner(), tmp_path)
    assert found.reason == "bubblewrap (bwrap) is not installed"


@pytest.mark.proves("E09.probe")
async def test_a_program_that_cannot_start_here_is_told_in_its_words(tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    text = "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n"
    broken.write_text(text, encoding="utf-8")
    broken.chmod(0o755)
    found = await BubblewrapProvider(broken).probe(SystemProcessRunner(), tmp_path)
    assert found.reason.endswith("bwrap: No permissions to create new namespace")
    assert not found.fs_write
