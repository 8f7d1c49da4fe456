"""Peers, measured in the same run with the same mock, when they are installed.

Nothing is installed by this program. `pi` is looked for on the PATH (npm package
`@earendil-works/pi-coding-agent`, 1.x); its RPC mode gets the same prompts.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import psutil

from tests.fakes.model_server import MockModel
from tests.perf.report import Row, median_pair

CALL = "go @@shell true @@"


def measure(names: list[str], folder: Path, mock: MockModel, repeat: int) -> list[Row]:
    rows: list[Row] = []
    for name in names:
        program = shutil.which(name)
        if program is None:
            rows.append(Row(f"{name}: one prompt, one shell call", "not installed"))
            continue
        rows += KNOWN[name](program, folder, mock, repeat)
    return rows


def measure_pi(program: str, folder: Path, mock: MockModel, repeat: int) -> list[Row]:
    home = folder / "pi-home"
    models = home / ".pi" / "agent" / "models.json"
    models.parent.mkdir(parents=True)
    model = {"id": "mock", "contextWindow": 200_000, "maxTokens": 8000}
    provider = {
        "baseUrl": f"{mock.url}/v1",
        "api": "openai-completions",
        "apiKey": "k",
        "models": [model],
    }
    models.write_text(json.dumps({"providers": {"mock": provider}}), encoding="utf-8")
    workspace = folder / "pi-workspace"
    workspace.mkdir()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "PI_OFFLINE": "1",
        "PI_SKIP_VERSION_CHECK": "1",
    }
    command = [program, "--mode", "rpc", "--provider", "mock", "--model", "mock", "--no-session"]
    child = subprocess.Popen(
        command, cwd=workspace, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        _prompt_pi(child, CALL)
        pairs = _many_prompts(child, CALL, 20)
        rounds = _many_prompts(child, "go @@shell true @@times 199 @@", 1)
        deltas = _many_prompts(child, "hi @@text 200000 @@chunk 4 @@", 2)
    finally:
        child.kill()
        child.wait()
    return [
        Row("pi rpc: one prompt, one shell call: wall / CPU", median_pair(pairs)),
        Row("pi rpc: 199 tool rounds: wall / CPU", median_pair(rounds)),
        Row("pi rpc: 50,000 deltas: wall / CPU", median_pair(deltas)),
    ]


def _many_prompts(
    child: subprocess.Popen[bytes], text: str, times: int
) -> list[tuple[float, float]]:
    """CPU is told by the system in ticks of 10 ms: it is measured over all and shared out."""
    cpu = _cpu_of(child.pid)
    walls = [_prompt_pi(child, text) for _ in range(times)]
    share = (_cpu_of(child.pid) - cpu) * 1000 / times
    return [(wall, share) for wall in walls]


def _prompt_pi(child: subprocess.Popen[bytes], text: str) -> float:
    """Milliseconds from the prompt to its end."""
    assert child.stdin is not None
    assert child.stdout is not None
    wall = time.perf_counter()
    child.stdin.write(json.dumps({"type": "prompt", "message": text}).encode() + b"\n")
    child.stdin.flush()
    while True:
        line = child.stdout.readline()
        if not line:
            raise RuntimeError("pi ended in the middle of a prompt")
        # Not parsed: that would be counted, and some of its lines are no JSON.
        if line.startswith(b'{"type":"agent_settled"'):
            break
    return (time.perf_counter() - wall) * 1000


def _cpu_of(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system + times.children_user + times.children_system


KNOWN = {"pi": measure_pi}
