"""A real kernel with the magic loaded and the mock model to talk to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from tests.jupyter.kernel import CellRun, Kernel, open_kernel

NOTEBOOK: dict[str, object] = {"cellId": "5f1c"}
TRANSCRIPT = "application/vnd.shard.transcript.v1+json"
MODEL = "openai:mock"


@contextmanager
def open_agent_kernel(
    folder: Path, url: str, environ: Mapping[str, str] | None = None
) -> Iterator[Kernel]:
    """Open a kernel whose agents answer with the mock model at `url`."""
    given = {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "sk-test", **(environ or {})}
    with open_kernel(folder, environ=given) as kernel:
        run = kernel.execute("%load_ext shard_jupyter")
        assert run.status == "ok", run.error
        yield kernel


def shard(prompt: str, options: str = "", *, model: str | None = MODEL) -> str:
    """Write a cell. A new conversation: the mock model obeys every directive that it still sees."""
    words = ("%%shard --new", model and f"--model {model}", options)
    line = " ".join(part for part in words if part)
    return f"{line}\n{prompt}"


def displays(run: CellRun) -> list[dict[str, Any]]:
    """What each display message of a cell holds, with its type and id, in order."""
    return [
        {"type": message["msg_type"], **message["content"]}
        for message in run.messages
        if message["msg_type"] in ("display_data", "update_display_data")
    ]


def final_bundle(run: CellRun) -> dict[str, Any]:
    """What the one output of a cell holds in the end."""
    shown = displays(run)
    assert [display["type"] for display in shown].count("display_data") == 1
    data: dict[str, Any] = shown[-1]["data"]
    return data


def descendants(kernel: Kernel) -> list[psutil.Process]:
    """Every process below the kernel, in whatever session it has put itself."""
    provisioner = kernel.manager.provisioner
    assert provisioner is not None
    pid = getattr(provisioner, "pid", None)
    assert isinstance(pid, int)
    return psutil.Process(pid).children(recursive=True)


def command_lines(processes: list[psutil.Process]) -> list[str]:
    told = []
    for process in processes:
        try:
            told.append(" ".join(process.cmdline()))
        except psutil.NoSuchProcess:
            continue
    return told
