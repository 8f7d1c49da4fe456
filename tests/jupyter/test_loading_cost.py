"""What `%load_ext shard_jupyter` costs over a plain IPython, in CPU time and modules."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.jupyter.kernel import kernel_environ

CODE = """
import sys, time
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
config = Config()
config.HistoryManager.enabled = False
shell = InteractiveShell.instance(config=config)
shell.run_line_magic("load_ext", "IPython.extensions.storemagic")
before = set(sys.modules)
start = time.process_time()
shell.run_line_magic("load_ext", "shard_jupyter")
cost = time.process_time() - start
print(repr((cost, sorted(set(sys.modules) - before))))
"""
ALLOWED = ("shard_jupyter.surfaces.magics.", "shard_jupyter.surfaces.render_static.")
PACKAGES = {"shard_jupyter", "shard_jupyter.errors", "shard_jupyter.surfaces"}


@pytest.mark.proves("D02")
def test_loading_costs_next_to_nothing(tmp_path: Path) -> None:
    costs = []
    for _ in range(3):
        cost, loaded = load_once(tmp_path)
        costs.append(cost)
        ours = [name for name in loaded if name.partition(".")[0] == "shard_jupyter"]
        others = {name.partition(".")[0] for name in loaded} - {"shard_jupyter"}
        assert [
            name for name in ours if not f"{name}.".startswith(ALLOWED) and name not in PACKAGES
        ] == []
        assert others <= sys.stdlib_module_names | {"IPython"}
    assert min(costs) < 0.25


def load_once(folder: Path) -> tuple[float, list[str]]:
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        cwd=folder,
        env=kernel_environ(folder),
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=True,
    )
    cost, loaded = ast.literal_eval(done.stdout.strip().split("\n")[-1])
    return cost, loaded
