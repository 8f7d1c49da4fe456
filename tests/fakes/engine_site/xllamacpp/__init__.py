"""A package with the name and the few parts of xllamacpp that the launch program uses."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.append(str(Path(__file__).parents[2]))
from fake_llama_server import FakeServer

FAULT = json.loads(os.environ.get("FAKE_FAULT", "{}"))


class CommonParams(SimpleNamespace):
    def __init__(self) -> None:
        super().__init__(
            model=SimpleNamespace(), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace()
        )


class Server:
    def __init__(self, params: CommonParams) -> None:
        wanted = FAULT.get("params")
        if wanted is not None:
            Path(wanted).write_text(json.dumps(_plain(params)), encoding="utf-8")
        if FAULT.get("needs_cpu") and params.n_gpu_layers:
            sys.exit("ggml_vulkan: device memory allocation failed")
        if FAULT.get("stubborn"):
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        self._server = FakeServer(params.model.path, params.n_ctx)
        self.listening_address = self._server.address


def get_device_info() -> list[dict[str, Any]]:
    kinds = ["TYPE_CPU", "TYPE_GPU"] if FAULT.get("gpu") else ["TYPE_CPU"]
    return [{"name": kind, "type": kind} for kind in kinds]


def _plain(value: Any) -> Any:
    return (
        {name: _plain(each) for name, each in vars(value).items()}
        if isinstance(value, SimpleNamespace)
        else value
    )
