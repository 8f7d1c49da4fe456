"""A server starts, is known to be ours, and says in words why it does not start."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from pathlib import Path
from typing import Any

import anyio
import httpx2
import psutil
import pytest

from shard_jupyter.capabilities.local_models.engines.engine import KEY_VARIABLE
from shard_jupyter.capabilities.local_models.servers.log_ring import RING_BYTES
from shard_jupyter.capabilities.local_models.servers.managed_server import StartLimits
from shard_jupyter.capabilities.local_models.servers.server_child import Order, ServerChild
from shard_jupyter.capabilities.local_models.servers.server_pool import ServerPool
from shard_jupyter.core.processes import start_peer
from shard_jupyter.errors import UserError
from tests.fakes.fake_engine import (
    FakeEngine,
    FakeLlamaServer,
    ignore,
    make_spec,
    places_in,
    pool_of,
)

pytestmark = [pytest.mark.proves("A13", "L5.start"), pytest.mark.usefixtures("nothing_left")]
LIMIT = 40.0


async def start_fails(folder: Path, engine: Any, limits: StartLimits | None = None) -> UserError:
    pool = pool_of(engine, limits) if limits else pool_of(engine)
    with anyio.fail_after(LIMIT), pytest.raises(UserError) as caught:
        await pool.acquire(make_spec(folder), ignore, places=places_in(folder))
    assert list(folder.rglob("state/models/servers/*")) == []
    return caught.value


@pytest.mark.proves("L5.healthy")
@pytest.mark.parametrize("from_log", [False, True])
async def test_what_the_server_says_is_known_when_it_is_ready(
    tmp_path: Path, from_log: bool
) -> None:
    engine = FakeLlamaServer(tmp_path) if from_log else FakeEngine()
    pool = pool_of(engine)
    with anyio.fail_after(LIMIT):
        lease = await pool.acquire(make_spec(tmp_path), ignore, places=places_in(tmp_path))
        server = lease.server
        async with httpx2.AsyncClient(base_url=server.base_url, trust_env=False) as client:
            assert (await client.get("/props")).status_code == 401
            key = {"Authorization": f"Bearer {server.api_key}"}
            assert (await client.get("/props", headers=key)).status_code == 200
        await lease.release()
    assert (server.context_tokens, server.supports_tools) == (512, True)
    assert (server.chat_template, server.dialect) == ("{{ messages }}", "llama-server")
    assert len(server.api_key) == 64
    assert server.api_key not in repr(server)


async def test_the_child_gets_a_bare_environment_and_no_secret_in_its_arguments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-you")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    pool = pool_of(FakeEngine())
    with anyio.fail_after(LIMIT):
        lease = await pool.acquire(make_spec(tmp_path), ignore, places=places_in(tmp_path))
        child = psutil.Process(lease.server_pid)
        environ, arguments, cwd = child.environ(), child.cmdline(), child.cwd()
        session = os.getsid(child.pid)
        await lease.release()
    assert environ.pop(KEY_VARIABLE) == lease.server.api_key
    assert set(environ) - {"LC_CTYPE"} == {"PATH", "HOME", "LC_ALL", "FAKE_FAULT", "SHARD_CALL"}
    assert (environ["HOME"], environ["LC_ALL"]) == ("/nonexistent", "C.UTF-8")
    assert lease.server.api_key not in " ".join(arguments)
    assert (cwd, session) == ("/", child.pid)


@pytest.mark.proves("L5.launcher", "L6.11")
async def test_the_engine_is_set_up_for_one_user_on_the_loopback(tmp_path: Path) -> None:
    told = tmp_path / "params.json"
    pool = pool_of(FakeEngine(params=str(told)))
    with anyio.fail_after(LIMIT):
        lease = await pool.acquire(make_spec(tmp_path), ignore, places=places_in(tmp_path))
        await lease.release()
    params = json.loads(told.read_text(encoding="utf-8"))
    assert params.pop("api_keys") == [lease.server.api_key]
    threads = params.pop("cpuparams")
    assert threads == params.pop("cpuparams_batch")
    assert threads["n_threads"] >= 1
    assert 0 <= params.pop("cache_ram_mib") <= 256
    assert params.pop("sleep_idle_seconds") == 600
    assert params == {
        "model": {"path": str(tmp_path / "small.gguf")},
        "n_ctx": 512,
        "n_parallel": 1,
        "use_jinja": True,
        "ui": False,
        "hostnames": ["127.0.0.1"],
        "port": 0,
        "warmup": False,
        "n_gpu_layers": 0,
    }


@pytest.mark.proves("L5.badfile")
async def test_the_reason_of_an_early_end_is_taken_from_the_log(tmp_path: Path) -> None:
    error = await start_fails(
        tmp_path,
        FakeEngine(exit=1, say="0.00.001.000 I srv init: hello\n"
                   "gguf_init: tensor 'a' data is not within the file bounds\nbye\n"),
    )  # fmt: skip
    assert "tensor 'a' data is not within the file bounds" in error.message
    assert (error.code, "shard models pull" in error.next_step) == ("local_server", True)


@pytest.mark.proves("L5.badfile")
async def test_an_end_without_a_word_is_told_with_its_code(tmp_path: Path) -> None:
    error = await start_fails(tmp_path, FakeEngine(exit=7))
    assert "exit code 7" in error.message
    assert error.next_step


async def test_megabytes_of_log_neither_block_the_child_nor_hide_its_last_words(
    tmp_path: Path,
) -> None:
    error = await start_fails(
        tmp_path, FakeEngine(loud=True, exit=1, say="error: insufficient memory (attempted 9 GB)")
    )
    assert "insufficient memory (attempted 9 GB)" in error.message
    assert "smaller" in error.next_step


class SlowlyRead(ServerChild):
    """Its log is read so slowly that the child has ended long before."""

    def _note_line(self, line: bytes) -> None:
        time.sleep(0.0003)


@pytest.mark.proves("L5.badfile")
def test_a_log_is_read_to_its_end_before_it_is_quoted(tmp_path: Path) -> None:
    model = make_spec(tmp_path).model_path
    engine = FakeEngine(loud=True, exit=1, say="the very end")
    child = SlowlyRead(Order(engine, model, 512, threads=1, key="k"), start_peer)
    while child.poll() is None:
        time.sleep(0.001)
    assert child.read_log().endswith(b"the very end")
    assert len(child.read_log()) == RING_BYTES
    child.stop(1.0)


async def test_what_a_log_says_can_do_nothing_to_a_terminal_and_holds_no_key(
    tmp_path: Path,
) -> None:
    error = await start_fails(
        tmp_path, FakeEngine(exit=1, say="error: \x1b[2Jname \xe2\x80\xae KEY \xff\n")
    )
    assert "\x1b" not in str(error)
    assert "\u202e" not in str(error)
    assert "name ⟨U+202E⟩ …" in error.message


@pytest.mark.parametrize("fault", [{"hang": True}, {"loading": True}])
async def test_a_server_that_never_gets_ready_is_given_up_and_ended(
    tmp_path: Path, fault: dict[str, Any]
) -> None:
    error = await start_fails(tmp_path, FakeEngine(**fault), StartLimits(ready=2.5, grace=5.0))
    assert "not ready after 2 s" in error.message


@pytest.mark.proves("L5.port", "L5.healthy")
async def test_a_server_of_another_model_is_not_taken_for_ours(tmp_path: Path) -> None:
    error = await start_fails(tmp_path, FakeEngine(model="/elsewhere.gguf"))
    assert "serves another model" in error.message


@pytest.mark.proves("L5.healthy")
async def test_a_server_that_answers_anybody_is_refused(tmp_path: Path) -> None:
    error = await start_fails(tmp_path, FakeEngine(any_key=True))
    assert "without its key" in error.message


@pytest.mark.proves("L5.port", "L6.13")
@pytest.mark.parametrize("from_log", [False, True])
async def test_a_foreign_server_on_the_port_is_noticed_and_never_sees_the_key(
    tmp_path: Path, from_log: bool
) -> None:
    seen: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        answering = threading.Thread(target=answer_everything, args=(listener, seen), daemon=True)
        answering.start()
        port = listener.getsockname()[1]
        engine = FakeLlamaServer(tmp_path, foreign=port) if from_log else FakeEngine(foreign=port)
        error = await start_fails(tmp_path, engine)
    assert f"port {port} belongs to another program" in error.message
    assert seen == []


async def test_a_port_that_a_models_name_put_into_the_log_is_not_asked(tmp_path: Path) -> None:
    """What a file is called is written to the log by the engine."""
    seen: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=answer_everything, args=(listener, seen), daemon=True).start()
        line = f"general.name = listening on http://127.0.0.1:{listener.getsockname()[1]}"
        error = await start_fails(tmp_path, FakeLlamaServer(tmp_path, log_first=line))
    assert "belongs to another program" in error.message
    assert seen == []


def answer_everything(listener: socket.socket, seen: list[bytes]) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            seen.append(connection.recv(4096))
            connection.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n" + b'{"status":"ok"}'
            )


@pytest.mark.proves("L5.context", "L6.11")
async def test_the_context_is_the_one_that_the_server_has(tmp_path: Path) -> None:
    told: list[str] = []
    pool = pool_of(FakeEngine(context=256))
    with anyio.fail_after(LIMIT):
        lease = await pool.acquire(make_spec(tmp_path), told.append, places=places_in(tmp_path))
        await lease.release()
    assert lease.server.context_tokens == 256
    assert told == ["small has a context of 256 tokens, not of 512 as planned."]


async def test_a_start_that_takes_long_is_told_once_a_second_has_passed(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    told: list[str] = []
    heard = anyio.Event()

    def tell(words: str) -> None:
        told.append(words)
        if len(told) == 2:
            heard.set()

    pool = pool_of(FakeEngine(wait_for=str(gate)), StartLimits(first_word=0.2, next_word=1.0))
    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(open_when, heard, gate)
            lease = await pool.acquire(make_spec(tmp_path), tell, places=places_in(tmp_path))
        await lease.release()
    assert told[:2] == ["Loading small (98 MB) …", "Loading small (98 MB) … 1 s"]


async def open_when(heard: anyio.Event, gate: Path) -> None:
    await heard.wait()
    await anyio.to_thread.run_sync(gate.write_bytes, b"go")


async def test_a_start_that_failed_on_the_gpu_is_tried_once_without(tmp_path: Path) -> None:
    told: list[str] = []
    pool = pool_of(FakeEngine(gpu=True, needs_cpu=True))
    with anyio.fail_after(LIMIT):
        lease = await pool.acquire(make_spec(tmp_path), told.append, places=places_in(tmp_path))
        assert "--cpu-only" in psutil.Process(lease.server_pid).cmdline()
        await lease.release()
    assert told == ["small did not start with the GPU; trying without it."]


async def test_a_failed_start_without_a_gpu_is_not_repeated(tmp_path: Path) -> None:
    marks = tmp_path / "params.json"
    await start_fails(tmp_path, FakeEngine(needs_cpu=True, exit=1, params=str(marks)))
    assert json.loads(marks.read_text(encoding="utf-8"))["n_gpu_layers"] == 0


@pytest.mark.proves("L5.resolve")
@pytest.mark.parametrize(
    ("fault", "words"),
    [({"version_exit": 3}, "ended with code 3"), ({"version_hangs": True}, "within 1 s")],
)
async def test_a_llama_server_that_does_not_say_its_version_is_not_used(
    tmp_path: Path, fault: dict[str, Any], words: str
) -> None:
    error = await start_fails(tmp_path, FakeLlamaServer(tmp_path, **fault), StartLimits(check=1.0))
    assert words in error.message
    assert error.code == "needs_install"


@pytest.mark.proves("L5.resolve")
async def test_a_file_that_is_no_program_is_told_in_words(tmp_path: Path) -> None:
    engine = FakeLlamaServer(tmp_path)
    (tmp_path / "llama-server").write_bytes(b"\x7fELF nonsense")
    error = await start_fails(tmp_path, engine)
    assert "is no usable llama-server" in error.message


async def test_without_an_engine_the_error_names_the_command(tmp_path: Path) -> None:
    pool = ServerPool(lambda *_, **__: pytest.fail("started"), choose_engine=choose_nothing)
    with pytest.raises(UserError) as caught:
        await pool.acquire(make_spec(tmp_path), ignore, places=places_in(tmp_path))
    assert caught.value.next_step == "pip install 'shard-jupyter[local]'"


def choose_nothing(*_: object) -> Any:
    raise UserError(
        "No engine.", code="needs_install", next_step="pip install 'shard-jupyter[local]'"
    )
