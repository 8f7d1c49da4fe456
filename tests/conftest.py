"""What holds for every test: asyncio, no blocking call on the loop, no way out of the machine."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from blockbuster import BlockBuster
from hypothesis import HealthCheck, settings

import shard_jupyter

DATA = Path(__file__).parent / "data"
PACKAGE = Path(shard_jupyter.__file__).parent

# In a clean checkout the first text that hypothesis makes waits for its tables of characters and
# constants, seconds on a busy machine; it takes that for a slow strategy and fails the test.
settings.register_profile("clean-checkout", suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("clean-checkout")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--thorough", action="store_true", help="more kills, more examples, longer runs"
    )
    parser.addoption("--kills", type=int, default=None, help="kills in the crash tests")
    parser.addoption("--fuzz", type=int, default=None, help="texts in the shell fuzzer")
    parser.addoption(
        "--fuzz-seed", type=int, default=None, help="which texts the shell fuzzer makes"
    )


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def thorough(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--thorough"))


@pytest.fixture(autouse=True)
def no_blocking_calls() -> Iterator[None]:
    """A file, sleep or socket wait of ours on the event loop fails the test."""
    buster = BlockBuster(scanned_modules=["shard_jupyter"])
    # Popen reads the pipe on which the child's exec is reported; the fork has waited for it.
    buster.functions["os.read"].can_block_in("shard_jupyter/core/processes.py", "_start")
    buster.activate()
    yield
    buster.deactivate()


@pytest.fixture(autouse=True)
def loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection to anything but this machine fails the test."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            host = address[0] if isinstance(address, tuple) else ""
            try:
                local = ipaddress.ip_address(host).is_loopback
            except ValueError:
                local = host == "localhost"
            assert local, f"a test tried to reach {address!r}"
        return connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(autouse=True)
def clean_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test reads the developer's configuration, keys or state.

    Commands run without a sandbox, unless a test is about it: many write outside their workspace.
    """
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("SHARD_HOME", str(home / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("SHARD_SANDBOX", "off")
    for name in (
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        "SHARD_MODEL",
    ):
        monkeypatch.delenv(name, raising=False)
    return home
