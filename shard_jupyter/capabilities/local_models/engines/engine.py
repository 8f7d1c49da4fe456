"""What an engine is: a program that serves one GGUF file over HTTP on the loopback interface."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from shard_jupyter.types.refusals import Refusal

EngineName = Literal["xllamacpp", "llama-cpp-python", "llama-server"]
Dialect = Literal["llama-server", "llama-cpp-python"]
"""Which routes and fields the server speaks. xllamacpp has llama.cpp's own server."""
KEY_VARIABLE = "LLAMA_API_KEY"
IDLE_SECONDS = 600


@dataclass(frozen=True)
class Launch:
    """How to serve one model.

    Attributes:
        context_tokens: from the plan, never what a request asks for.
        threads: at least one, and never all cores.
        lifeline: descriptor of a socket that the child inherits. It writes `LISTEN url` to it, and
            ends when it reads the end of it: then we are gone. `GPU` before that means that the
            model goes to a GPU.
        cpu_only: leave a GPU alone.
        idle_seconds: after which an engine that can gives the memory of the model back, until the
            next request.
        parent_pid: whom the child must have as its parent, else it ends.
    """

    model_path: Path
    context_tokens: int
    threads: int
    lifeline: int
    cpu_only: bool = False
    idle_seconds: int = IDLE_SECONDS
    parent_pid: int = field(default_factory=os.getpid)


class Engine(Protocol):
    @property
    def name(self) -> EngineName: ...

    @property
    def dialect(self) -> Dialect: ...

    @property
    def port_from_log(self) -> bool:
        """Whether the port is in the log, as `listening on http://…`, and not on the lifeline."""
        ...

    def find_problem(self) -> Refusal | None:
        """Say why it cannot be used here; imports nothing heavy."""
        ...

    def check_command(self) -> tuple[str, ...]:
        """What must end well within seconds before the first use; empty: nothing."""
        ...

    def command(self, launch: Launch) -> tuple[str, ...]:
        """The program and its arguments. The key is in the environment, never in here."""
        ...

    def environment(self) -> Mapping[str, str]:
        """What it needs beside the cleared environment and the key."""
        ...
