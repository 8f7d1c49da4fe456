"""The secrets of a kernel's environment are in no notebook, file, tool or argument after cells ran."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import psutil
import pytest

from tests.fakes.model_server import MockModel, model_server
from tests.jupyter.headless import Scratch, shard

__all__ = ["model_server"]
pytestmark = [pytest.mark.proves("A05", "D09"), pytest.mark.timeout(180)]

ENVIRONMENT = {
    "OPENAI_API_KEY": "canary-01-provider-key",
    "ANTHROPIC_API_KEY": "canary-02-other-key",
    "JUPYTER_TOKEN": "canary-03-jupyter-token",
    "JPY_API_TOKEN": "canary-04-hub-token",
    "SESSION_COOKIE": "canary-05-cookie",
    "DATABASE_URL": "postgres://me:canary-06-url-password@db/x",
    "MYSQL_PWD": "canary-07-password",
    "FAVOURITE": "ghp_canary08canary08canary08canary08canary",
    "AWS_SECRET_ACCESS_KEY": "canary-09-cloud-key",
}
IN_FILE = "canary-10-in-dot-env"
SEED = re.compile(r"canary-\d\d-|canary08")
LOOK = "env; tr '\\0' ' ' < /proc/self/environ; tr '\\0' ' ' < /proc/$$/cmdline; sleep 0.5"


def look_at_tools(scratch: Scratch, found: dict[str, str], stop: threading.Event) -> None:
    """Arguments of all processes here, and environments of those that a shell of ours started."""
    while not stop.wait(0.05):
        for process in psutil.process_iter():
            try:
                if str(scratch.work) not in (process.cwd(), str(Path(process.cwd()).parent)):
                    continue
                words = process.cmdline()
                found[f"arguments of {words[:3]}"] = " ".join(words)
                if words[:1] in (["bash"], ["sleep"], ["/bin/bash"], ["/usr/bin/bash"]):
                    found[f"environment of {words[:3]}"] = str(process.environ())
            except (psutil.Error, OSError):
                continue


def test_cells_leave_no_secret_anywhere(tmp_path: Path, model_server: MockModel) -> None:
    scratch = Scratch(tmp_path, model_server.url, **ENVIRONMENT)
    (scratch.work / ".env").write_text(f"PASSWORD={IN_FILE}\n", encoding="utf-8")
    notebook = scratch.write(
        shard(f"go @@shell {LOOK} @@", "--ask yes"),
        shard('go @@call grep {"pattern": "canary"} @@', "--ask yes"),
        shard("go @@status 401 @@", "--ask yes"),
        "%shard status",
        "%shard doctor",
    )
    found: dict[str, str] = {}
    stop = threading.Event()
    thread = threading.Thread(target=look_at_tools, args=(scratch, found, stop))
    thread.start()
    try:
        ended = scratch.execute(notebook, "--allow-errors")
    finally:
        stop.set()
        thread.join()
    texts = {**found, "told": ended.told}
    for path in tmp_path.rglob("*"):
        if path.is_file() and path != scratch.work / ".env":
            texts[f"file {path.relative_to(tmp_path)}"] = path.read_bytes().decode(
                "utf-8", "replace"
            )
    where = [place for place, text in texts.items() if SEED.search(text)]
    assert where == []
    # The tool ran, was seen, and showed its environment.
    assert any(place.startswith("environment of") for place in texts)
    outputs = str(scratch.read().cells)
    assert "PATH=" in outputs
    assert "Incorrect API key" in outputs
