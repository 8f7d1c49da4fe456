"""An agent whose commands are locked in, from the model's call to what happens on the disk."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest

from shard_jupyter.capabilities.sandbox.landlock import LandlockProvider
from shard_jupyter.contracts.process_runner import (
    ProcessRunner,
    ProcessSpec,
    SandboxAbilities,
    SandboxPolicy,
    SandboxProvider,
)
from shard_jupyter.core.processes import SystemProcessRunner
from shard_jupyter.testing.scripted_provider import Step, call, calls, say
from shard_jupyter.types.decisions import CommandPattern, Rule
from shard_jupyter.types.events import AgentEvent, PermissionRequest
from tests.agent_rig import AgentRig, open_agent
from tests.sandbox_rig import PROVIDERS, demand, make_provider

ALLOW_BASH = Rule(effect="allow", tool="bash")


@dataclass(frozen=True)
class Unusable:
    """A provider that does not work here. Two of these stand in for the bundled ones."""

    name: str
    reason: str = "the kernel has none"

    async def probe(self, processes: ProcessRunner, scratch: Path) -> SandboxAbilities:
        return SandboxAbilities(reason=self.reason)

    def wrap(self, spec: ProcessSpec, policy: SandboxPolicy) -> ProcessSpec:
        raise AssertionError("it was not chosen")


NONE = (Unusable("bubblewrap"), Unusable("landlock"))


@pytest.fixture(params=PROVIDERS)
async def provider(request: pytest.FixtureRequest, tmp_path: Path) -> SandboxProvider:
    made = make_provider(request.param)
    await demand(made, tmp_path)
    return made


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        yield sock


def connect(listener: socket.socket) -> str:
    host, port = listener.getsockname()
    return f"exec 3<>/dev/tcp/{host}/{port} && echo REACHED"


@asynccontextmanager
async def agent(
    folder: Path, *steps: Step, provider: SandboxProvider | None = None, answer: str = "",
    **options: Any,
) -> AsyncIterator[AgentRig]:  # fmt: skip
    """Every question is answered with `answer`; none: a question fails the test."""
    sandboxes = options.pop("sandboxes", ())
    if provider is not None:  # under both names, so that none but this is used
        only = Unusable("landlock" if provider.name == "bubblewrap" else "bubblewrap")
        sandboxes = (provider, only)
    options = {"ask": "inline" if answer else "yes", "sandbox": "auto", **options}
    arguments = options.pop("arguments", None)
    with anyio.fail_after(60):
        async with open_agent(folder, *steps, say("ok"), sandboxes=sandboxes, **options) as rig:

            def reply(event: AgentEvent) -> None:
                if isinstance(event, PermissionRequest):
                    assert answer, event
                    give = rig.session.answer_permission
                    asyncio.get_running_loop().call_soon(
                        lambda: give(event.request_id, answer, by="person", arguments=arguments)  # type: ignore[arg-type]
                    )

            rig.session.subscribe(reply)
            rig.result = await rig.session.prompt("go")
            yield rig


def bash(command: str, **more: Any) -> Step:
    return call("bash", command=command, **more)


@pytest.mark.proves("E09.writes", "E09.reads", "E09.network", "E09")
async def test_a_command_stays_inside(
    tmp_path: Path, provider: SandboxProvider, listener: socket.socket
) -> None:
    (tmp_path / "letter").write_text("SECRET", encoding="utf-8")
    steps = calls(
        bash("echo x > ../out"),
        bash("cat ../letter ../session/session.jsonl"),
        bash(connect(listener)),
        bash("echo fine > in; cat in"),
    )
    async with agent(tmp_path, steps, provider=provider) as rig:
        results = rig.results()
    assert [status for status, _ in results] == ["error", "error", "error", "ok"]
    assert not (tmp_path / "out").exists()
    assert "SECRET" not in results[1][1]
    assert "REACHED" not in results[2][1]
    assert results[3][1] == "fine"
    hint = "call again with network: true or unconfined: true, which a person is asked for.]"
    assert hint in results[2][1] or "The sandbox has no network" in results[2][1]
    assert rig.seen("notice") == []


@pytest.mark.proves("E09.lifted")
@pytest.mark.parametrize("flag", ["network", "unconfined"])
@pytest.mark.parametrize("answer", ["allow", "deny"])
async def test_what_a_call_wants_lifted_is_asked_whatever_allows_the_command(
    tmp_path: Path, flag: str, answer: str
) -> None:
    await demand(LandlockProvider(), tmp_path)
    step = bash("echo ran > ran", **{flag: True})
    async with agent(tmp_path, step, answer=answer, rules=[ALLOW_BASH]) as rig:
        (question,) = rig.seen("permission_request")
    assert ("network" if flag == "network" else "outside the sandbox") in question.why
    assert question.offered_rules == ()
    assert (rig.cwd / "ran").exists() == (answer == "allow")


@pytest.mark.proves("E09.lifted")
async def test_a_yes_lifts_it_for_that_call_alone(
    tmp_path: Path, provider: SandboxProvider, listener: socket.socket
) -> None:
    steps = calls(
        bash(connect(listener), network=True),
        bash(connect(listener)),
        bash("echo x > ../out", unconfined=True),
        bash("echo x > ../other"),
    )
    async with agent(tmp_path, steps, provider=provider) as rig:
        results = rig.results()
    assert [status for status, _ in results] == ["ok", "error", "ok", "error"]
    assert (tmp_path / "out").exists()
    assert not (tmp_path / "other").exists()


@pytest.mark.proves("E09.lifted")
@pytest.mark.parametrize("allowed_by", ["person", "rule", "yes"])
async def test_a_question_that_names_the_network_lifts_it_when_a_person_answers(
    tmp_path: Path, provider: SandboxProvider, listener: socket.socket, allowed_by: str
) -> None:
    """A known program needs no flag, and nobody is asked twice. A rule or `yes` asks nobody."""
    url = "http://{}:{}/".format(*listener.getsockname())
    step = bash(f"curl -sS -m 0.2 {url}")
    options: dict[str, Any] = {
        "person": {"answer": "allow"},
        "rule": {"ask": "rules", "rules": [ALLOW_BASH]},
        "yes": {"ask": "yes"},
    }[allowed_by]
    async with agent(tmp_path, step, provider=provider, **options) as rig:
        ((_, text),) = rig.results()
    listener.settimeout(0.0)
    if allowed_by == "person":
        (question,) = rig.seen("permission_request")
        assert question.approval is None or question.approval.facts.network
        listener.accept()[0].close()
    else:
        assert "network: true" in text
        with pytest.raises(BlockingIOError):
            listener.accept()


@pytest.mark.proves("E09.lifted", "E09.network")
@pytest.mark.parametrize("kind", ["none in it", "one for two equal calls", "edited"])
async def test_a_yes_lifts_no_network_that_its_question_did_not_name(
    tmp_path: Path, provider: SandboxProvider, listener: socket.socket, kind: str
) -> None:
    """`touch` is a program of the person's that connects, whatever its name lets expect."""
    host, port = listener.getsockname()
    programs = tmp_path / "ws/bin"
    programs.mkdir(parents=True)
    program = programs / "touch"
    program.write_text(f"#!/bin/bash\n{connect(listener)}\n", encoding="utf-8")
    program.chmod(0o755)
    edited = kind == "edited"  # to what a rule allows
    step = bash(f"curl http://{host}:{port}/") if edited else bash("touch a")
    steps = calls(step, step) if kind == "one for two equal calls" else step
    rules = [Rule(effect="allow", tool="bash", command=CommandPattern(program="touch"))]
    async with agent(
        tmp_path, steps, provider=provider, answer="allow", search_path=f"{programs}:/usr/bin:/bin",
        arguments={"command": "touch a"} if edited else None, rules=rules if edited else (),
    ) as rig:  # fmt: skip
        texts = [text for _, text in rig.results()]
        (question,) = rig.seen("permission_request")
    assert bool(question.approval.facts.network) == edited
    assert not any("REACHED" in text for text in texts)
    assert all("/dev/tcp" in text for text in texts), "it has run and tried"
    listener.settimeout(0.0)
    with pytest.raises(BlockingIOError):
        listener.accept()


@pytest.mark.proves("E09.missing")
async def test_a_workspace_in_whose_top_nothing_can_be_made_is_told_once(
    tmp_path: Path, provider: SandboxProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A home, as under JupyterHub: it holds what is hidden."""
    (tmp_path / "ws/.ssh").mkdir(parents=True)
    (tmp_path / "ws/work").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "ws"))
    steps = calls(bash("touch new"), bash("touch work/new && mkdir work/folder"),
                  bash("touch beside", unconfined=True))  # fmt: skip
    async with agent(tmp_path, steps, provider=provider, answer="allow") as rig:
        results, notices = rig.results(), rig.seen("notice")
        names = sorted(path.name for path in rig.cwd.iterdir())
        assert len(rig.seen("permission_request")) == 3
    assert [status for status, _ in results][1:] == ["ok", "ok"]
    if provider.name == "bubblewrap":
        assert (results[0][0], notices) == ("ok", [])
        return
    assert names == [".ssh", "beside", "work"]
    assert "only in its folders. If more is needed, call again with" in results[0][1]
    (notice,) = notices
    assert notice.code == "sandbox.limited"
    assert notice.message.endswith("Work in the folder of a project, or install bubblewrap.")


@pytest.mark.proves("E09.missing")
async def test_a_missing_sandbox_is_told_once_and_flags_mean_nothing(tmp_path: Path) -> None:
    steps = calls(bash("echo a > ../a"), bash("echo b > ../b", unconfined=True))  # fmt: skip
    options: dict[str, Any] = {"ask": "rules", "rules": [ALLOW_BASH]}
    async with agent(tmp_path, steps, sandboxes=NONE, **options) as rig:
        rig.provider.script(bash("true"), say("ok"))
        await rig.session.prompt("again")
        (notice,) = rig.seen("notice")
    assert (notice.code, notice.tone) == ("sandbox.unavailable", "warn")
    assert "bubblewrap: the kernel has none; landlock: the kernel has none" in notice.message
    assert "Install bubblewrap" in notice.message
    assert rig.seen("permission_request") == []


@pytest.mark.proves("E09.required")
async def test_where_one_is_required_and_there_is_none_nothing_runs(tmp_path: Path) -> None:
    steps = calls(bash("echo a > a"), bash("ls"),
                  bash("echo a > b", unconfined=True))  # fmt: skip
    async with agent(tmp_path, steps, sandboxes=NONE, sandbox="required") as rig:
        results = rig.results()
    assert [status for status, _ in results] == ["error"] * 3
    assert all("a sandbox is required, and no sandbox works here" in text for _, text in results)
    assert list(rig.cwd.iterdir()) == []
    assert rig.seen("permission_request") == []


async def test_switched_off_nothing_is_wrapped_or_told(tmp_path: Path) -> None:
    options: dict[str, Any] = {"ask": "rules", "rules": [ALLOW_BASH], "sandbox": "off"}
    async with agent(tmp_path, bash("echo x > ../x", unconfined=True), **options) as rig:
        assert rig.results() == [("ok", "(no output)")]
    assert (tmp_path / "x").exists()
    assert rig.seen("notice") == []


@pytest.mark.proves("E09.probe")
async def test_without_a_command_nothing_is_tried(tmp_path: Path) -> None:
    async with agent(tmp_path, call("ls", path="."), sandboxes=NONE) as rig:
        assert not (rig.folder / "scratch/tmp").exists()
        assert rig.seen("notice") == []


@pytest.mark.proves("T57")
async def test_a_command_that_makes_a_protected_file_is_told(tmp_path: Path) -> None:
    await demand(LandlockProvider(), tmp_path)
    step = bash("mkdir .vscode; echo '{}' > .vscode/tasks.json; echo done")
    async with agent(tmp_path, step) as rig:
        ((status, text),) = rig.results()
        (notice,) = rig.seen("notice")
    assert status == "ok"
    assert "[created .vscode, .vscode/tasks.json: other programs run or obey that" in text
    assert (notice.code, notice.tone) == ("protected.changed", "warn")
    assert "created .vscode, .vscode/tasks.json" in notice.message


async def test_what_a_command_leaves_in_tmp_the_next_one_finds(
    tmp_path: Path, provider: SandboxProvider
) -> None:
    steps = calls(bash("echo kept > $TMPDIR/f; mktemp > /dev/null"),
                  bash("cat $TMPDIR/f; rm $TMPDIR/f"))  # fmt: skip
    async with agent(tmp_path, steps, provider=provider) as rig:
        assert rig.results()[1] == ("ok", "kept")
        assert (rig.folder / "scratch/tmp").stat().st_mode & 0o777 == 0o700
    assert not (rig.folder / "scratch/tmp").exists()


@pytest.mark.proves("E09.processes")
async def test_an_interrupt_ends_what_runs_inside(
    tmp_path: Path, provider: SandboxProvider
) -> None:
    cwd = tmp_path / "ws"
    cwd.mkdir()
    os.mkfifo(cwd / "alive")
    reader = os.open(cwd / "alive", os.O_RDONLY | os.O_NONBLOCK)
    step = bash("exec 9>alive; echo up >&9; (setsid sleep 1000 &); sleep 1000")
    only = Unusable("landlock" if provider.name == "bubblewrap" else "bubblewrap")
    try:
        with anyio.fail_after(60):
            async with open_agent(
                tmp_path, step, sandbox="required", sandboxes=(provider, only)
            ) as rig:
                async with anyio.create_task_group() as group:
                    group.start_soon(rig.session.prompt, "go")
                    await anyio.wait_readable(reader)
                    assert os.read(reader, 3) == b"up\n"
                    await rig.session.interrupt()
                await anyio.wait_readable(reader)
                assert os.read(reader, 1) == b""
    finally:
        os.close(reader)


async def test_reads_that_nobody_is_asked_for_run_inside_too(tmp_path: Path) -> None:
    """The policy may be wrong about a command; then this still holds."""
    await demand(LandlockProvider(), tmp_path)
    wrapped: list[ProcessSpec] = []

    @dataclass(frozen=True)
    class Watching(LandlockProvider):
        def wrap(self, spec: ProcessSpec, policy: SandboxPolicy) -> ProcessSpec:
            wrapped.append(spec)
            return super().wrap(spec, policy)

    options: dict[str, Any] = {"ask": "rules", "sandboxes": (Unusable("bubblewrap"), Watching())}
    async with agent(tmp_path, bash("ls"), **options) as rig:
        assert [status for status, _ in rig.results()] == ["ok"]
    assert wrapped[-1].env["TMPDIR"].endswith("scratch/tmp")


@pytest.mark.proves("E09.probe")
async def test_it_is_tried_once_in_a_process(tmp_path: Path) -> None:
    await demand(LandlockProvider(), tmp_path)
    tries: list[Path] = []

    @dataclass(frozen=True)
    class Counting(LandlockProvider):
        async def probe(self, processes: ProcessRunner, scratch: Path) -> SandboxAbilities:
            tries.append(scratch)
            return await super().probe(SystemProcessRunner(), scratch)

    for name in ("one", "two"):
        sandboxes = (Unusable("bubblewrap"), Counting())
        async with agent(tmp_path / name, bash("true"), sandboxes=sandboxes) as rig:
            assert rig.results() == [("ok", "(no output)")]
    assert len(tries) == 1
