"""Which model the demo uses: the one that is named, else the one of this machine, else a new one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from shard_jupyter.capabilities.local_models.catalog.catalog_model import (
    DEFAULT_MODEL,
    SMALL_MODEL,
    CatalogModel,
)
from shard_jupyter.errors import UserError
from shard_jupyter.types.refusals import Refusal

WITH_A_KEY = (
    "With a key instead: set OPENAI_API_KEY, then shard demo --model openai:gpt-5 "
    "(or ANTHROPIC_API_KEY, and --model anthropic:NAME)."
)


class LocalShelf(Protocol):
    """The models of this machine. Everything blocks."""

    def find_engine_problem(self) -> Refusal | None: ...

    def has(self, model: CatalogModel) -> bool: ...

    def fetch(self, model: CatalogModel, *, yes: bool) -> bool:
        """Say what it would take, ask unless `yes`, fetch it; False: the person does not want it.

        Raises:
            ShardError: it could not be fetched.
        """
        ...


@dataclass(frozen=True)
class DemoModel:
    """`known` is the entry of the catalogue, None for a model of the person's own."""

    model_id: str
    known: CatalogModel | None = None


@dataclass(frozen=True)
class Wish:
    """What was asked for on the command line. `named` is a routing id or the path of a file."""

    named: str | None = None
    small: bool = False
    yes: bool = False


def choose_model(wish: Wish, shelf: LocalShelf, tell: Callable[[str], None]) -> DemoModel:
    """Choose the model, and fetch it where it is not here yet.

    Raises:
        UserError: there is none: no engine, no file, not wanted, not to be had.
    """
    if wish.named is not None:
        return DemoModel(read_model_name(wish.named))
    model = SMALL_MODEL if wish.small else DEFAULT_MODEL
    problem = shelf.find_engine_problem()
    if problem is not None:
        raise UserError(
            problem.message, code=problem.kind, next_step=f"First {problem.satisfy}. {WITH_A_KEY}"
        )
    if not shelf.has(model):
        tell(offer(model))
        _fetch(model, shelf, yes=wish.yes)
    return DemoModel(model.model_id, model)


def offer(model: CatalogModel) -> str:
    """Say what kind of model would be fetched. Pure."""
    if model.calls_tools:
        return "The demo needs a model. This one needs no key, and works offline from then on:"
    return "The demo needs a model. This one is for chat, not for tools:"


def _fetch(model: CatalogModel, shelf: LocalShelf, *, yes: bool) -> None:
    if not shelf.fetch(model, yes=yes):
        raise UserError("Without a model there is no demo.", code="no_model", next_step=WITH_A_KEY)


def read_model_name(name: str) -> str:
    """Return the routing id; a path of a GGUF file is made one.

    Raises:
        UserError: it looks like a file, and there is none.
    """
    path = Path(name).expanduser()
    looks_like_file = name.startswith(("/", "./", "../", "~/")) or name.endswith(".gguf")
    if not looks_like_file or name.startswith("local:"):
        return name
    if not path.is_file():
        raise UserError(f"There is no file {path}.", code="unknown_model")
    return f"local:gguf:{path.resolve()}"
