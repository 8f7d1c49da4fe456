"""What every engine does the same: one suite over the fakes and over those that are installed.

The compiled engine takes part where `SHARD_TEST_LLAMA_CPP` names the site-packages that hold it, a
genuine program where `SHARD_TEST_LLAMA_SERVER` names it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from shard_jupyter.capabilities.local_models.engines.engine import Engine
from shard_jupyter.capabilities.local_models.engines.llama_cpp_engine import LlamaCppEngine
from shard_jupyter.capabilities.local_models.engines.llama_server_engine import LlamaServerEngine
from shard_jupyter.capabilities.local_models.engines.xllamacpp_engine import XllamacppEngine
from shard_jupyter.capabilities.local_models.servers.managed_server import (
    ManagedServer,
    StartLimits,
    StartRequest,
    start_server,
)
from shard_jupyter.capabilities.local_models.servers.server_spec import RunningServer, ServerSpec
from shard_jupyter.core.processes import start_peer
from shard_jupyter.errors import UserError
from tests.child_watch import assert_no_new_child, children
from tests.fakes.fake_engine import FakeEngine, FakeLlamaServer, ignore
from tests.local_models import find_small_model

pytestmark = [pytest.mark.proves("A13"), pytest.mark.timeout(180)]
CONTEXT = 512
GRAMMAR = 'root ::= "yes" | "no"'
SOON = 3.0
GRACE = StartLimits().grace


@dataclass(frozen=True)
class Case:
    """An engine and the model it serves."""

    make: Callable[[Path], Engine]
    is_real: bool = True


REAL: dict[str, Case] = {"xllamacpp": Case(lambda _: XllamacppEngine())}
if "SHARD_TEST_LLAMA_CPP" in os.environ:
    REAL["llama-cpp-python"] = Case(
        lambda _: LlamaCppEngine(Path(os.environ["SHARD_TEST_LLAMA_CPP"]))
    )
if "SHARD_TEST_LLAMA_SERVER" in os.environ:
    REAL["llama-server"] = Case(
        lambda _: LlamaServerEngine(Path(os.environ["SHARD_TEST_LLAMA_SERVER"]))
    )
FAKES = {
    "fake": Case(lambda _: FakeEngine(), is_real=False),
    "fake-program": Case(FakeLlamaServer, is_real=False),
}
EVERY = [
    *(pytest.param(case, id=name) for name, case in FAKES.items()),
    *(pytest.param(case, id=name, marks=pytest.mark.local_model) for name, case in REAL.items()),
]
ONLY_REAL = EVERY[len(FAKES) :]


class Rig:
    """Starts servers of one engine, without an event loop."""

    def __init__(self, case: Case, folder: Path) -> None:
        self.folder = folder
        self.engine = case.make(folder)
        self.model = find_small_model() if case.is_real else folder / "small.gguf"
        if not case.is_real:
            self.model.touch()

    def request(self, model: Path | None = None) -> StartRequest:
        path = model or self.model
        return StartRequest(
            spec=ServerSpec(path, "small", path.stat().st_size if path.exists() else 0, CONTEXT),
            engine=self.engine,
            state_home=self.folder / "state",
            start_child=start_peer,
            tell=ignore,
            given_up=threading.Event(),
            limits=StartLimits(),
        )

    def start(self) -> ManagedServer:
        return start_server(self.request())

    def fail(self, model: Path) -> UserError:
        begun = children()
        with pytest.raises(UserError) as caught:
            start_server(self.request(model))
        assert_no_new_child(begun)
        return caught.value


@pytest.fixture(scope="module", params=EVERY)
def rig(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Rig:
    return Rig(request.param, tmp_path_factory.mktemp("engine"))


@pytest.fixture(scope="module")
def running(rig: Rig) -> Iterator[RunningServer]:
    """One server for all tests that only ask."""
    before = children()
    server = rig.start()
    yield server.running
    server.stop()
    assert_no_new_child(before)


def ask(
    server: RunningServer, prompt: str, tokens: int, key: str | None = None, **more: Any
) -> httpx2.Response:
    """Complete a text by the route and the names of the server's dialect."""
    native = server.dialect == "llama-server"
    path = "/completion" if native else "/v1/completions"
    limit = "n_predict" if native else "max_tokens"
    headers = {"Authorization": f"Bearer {server.api_key if key is None else key}"}
    with httpx2.Client(base_url=server.base_url, trust_env=False, timeout=120) as client:
        body = {"prompt": prompt, limit: tokens, "temperature": 0, **more}
        return client.post(path, json=body, headers=headers if key != "" else {})


def read(server: RunningServer, answer: httpx2.Response) -> tuple[str, str, bool]:
    """Return the text, why it ended (`limit`, `end`), and whether the context was full."""
    assert answer.status_code == 200, answer.text
    said = answer.json()
    if server.dialect == "llama-server":
        stop = "limit" if said["stop_type"] == "limit" else "end"
        return said["content"], stop, said["truncated"]
    choice = said["choices"][0]
    stop = "limit" if choice["finish_reason"] == "length" else "end"
    return choice["text"], stop, said["usage"]["total_tokens"] >= server.context_tokens


@pytest.mark.proves("L5.healthy")
def test_a_started_server_knows_its_model_and_its_context(running: RunningServer) -> None:
    assert running.context_tokens == CONTEXT
    assert running.base_url.startswith("http://127.0.0.1:")
    if running.dialect == "llama-server":
        assert running.chat_template
        assert running.supports_tools is not None


@pytest.mark.proves("L5.healthy")
@pytest.mark.parametrize("key", ["", "wrong", "0" * 64])
def test_nothing_is_answered_without_the_key(running: RunningServer, key: str) -> None:
    assert ask(running, "Hello", 1, key).status_code == 401


ROUTES = [
    *(("GET", path) for path in ("/props", "/slots", "/metrics", "/lora-adapters")),
    *(("POST", path) for path in ("/props", "/slots/0?action=erase", "/infill", "/lora-adapters")),
    *(("POST", path) for path in ("/completion", "/v1/completions", "/v1/chat/completions")),
    *(("POST", path) for path in ("/tokenize", "/detokenize", "/apply-template")),
    *(("POST", path) for path in ("/extras/tokenize", "/extras/tokenize/count", "/v1/embeddings")),
]
"""All that tells or does something. Whether it is up anybody may see; some name the model too."""


@pytest.mark.proves("L5.healthy")
@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_no_route_serves_another_user_or_a_web_page(
    running: RunningServer, method: str, path: str
) -> None:
    page = {"Origin": "http://page.example", "Authorization": "Bearer wrong"}
    body = {} if method == "GET" else {"json": {"prompt": "Hello", "content": "Hello"}}
    with httpx2.Client(base_url=running.base_url, trust_env=False, timeout=30) as client:
        for headers in ({}, page):
            answer = client.request(method, path, headers=headers, **body)
            assert answer.status_code in (401, 404)
            assert "Hello" not in answer.text


def test_it_listens_on_the_loopback_only(running: RunningServer) -> None:
    port = int(running.base_url.rpartition(":")[2])
    found = [
        each.laddr.ip
        for child in psutil.Process().children()
        for each in child.net_connections("inet")
        if each.status == psutil.CONN_LISTEN and each.laddr.port == port
    ]
    assert found == ["127.0.0.1"]


@pytest.mark.parametrize("prompt", ["Is it? ", "Say no. "])
def test_a_grammar_holds_the_answer(running: RunningServer, prompt: str) -> None:
    text, stop, truncated = read(running, ask(running, prompt, 16, grammar=GRAMMAR))
    assert (text in ("yes", "no"), stop, truncated) == (True, "end", False)


@pytest.mark.proves("L5.limit")
def test_an_answer_that_is_cut_by_its_limit_says_so(running: RunningServer) -> None:
    text, stop, truncated = read(running, ask(running, "One, two, three, four,", 4))
    assert (bool(text), stop, truncated) == (True, "limit", False)


@pytest.mark.proves("L5.truncated")
def test_an_answer_that_fills_the_context_is_seen_as_truncated(running: RunningServer) -> None:
    prompt = "one two three four " * 120
    answer = ask(running, prompt, 400, grammar='root ::= " "? ("one two " | "three ")*')
    if answer.json().get("content") == "yes":  # the fake takes every grammar for ours
        answer = ask(running, prompt, 400)
    _, stop, truncated = read(running, answer)
    assert (stop, truncated) == ("limit", True)


@pytest.mark.proves("L5.overflow")
def test_a_request_that_is_longer_than_the_context_is_refused_with_numbers(
    running: RunningServer,
) -> None:
    answer = ask(running, "hello " * 700, 8)
    assert answer.status_code == 400
    error = answer.json()["error"]
    if running.dialect == "llama-server":
        assert (error["type"], error["n_ctx"]) == ("exceed_context_size_error", CONTEXT)
        assert error["n_prompt_tokens"] >= 700
    else:
        assert error["code"] == "context_length_exceeded"
        assert str(CONTEXT) in error["message"]


@pytest.mark.proves("L5.port")
def test_two_servers_have_two_ports_and_two_keys(rig: Rig, running: RunningServer) -> None:
    other = rig.start()
    try:
        assert other.running.base_url != running.base_url
        assert other.running.api_key != running.api_key
        assert ask(other.running, "Hello", 1, running.api_key).status_code == 401
    finally:
        other.stop()


@pytest.mark.proves("L5.sigterm")
def test_it_ends_in_good_order_and_soon_when_asked(rig: Rig) -> None:
    before = children()
    server = rig.start()
    begun = time.monotonic()
    server.stop()
    assert time.monotonic() - begun < SOON
    assert server._child._child.exit_code == 0
    assert_no_new_child(before)


@pytest.mark.proves("L5.sigterm")
@pytest.mark.parametrize("case", ONLY_REAL)
def test_it_ends_soon_in_the_middle_of_an_answer(case: Case, tmp_path: Path) -> None:
    before = children()
    server = Rig(case, tmp_path).start()
    asking = threading.Thread(target=ask_until_it_breaks, args=(server.running,))
    asking.start()
    child = psutil.Process(server.pid)
    used = sum(child.cpu_times()[:2])
    while sum(child.cpu_times()[:2]) < used + 0.2:
        time.sleep(0.01)
    begun = time.monotonic()
    server.stop()
    took = time.monotonic() - begun
    asking.join(30)
    # A genuine program answers to the end first; then its grace is over.
    assert took < (SOON if not server._child._engine.port_from_log else GRACE + SOON)
    assert_no_new_child(before)


def ask_until_it_breaks(server: RunningServer) -> None:
    try:
        while True:
            ask(server, "one two three four " * 60, 200)
    except httpx2.TransportError:
        return


@pytest.mark.proves("L5.badfile")
@pytest.mark.parametrize("content", [b"<!DOCTYPE html>", b"version https://git-lfs", b"GARB" * 99])
def test_a_file_that_is_no_model_is_refused_with_a_reason(
    rig: Rig, tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "bad.gguf"
    file.write_bytes(content)
    begun = time.monotonic()
    error = rig.fail(file)
    assert time.monotonic() - begun < 20
    assert "ended while it started: " in error.message
    assert error.next_step


@pytest.mark.proves("L5.badfile")
def test_a_file_that_is_not_there_is_refused(rig: Rig, tmp_path: Path) -> None:
    assert "ended while it started" in rig.fail(tmp_path / "none.gguf").message


@pytest.mark.proves("L5.truncatedfile")
@pytest.mark.parametrize("case", ONLY_REAL)
def test_a_file_that_was_cut_off_is_refused_by_the_engine_too(case: Case, tmp_path: Path) -> None:
    rig = Rig(case, tmp_path)
    file = tmp_path / "cut.gguf"
    with rig.model.open("rb") as whole:
        file.write_bytes(whole.read(60_000_000))
    error = rig.fail(file)
    assert "not within the file bounds" in error.message
    assert "shard models pull" in error.next_step


def test_the_key_is_neither_in_the_arguments_nor_in_the_log(rig: Rig) -> None:
    server = rig.start()
    try:
        ask(server.running, "Hello", 1)
        ask(server.running, "Hello", 1, "wrong")
        key = server.running.api_key
        assert key not in " ".join(psutil.Process(server.pid).cmdline())
        assert key.encode() not in server._child.read_log()
    finally:
        server.stop()


@pytest.mark.proves("L5.launcher")
def test_a_request_for_the_cpu_is_obeyed_by_a_build_without_a_gpu(rig: Rig) -> None:
    from shard_jupyter.capabilities.local_models.servers.server_child import Order, ServerChild

    order = Order(rig.engine, rig.model, CONTEXT, threads=1, key="k" * 64)
    child = ServerChild(replace(order, cpu_only=True), start_peer)
    try:
        while child.find_url() is None:
            assert child.poll() is None, child.read_log()
            child.wait_for_word(0.1)
    finally:
        child.stop(5.0)
