"""What only a real engine with a real model can show of a managed server."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.to_thread
import httpx2
import psutil
import pytest

from shard_jupyter.capabilities.local_models.engines.engine import Launch
from shard_jupyter.capabilities.local_models.engines.xllamacpp_engine import XllamacppEngine
from shard_jupyter.capabilities.local_models.model_places import ModelPlaces
from shard_jupyter.capabilities.local_models.servers.server_pool import ServerPool
from shard_jupyter.capabilities.local_models.servers.server_spec import RunningServer, ServerSpec
from shard_jupyter.core.processes import start_peer
from tests.child_watch import alive, assert_no_new_child, children
from tests.conftest import PACKAGE
from tests.fakes.fake_engine import ignore, places_in
from tests.local_models import find_small_model

pytestmark = [pytest.mark.local_model, pytest.mark.proves("A13"), pytest.mark.timeout(180)]
LIMIT = 120.0


def spec_of(context_tokens: int = 1024) -> ServerSpec:
    model = find_small_model()
    return ServerSpec(model, "SmolLM2", model.stat().st_size, context_tokens)


async def complete(server: RunningServer, prompt: str, tokens: int, **more: object) -> dict:
    headers = {"Authorization": f"Bearer {server.api_key}"}
    body = {"prompt": prompt, "n_predict": tokens, "temperature": 0, **more}
    async with httpx2.AsyncClient(base_url=server.base_url, trust_env=False, timeout=60) as client:
        return (await client.post("/completion", headers=headers, json=body)).json()


@pytest.mark.proves("L5.pdeathsig")
@pytest.mark.parametrize("moment", ["ready", "loading"])
def test_a_real_server_dies_with_its_owner(tmp_path: Path, moment: str) -> None:
    """While it loads, the interpreter in it stands still: only the kernel can end it."""
    root = str(PACKAGE.parent)
    (tmp_path / "small.gguf").symlink_to(find_small_model())
    command = [sys.executable, "-m", "tests.processes.server_holder", str(tmp_path), "xllamacpp"]
    environ = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join([root, *filter(None, sys.path)]),
        "HOME": str(tmp_path),
    }
    with subprocess.Popen(
        [*command, "wait"], stdin=-1, stdout=subprocess.PIPE, env=environ, cwd=root
    ) as owner:
        assert owner.stdout is not None
        if moment == "ready":
            server = psutil.Process(int(owner.stdout.readline()))
        else:
            while not (found := psutil.Process(owner.pid).children()):
                time.sleep(0.005)
            server = found[0]
        owner.kill()
        owner.wait()
    deadline = time.monotonic() + 10
    while alive([server]):
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.proves("L5.lease", "L5.sigterm")
async def test_a_real_server_is_up_soon_and_gone_soon(tmp_path: Path) -> None:
    pool = ServerPool(start_peer)
    spec = await anyio.to_thread.run_sync(spec_of)
    with anyio.fail_after(LIMIT):
        begun = time.monotonic()
        lease = await pool.acquire(spec, ignore, places=places_in(tmp_path))
        up = time.monotonic() - begun
        said = await complete(lease.server, "One, two,", 8)
        assert said["tokens_predicted"] == 8
        begun = time.monotonic()
        await lease.release()
        down = time.monotonic() - begun
    print(f"up {up:.2f} s, down {down:.3f} s")
    assert not psutil.pid_exists(lease.server_pid)
    assert down < 3


@pytest.mark.proves("L5.lease", "L5.sigterm")
@pytest.mark.parametrize("seconds", [0.05, 0.2, 0.4])
async def test_a_load_that_nobody_waits_for_is_ended_at_once(
    tmp_path: Path, seconds: float
) -> None:
    pool = ServerPool(start_peer)
    spec = await anyio.to_thread.run_sync(spec_of)
    before = children()
    begun = time.monotonic()
    lease = None
    with anyio.fail_after(LIMIT), anyio.move_on_after(seconds):
        lease = await pool.acquire(spec, ignore, places=places_in(tmp_path))
    if lease is not None:  # it was faster
        await lease.release()
    assert_no_new_child(before)
    assert time.monotonic() - begun < 3


class ImpatientEngine(XllamacppEngine):
    def command(self, launch: Launch) -> tuple[str, ...]:
        return super().command(replace(launch, idle_seconds=1))


@pytest.mark.proves("L5.lease")
async def test_an_idle_server_gives_the_model_back_and_takes_it_again(tmp_path: Path) -> None:
    pool = ServerPool(start_peer, choose_engine=lambda *_: ImpatientEngine())
    spec = await anyio.to_thread.run_sync(spec_of)
    with anyio.fail_after(LIMIT):
        lease = await pool.acquire(spec, ignore, places=places_in(tmp_path))
        first = await complete(lease.server, "One, two,", 8)
        server = psutil.Process(lease.server_pid)
        loaded = server.memory_info().rss
        while server.memory_info().rss > loaded - spec.size_bytes // 2:
            await anyio.sleep(0.05)
        assert await lease.is_up()
        again = await complete(lease.server, "One, two,", 8)
        await lease.release()
    assert again["content"] == first["content"]


@pytest.mark.proves("L5.schema")
async def test_a_schema_that_cannot_be_compiled_is_answered_without_any_constraint(
    tmp_path: Path,
) -> None:
    """Why every reply is validated on our side. When this fails, the engine has improved."""
    pool = ServerPool(start_peer)
    spec = await anyio.to_thread.run_sync(spec_of)
    schema = {"type": "string", "pattern": "(?<=a)(b"}
    with anyio.fail_after(LIMIT):
        lease = await pool.acquire(spec, ignore, places=places_in(tmp_path))
        said = await complete(lease.server, "Count: one, two,", 8, json_schema=schema)
        await lease.release()
    assert "error" in said or not said["content"].startswith('"')


@pytest.mark.proves("L5.lease")
@pytest.mark.skipif("SHARD_TEST_LLAMA_CPP" not in os.environ, reason="the compiled engine")
async def test_a_grammar_that_kills_the_compiled_engine_costs_one_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(os.environ["SHARD_TEST_LLAMA_CPP"])
    pool = ServerPool(start_peer)
    places = ModelPlaces(tmp_path / "state", tmp_path, engine="llama-cpp-python")
    spec = await anyio.to_thread.run_sync(spec_of)
    with anyio.fail_after(LIMIT):
        dead = await pool.acquire(spec, ignore, places=places)
        server = dead.server
        with pytest.raises(httpx2.TransportError):
            async with httpx2.AsyncClient(base_url=server.base_url, trust_env=False) as client:
                await client.post(
                    "/v1/completions",
                    headers={"Authorization": f"Bearer {server.api_key}"},
                    json={"prompt": "a", "grammar": "root ::= ("},
                )
        new = await pool.acquire(spec, ignore, places=places)
        assert new.server_pid != dead.server_pid
        await dead.release()
        await new.release()
