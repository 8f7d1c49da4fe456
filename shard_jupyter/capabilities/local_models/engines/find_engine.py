"""Which engine serves. What a person named is used or refused, never replaced by another."""

from __future__ import annotations

from collections.abc import Mapping

from shard_jupyter.capabilities.local_models.engines.engine import Engine
from shard_jupyter.capabilities.local_models.engines.llama_cpp_engine import LlamaCppEngine
from shard_jupyter.capabilities.local_models.engines.llama_server_engine import (
    LlamaServerEngine,
    find_named_program,
    find_wheel_program,
)
from shard_jupyter.capabilities.local_models.engines.xllamacpp_engine import XllamacppEngine
from shard_jupyter.errors import ConfigError, UserError
from shard_jupyter.types.refusals import Refusal


def find_engine(wanted: str, server_path: str, environ: Mapping[str, str]) -> Engine:
    """Return the engine to use: `wanted` is its name, or `auto` for the first that is there.

    Raises:
        UserError: it is not installed (code `needs_install`).
        ConfigError: there is no engine of that name.
    """
    candidates = _list_engines(wanted, server_path, environ)
    problems = [engine.find_problem() for engine in candidates]
    for engine, problem in zip(candidates, problems, strict=True):
        if problem is None:
            return engine
    first = problems[0]
    assert first is not None
    raise UserError(first.message, code=first.kind, next_step=f"{first.satisfy}")


def find_engine_problem(
    wanted: str, server_path: str, environ: Mapping[str, str]
) -> Refusal | None:
    """Say why no model can be served here; None: one can.

    Raises:
        ConfigError: there is no engine of that name.
    """
    problems = [engine.find_problem() for engine in _list_engines(wanted, server_path, environ)]
    return None if None in problems else problems[0]


def _list_engines(wanted: str, server_path: str, environ: Mapping[str, str]) -> tuple[Engine, ...]:
    """List those that may serve, the best first."""
    named = find_named_program(server_path, environ)
    if wanted == "llama-server":
        return (LlamaServerEngine(named or find_wheel_program()),)
    if wanted == "xllamacpp":
        return (XllamacppEngine(),)
    if wanted == "llama-cpp-python":
        return (LlamaCppEngine(),)
    if wanted != "auto":
        raise ConfigError(
            f"There is no engine {wanted!r}.",
            next_step="Set local_models.engine to auto, xllamacpp, llama-cpp-python or llama-server.",
        )
    if named is not None:
        return (LlamaServerEngine(named),)
    return (XllamacppEngine(), LlamaCppEngine(), LlamaServerEngine(find_wheel_program()))
