"""What a decision about a call costs."""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from shard_jupyter.contracts.permission_gate import GateRequest
from shard_jupyter.contracts.tool import Reach
from shard_jupyter.core.files.path_guard import locate
from shard_jupyter.core.modes.build import BUILD
from shard_jupyter.core.permissions.gate import RuleGate
from shard_jupyter.core.permissions.grants import GrantTable
from shard_jupyter.core.permissions.shell.judge_command import judge_command
from shard_jupyter.types.decisions import Rule
from tests.fakes.model_server import MockModel
from tests.perf.report import Row

TYPICAL = (
    "ls -la src",
    "cat src/f{n}.py | head -40",
    "grep -n 'word {n}' src/f1.py 2>/dev/null",
    "cd src && sed -n '{n},+20p' f2.py",
    "git diff --stat HEAD~{n} -- src",
    "find . -name 'f{n}*.py'",
    "wc -l src/*.py && echo {n}",
    "grep -rn word{n} src",
    "pytest -q tests/test_{n}.py",
    "python -c 'print({n})' > out.txt",
)
"""`{n}` makes each text another one, so that nothing is remembered of it."""
RULES = tuple(
    Rule.model_validate(
        {"effect": effect, "tool": "bash", "command": {"program": program, "args": ["*"]}}
    )
    for effect in ("allow", "deny", "ask")
    for program in ("pytest", "make", "npm", "docker", "rm")
)


async def measure_permission_gate(folder: Path, mock: MockModel, repeat: int) -> list[Row]:
    """Judge distinct commands in a repository of 40 files."""
    del mock
    workspace = _make_repository(folder)
    gate = RuleGate(rules=RULES, grants=GrantTable(), find_mode=lambda _: BUILD, locate=locate)

    def decide(text: str) -> object:
        reach = Reach(kind="execute", command=text, summary=text)
        arguments = {"command": text}
        return gate.judge(
            GateRequest(
                call_id="call", tool="bash", arguments=arguments, reach=reach, read_only=False,
                cwd=workspace, mode="build",
            )
        )  # fmt: skip

    judged = _time_each(lambda text: judge_command(text, workspace), 20 * repeat, first=0)
    decided = _time_each(decide, 20 * repeat, first=20 * repeat)
    return [
        Row("the shell policy about one command, median", f"{judged:.2f} ms wall", ""),
        Row("a decision of the gate about one command, median", f"{decided:.2f} ms wall", "≤ 1 ms"),
    ]


def _make_repository(folder: Path) -> Path:
    workspace = (folder / "repository").resolve()
    (workspace / "src").mkdir(parents=True)
    for number in range(40):
        (workspace / "src" / f"f{number}.py").write_text("word = 1\n" * 50, encoding="utf-8")
    subprocess.run(["git", "init", "-q"], cwd=workspace, check=True)
    return workspace


def _time_each(decide: Callable[[str], object], rounds: int, *, first: int) -> float:
    """Median milliseconds over all typical commands."""
    decide("pwd")  # loads the grammar
    spent = []
    for number in range(first, first + rounds):
        for text in TYPICAL:
            distinct = text.replace("{n}", str(number))
            start = time.perf_counter()
            decide(distinct)
            spent.append((time.perf_counter() - start) * 1000)
    return statistics.median(spent)
