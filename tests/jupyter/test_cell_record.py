"""The record in the notebook and the session log on the disk tell the same story."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model_server import MockModel, model_server
from tests.jupyter.agent_kernel import NOTEBOOK, TRANSCRIPT, final_bundle, open_agent_kernel, shard
from tests.jupyter.kernel import Kernel

__all__ = ["model_server"]
pytestmark = pytest.mark.proves("D02", "J3.6")


@pytest.fixture
def kernel(tmp_path: Path, model_server: MockModel) -> Iterator[Kernel]:
    with open_agent_kernel(tmp_path, model_server.url) as running:
        yield running


def read_log(folder: Path) -> list[dict[str, Any]]:
    (log,) = (folder / "state" / "sessions").glob("*/session.jsonl")
    return [json.loads(line) for line in log.read_bytes().split(b"\n") if line]


@pytest.mark.parametrize("metadata", [None, NOTEBOOK], ids=["headless", "notebook"])
def test_each_call_and_each_text_of_the_log_is_in_the_record_once(
    kernel: Kernel, tmp_path: Path, metadata: dict[str, object] | None
) -> None:
    run = kernel.execute(
        shard("Go. @@shell echo a @@times 4 @@par 3", "--ask yes"),
        allow_stdin=metadata is not None,
        metadata=metadata,
    )
    assert run.status == "ok", run.error
    record = final_bundle(run)[TRANSCRIPT]
    log = read_log(tmp_path)
    results = [entry for entry in log if entry.get("type") == "tool_result"]
    answers = [entry for entry in log if entry.get("role") == "assistant"]
    steps = [item for item in record["items"] if item["kind"] == "step"]
    texts = [item for item in record["items"] if item["kind"] == "prose"]
    assert len(steps) == len(results) == 12
    assert len(texts) + 1 == len(answers) == 5
    assert run.strays == []
