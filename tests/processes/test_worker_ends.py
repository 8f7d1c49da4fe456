"""However a worker or its client ends: nobody waits, nothing is lost, nothing is left."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from shard_jupyter.contracts.runtime import SteerReply
from shard_jupyter.errors import AgentBusy, AgentClosed, StorageError
from shard_jupyter.protocol.agent_commands import Prompt, SessionOp, Steer
from shard_jupyter.protocol.envelope import EmptyResult
from shard_jupyter.protocol.registry_commands import (
    AgentCreate,
    AgentListCommand,
    AgentStatusCommand,
    DaemonShutdown,
)
from shard_jupyter.protocol.results import AgentList, PromptAccepted, SessionOpDone
from shard_jupyter.surfaces.transports.worker import Worker
from shard_jupyter.surfaces.transports.worker_log import KEPT_LOGS
from shard_jupyter.types.agents import AgentInfo
from tests.child_watch import alive, assert_no_new_child, children
from tests.fakes.model_server import MockModel
from tests.processes.worker_client import TOOL
from tests.worker_rig import (
    PATIENCE_SECONDS,
    WorkerRig,
    plain_environ,
    read_logs,
    shell,
    wait_for,
)

pytestmark = pytest.mark.proves("B01", "B02")
ROOT = Path(__file__).parent.parent.parent
ENDED = "The agent process ended. Everything up to here is kept. Run the cell again."


def start_tool(rig: WorkerRig, agent: AgentInfo, **fields: str) -> psutil.Process:
    """Start a turn whose tool does not end when it is asked to."""
    rig.prompt(agent, shell(TOOL), **fields)
    wait_for((rig.project / "PID").exists, "the tool runs")
    return psutil.Process(int((rig.project / "PID").read_text(encoding="utf-8")))


def outcomes(rig: WorkerRig) -> list[str]:
    (log,) = rig.sessions()
    entries = [json.loads(line) for line in log.read_bytes().split(b"\n") if line]
    return [entry["outcome"] for entry in entries if entry["type"] == "turn_end"]


class TestWorkerIsKilled:
    def test_everybody_is_told_once_and_nothing_is_left(self, own_rig: WorkerRig) -> None:
        rig = own_rig
        agent = rig.create()
        listeners = [rig.listen(agent), rig.listen(agent)]
        tool = start_tool(rig, agent, turn_id="turn-1")
        # A steer has its reply when the model is called next, and that will not be.
        fields = {"agent_id": agent.id, "turn_id": "turn-1", "text": "x"}
        waiting = [rig.connection.request(Steer, SteerReply, **fields) for _ in range(3)]
        os.kill(rig.worker.pid, signal.SIGKILL)
        for one in waiting:
            assert str(one.exception(PATIENCE_SECONDS)) == ENDED
        for listener in listeners:
            lost = listener.until_lost()
            assert (type(lost), lost.code, str(lost)) == (AgentClosed, "process_ended", ENDED)
        assert rig.connection.is_open is False
        wait_for(lambda: rig.worker.exit_code is not None, "it is reaped")
        assert rig.worker.exit_code == 128 + signal.SIGKILL
        wait_for(lambda: alive([tool]) == [], "its tool ends with it")
        refused = rig.refused(AgentListCommand, AgentList)
        assert (type(refused), str(refused)) == (AgentClosed, ENDED)

    def test_a_second_worker_goes_on_with_the_session(self, own_rig: WorkerRig) -> None:
        rig = own_rig
        agent = rig.create()
        listener = rig.listen(agent)
        rig.prompt(agent, "remember this")
        listener.until("turn_end")
        start_tool(rig, agent)
        os.kill(rig.worker.pid, signal.SIGKILL)
        listener.until_lost()
        rig.worker = Worker.start(client="test", environ=plain_environ(rig.state.parent))
        try:
            again = rig.create(session_id=agent.session_id)
            assert again.last_activity, "when it was used last is in its log"
            heard = rig.listen(again)
            rig.prompt(again, "and go on")
            assert heard.until("turn_end").outcome == "completed"
            page = rig.ask(SessionOp, SessionOpDone, agent_id=again.id, op="list")
            assert "remember this" in page.model_dump_json()
        finally:
            rig.worker.close()
        assert len(rig.sessions()) == 1

    def test_a_worker_that_hangs_is_killed_in_bounded_time(self, own_rig: WorkerRig) -> None:
        rig = own_rig
        agent = rig.create()
        listener = rig.listen(agent)
        tool = start_tool(rig, agent)
        os.kill(rig.worker.pid, signal.SIGSTOP)
        started = time.monotonic()
        rig.worker.close(timeout_seconds=0.3)
        assert time.monotonic() - started < 5
        assert rig.worker.exit_code == 128 + signal.SIGKILL
        assert alive([tool]) == []
        assert listener.until_lost().code == "agent_closed"


class TestEndInGoodOrder:
    def test_closing_interrupts_and_records_what_runs(self, own_rig: WorkerRig) -> None:
        rig = own_rig
        agents = [rig.create(), rig.create()]
        listeners = [rig.listen(agent) for agent in agents]
        tool = start_tool(rig, agents[0])
        rig.prompt(agents[1], "hi @@quirk hang @@")
        started = time.monotonic()
        rig.worker.close()
        assert time.monotonic() - started < 5
        rig.worker.close()
        assert rig.worker.exit_code == 0
        assert alive([tool]) == []
        for listener in listeners:
            assert listener.until("turn_end").outcome == "interrupted"
            assert listener.until_lost().code == "agent_closed"
        assert read_logs(rig.state.parent) == {}
        assert len(rig.sessions()) == 2

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
    def test_signals_end_it_in_good_order_however_many_come(
        self, own_rig: WorkerRig, number: signal.Signals
    ) -> None:
        rig = own_rig
        agent = rig.create()
        listener = rig.listen(agent)
        tool = start_tool(rig, agent)
        os.kill(rig.worker.pid, number)
        assert listener.until("turn_end", "status").type in ("turn_end", "status")
        for _ in range(5):
            os.kill(rig.worker.pid, number)
        lost = listener.until_lost()
        assert str(lost) == ENDED
        wait_for(lambda: rig.worker.exit_code is not None, "it is reaped")
        assert (rig.worker.exit_code, outcomes(rig)) == (0, ["interrupted"])
        assert alive([tool]) == []

    def test_an_interrupt_of_the_kernel_is_not_its_end(self, own_rig: WorkerRig) -> None:
        rig = own_rig
        agent = rig.create()
        listener = rig.listen(agent)
        rig.prompt(agent, shell("until [ -e GO ]; do sleep 0.01; done"))
        listener.until("tool_call")
        os.kill(rig.worker.pid, signal.SIGINT)
        (rig.project / "GO").touch()
        assert listener.until("turn_end").outcome == "completed"

    def test_shutdown_is_refused_while_a_turn_runs_unless_it_is_forced(
        self, own_rig: WorkerRig
    ) -> None:
        rig = own_rig
        agent = rig.create()
        listener = rig.listen(agent)
        rig.prompt(agent, "hi @@quirk hang @@")
        assert type(rig.refused(DaemonShutdown, EmptyResult)) is AgentBusy
        assert rig.ask(DaemonShutdown, EmptyResult, force=True) == EmptyResult()
        assert listener.until("turn_end").outcome == "interrupted"
        listener.until_lost()
        rig.worker.close()
        assert rig.worker.exit_code == 0

    def test_a_secret_of_an_agent_is_found_nowhere(self, own_rig: WorkerRig) -> None:
        rig = own_rig
        agent = rig.create(environment={**rig.environ, "OPENAI_API_KEY": "hunter2-secret"})
        listener = rig.listen(agent)
        rig.prompt(agent, "hi @@status 401 @@")  # the mock answers with the key
        assert listener.until("turn_end").outcome == "failed"
        refused = rig.refused(AgentCreate, AgentInfo, cwd="/", environment={"A": "hunter2", "B": 1})
        process = psutil.Process(rig.worker.pid)
        public = [*process.cmdline(), *process.environ().values()]
        assert "hunter2" not in " ".join([repr(listener.came), repr(refused), *public])
        rig.worker.close()
        for path in rig.state.rglob("*"):
            assert path.is_dir() or b"hunter2" not in path.read_bytes(), path

    def test_closing_while_an_agent_opens_leaves_nothing(self, own_rig: WorkerRig) -> None:
        rig = own_rig
        fields = {"cwd": str(rig.project), "model": "openai:mock", "environment": rig.environ}
        opening = [rig.connection.request(AgentCreate, AgentInfo, **fields) for _ in range(3)]
        rig.worker.close()
        assert rig.worker.exit_code == 0
        assert [one.done() for one in opening] == [True] * 3

    def test_what_hangs_at_the_end_is_left_behind_with_nothing_of_it(self) -> None:
        code = (
            "import subprocess, threading\n"
            "from shard_jupyter.surfaces.agent_process import main\n"
            "child = subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
            "print(child.pid, flush=True)\n"
            "main.OVERDUE_SECONDS = 0.2\n"
            "main._be_gone_in_time()\n"
            "threading.Event().wait()\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            capture_output=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        assert (done.returncode, done.stderr) == (1, b"")
        pid = int(done.stdout)
        with contextlib.suppress(psutil.NoSuchProcess):
            psutil.Process(pid).wait(PATIENCE_SECONDS)  # killed, but perhaps not gone yet


class TestBrokenDisk:
    def test_a_prompt_that_cannot_be_written_is_refused_and_the_worker_lives_on(
        self, own_rig: WorkerRig
    ) -> None:
        rig = own_rig
        agent, other = rig.create(), rig.create()
        limits = resource.prlimit(rig.worker.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(rig.worker.pid, resource.RLIMIT_FSIZE, (100, limits[1]))
        # The turn would go on for ever if nobody stopped it.
        text = "@@quirk hang @@" + "x" * 1000
        refused = rig.refused(Prompt, PromptAccepted, agent_id=agent.id, text=text)
        assert isinstance(refused, StorageError)
        status = rig.ask(AgentStatusCommand, AgentInfo, agent_id=agent.id)
        assert status.status == "idle"
        resource.prlimit(rig.worker.pid, resource.RLIMIT_FSIZE, limits)
        listener = rig.listen(other)
        rig.prompt(other, "hi")
        assert listener.until("turn_end").outcome == "completed"
        assert isinstance(
            rig.refused(Prompt, PromptAccepted, agent_id=agent.id, text="hi"), StorageError
        )
        rig.worker.close()
        assert rig.worker.exit_code == 0


class Client:
    """A client in a process of its own."""

    def __init__(self, rig_folder: Path, url: str, way: str) -> None:
        self.folder = rig_folder
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.processes.worker_client", rig_folder, url, way],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def read_pid(self, who: str) -> psutil.Process:
        assert self.process.stdout
        said, _, pid = self.process.stdout.readline().decode().strip().partition(" ")
        assert said == who, self.process.communicate(timeout=PATIENCE_SECONDS)
        return psutil.Process(int(pid))

    def tool(self) -> psutil.Process:
        return psutil.Process(int((self.folder / "project" / "PID").read_text(encoding="utf-8")))

    def outcomes(self) -> list[str]:
        (log,) = self.folder.glob("state/sessions/*/session.jsonl")
        entries = [json.loads(line) for line in log.read_bytes().split(b"\n") if line]
        return [entry["outcome"] for entry in entries if entry["type"] == "turn_end"]


@pytest.fixture
def start_client(tmp_path: Path, mock_model: MockModel) -> Iterator[Callable[[str], Client]]:
    started: list[Client] = []

    def start(way: str) -> Client:
        started.append(Client(tmp_path, mock_model.url, way))
        return started[-1]

    yield start
    for client in started:
        client.process.kill()
        client.process.communicate(timeout=PATIENCE_SECONDS)


class TestClientEnds:
    @pytest.mark.parametrize("way", ["waits", "held", "forked"])
    def test_a_killed_client_takes_everything_along(
        self, start_client: Callable[[str], Client], way: str
    ) -> None:
        client = start_client(way)
        holder = client.read_pid("holder") if way == "held" else None
        worker = client.read_pid("worker")
        tool = client.tool()
        forked = [one for one in psutil.Process(client.process.pid).children() if one != worker]
        client.process.kill()
        try:
            wait_for(lambda: alive([worker, tool]) == [], "worker and tool end")
        finally:
            for one in [*forked, *([holder] if holder else [])]:
                one.kill()
        assert client.outcomes() == ["interrupted"]
        assert set(read_logs(client.folder).values()) <= {""}

    @pytest.mark.parametrize(("way", "code"), [("returns", 0), ("raises", 3)])
    def test_a_client_that_ends_without_closing_ends_soon_and_leaves_nothing(
        self, start_client: Callable[[str], Client], way: str, code: int
    ) -> None:
        client = start_client(way)
        worker = client.read_pid("worker")
        tool = client.tool()
        _, said = client.process.communicate(timeout=PATIENCE_SECONDS)
        assert (client.process.returncode, said) == (code, b"")
        assert alive([worker, tool]) == []
        assert client.outcomes() == ["interrupted"]
        assert read_logs(client.folder) == {}


class TestStart:
    def test_a_worker_that_cannot_start_says_why_and_leaves_nothing(self, tmp_path: Path) -> None:
        before = children()
        broken = {**plain_environ(tmp_path), "PYTHONHOME": "/no/such/python"}
        with pytest.raises(AgentClosed, match="could not be started") as caught:
            Worker.start(client="test", environ=broken)
        assert caught.value.code == "not_started"
        (name,) = read_logs(tmp_path)
        assert name in caught.value.next_step
        assert_no_new_child(before)

    def test_files_of_the_working_folder_take_no_modules_place(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("asyncio", "pydantic", "shard_jupyter", "socket"):
            (tmp_path / f"{name}.py").write_text("raise SystemExit(9)", encoding="utf-8")
        monkeypatch.chdir(tmp_path)
        worker = Worker.start(client="test", environ=plain_environ(tmp_path))
        worker.close()
        assert worker.exit_code == 0

    def test_its_log_is_private_and_goes_when_it_is_empty(self, tmp_path: Path) -> None:
        worker = Worker.start(client="test", environ=plain_environ(tmp_path))
        folder = tmp_path / "state" / "logs"
        (log,) = folder.iterdir()
        assert (log.stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o600, 0o700)
        worker.close()
        assert list(folder.iterdir()) == []

    def test_old_logs_are_removed(self, tmp_path: Path) -> None:
        folder = tmp_path / "state" / "logs"
        folder.mkdir(parents=True)
        for number in range(50):
            (folder / f"worker-{number:026}.log").write_text("old", encoding="utf-8")
        (folder / "another.log").touch()
        worker = Worker.start(client="test", environ=plain_environ(tmp_path))
        left = sorted(path.name for path in folder.glob("worker-*.log"))
        worker.close()
        assert len(left) == KEPT_LOGS
        assert left[0] == f"worker-{50 - KEPT_LOGS + 1:026}.log"
        assert (folder / "another.log").exists()

    def test_without_a_place_for_its_log_it_starts_and_the_session_says_what_is_wrong(
        self, tmp_path: Path, mock_model: MockModel
    ) -> None:
        (tmp_path / "state").write_text("a file where a folder should be", encoding="utf-8")
        worker = Worker.start(client="test", environ=plain_environ(tmp_path))
        try:
            rig = WorkerRig(worker, tmp_path, mock_model.url)
            fields = {"cwd": str(rig.project), "model": "openai:mock", "environment": rig.environ}
            refused = rig.refused(AgentCreate, AgentInfo, **fields)
            assert type(refused) is StorageError
            assert "shard doctor" in refused.next_step
        finally:
            worker.close()
        assert worker.exit_code == 0
