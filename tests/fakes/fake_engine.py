"""Engines that need no engine: the real launch program over a fake package or a fake program."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shard_jupyter.capabilities.local_models.engines.llama_server_engine import LlamaServerEngine
from shard_jupyter.capabilities.local_models.engines.xllamacpp_engine import XllamacppEngine
from shard_jupyter.capabilities.local_models.model_places import ModelPlaces
from shard_jupyter.capabilities.local_models.servers.managed_server import StartLimits
from shard_jupyter.capabilities.local_models.servers.server_pool import ServerPool
from shard_jupyter.capabilities.local_models.servers.server_spec import ServerSpec
from shard_jupyter.core.processes import start_peer

SITE = Path(__file__).with_name("engine_site")
PROGRAM = Path(__file__).with_name("fake_llama_server.py")
QUICK = StartLimits(ready=20.0, grace=5.0)


class FakeEngine(XllamacppEngine):
    """Has the faults of `fake_llama_server`; they can be changed between two starts."""

    def __init__(self, **fault: Any) -> None:
        super().__init__(SITE)
        self.fault = fault

    def environment(self) -> Mapping[str, str]:
        return {"FAKE_FAULT": json.dumps(self.fault)}


def make_program(folder: Path, **fault: Any) -> Path:
    """Write a `llama-server` that is a script of its own."""
    path = folder / "llama-server"
    path.write_text(
        f"#!/bin/sh\nexport FAKE_FAULT='{json.dumps(fault)}'\n"
        f'exec {sys.executable} -I -P {PROGRAM} "$@"\n',
        encoding="utf-8",
    )
    path.chmod(0o755)
    return path


class FakeLlamaServer(LlamaServerEngine):
    def __init__(self, folder: Path, **fault: Any) -> None:
        super().__init__(make_program(folder, **fault))


def pool_of(engine: Any, limits: StartLimits = QUICK) -> ServerPool:
    return ServerPool(start_peer, choose_engine=lambda *_: engine, limits=limits)


def make_spec(folder: Path, name: str = "small.gguf", context_tokens: int = 512) -> ServerSpec:
    path = folder / name
    if not path.exists():
        path.touch()
    return ServerSpec(path, "small", 98_000_000, context_tokens)


def places_in(folder: Path) -> ModelPlaces:
    return ModelPlaces(state_home=folder / "state", home=folder)


def ignore(_words: str) -> None:
    """A `Tell` for tests that look at something else."""
