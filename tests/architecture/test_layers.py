"""The layers hold, and the contracts that say so can fail."""

from __future__ import annotations

import ast
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.conftest import PACKAGE

pytestmark = pytest.mark.proves("A01")
ROOT = PACKAGE.parent


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-c",
        "from importlinter.cli import lint_imports_command as c; c()",
        "--no-cache",
    ]
    return subprocess.run(
        command,
        check=False,
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
    )


@pytest.fixture(scope="module")
def copy_of_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package's sources without their bodies' meaning changed, free to be spoilt."""
    pytest.importorskip("importlinter", reason="import-linter is in the dev extra")
    folder = tmp_path_factory.mktemp("copy")
    for source in PACKAGE.rglob("*.py"):
        target = folder / source.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
    (folder / "pyproject.toml").write_bytes((ROOT / "pyproject.toml").read_bytes())
    return folder


VIOLATIONS = {
    "core imports a capability": (
        "core/steering.py",
        "from shard_jupyter.capabilities import cassettes",
    ),
    "contracts import core inside a function": (
        "contracts/clock.py",
        "def f():\n    from shard_jupyter.core import turn_state",
    ),
    "types import contracts for type checking only": (
        "types/usage.py",
        (
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n"
            "    from shard_jupyter.contracts import clock"
        ),
    ),
    "a capability imports core": (
        "capabilities/cassettes/replay.py",
        "from shard_jupyter.core import turn_loop",
    ),
    "a capability imports another": (
        "capabilities/cassettes/replay.py",
        "from shard_jupyter.capabilities.model_providers import routes",
    ),
    "core imports an SDK": ("core/steering.py", "import openai"),
    "core imports an engine": ("core/steering.py", "import xllamacpp"),
    "a cell runs a model in the kernel": ("surfaces/magics/cell_run.py", "import llama_cpp"),
    "protocol imports Jupyter": ("protocol/framing.py", "import jupyter_server"),
    "something imports the doubles": (
        "core/steering.py",
        "from shard_jupyter.testing import scripted_provider",
    ),
    "a tool starts a process by itself": ("core/tools/bash.py", "import subprocess"),
    "core opens a database": ("core/steering.py", "import sqlite3"),
    "a new folder nobody placed": ("unplaced/__init__.py", ""),
    "the command line is imported from below": (
        "surfaces/sdk/shard.py",
        "from shard_jupyter.surfaces.cli import main",
    ),
    "the writer is used from outside the store": (
        "core/transcript.py",
        "from shard_jupyter.store import writer_lock",
    ),
}


@pytest.mark.timeout(120)
def test_the_package_keeps_its_contracts(copy_of_package: Path) -> None:
    done = lint(copy_of_package)
    assert done.returncode == 0, done.stdout


@pytest.mark.timeout(120)
@pytest.mark.parametrize("what", VIOLATIONS)
def test_a_violation_is_caught(copy_of_package: Path, what: str) -> None:
    name, lines = VIOLATIONS[what]
    path = copy_of_package / "shard_jupyter" / name
    before = path.read_bytes() if path.exists() else None
    path.parent.mkdir(exist_ok=True)
    try:
        path.write_text((before or b"").decode() + "\n" + lines + "\n", encoding="utf-8")
        assert lint(copy_of_package).returncode != 0
    finally:
        if before is None:
            path.unlink()
            path.parent.rmdir()
        else:
            path.write_bytes(before)


def test_dynamic_imports_are_listed() -> None:
    """import-linter cannot see `import_module("…")`: each use is named here with its reason."""
    allowed = {
        "__init__.py",
        "surfaces/cli/main.py",
        "surfaces/cli/command_tree.py",
        "surfaces/magics/line_commands.py",  # the chosen command, as in the command line
        # The chosen engine, which no type checker knows, in a process of its own.
        "capabilities/local_models/engines/launch/serve.py",
    }
    found = set()
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            name = getattr(node, "id", None) or getattr(node, "attr", None)
            if name in ("import_module", "__import__"):
                found.add(path.relative_to(PACKAGE).as_posix())
    assert found <= allowed, textwrap.dedent(f"import_module in {found - allowed}")


@pytest.mark.proves("A13")
def test_importing_the_package_loads_no_sdk_and_no_jupyter() -> None:
    heavy = ["openai", "anthropic", "httpx2", "tornado", "IPython", "jupyter_server", "pydantic"]
    code = f"import sys, shard_jupyter; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.proves("A13", "B11")
def test_the_sdk_imports_no_provider_sdk_until_a_model_is_asked() -> None:
    code = (
        "import sys; from shard_jupyter import Shard;"
        "print([m for m in ('openai', 'anthropic', 'tornado') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_public_names_are_these() -> None:
    import shard_jupyter

    assert shard_jupyter.__all__ == [
        "ApprovalAnswer",
        "Shard",
        "SyncShard",
        "TurnResult",
        "__version__",
    ]
    for name in shard_jupyter.__all__:
        assert getattr(shard_jupyter, name) is not None
