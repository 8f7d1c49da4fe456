"""Which model the demo takes, what is fetched for it, and what is said where there is none."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from shard_jupyter.capabilities.local_models.catalog.catalog_model import (
    DEFAULT_MODEL,
    SMALL_MODEL,
    CatalogModel,
)
from shard_jupyter.errors import UserError
from shard_jupyter.surfaces.cli.demo.demo_model import DemoModel, Wish, choose_model
from shard_jupyter.types.refusals import Refusal

pytestmark = pytest.mark.proves("D12", "A13")
NO_ENGINE = Refusal(
    kind="needs_install",
    message="No engine is installed.",
    satisfy="pip install 'shard-jupyter[local]'",
)


@dataclass
class Shelf:
    """A machine with these models; a person who says `says` when one is offered."""

    models: list[CatalogModel] = field(default_factory=list)
    says: bool = True
    engine_problem: Refusal | None = None
    fails: UserError | None = None
    fetched: list[tuple[str, bool]] = field(default_factory=list)

    def find_engine_problem(self) -> Refusal | None:
        return self.engine_problem

    def has(self, model: CatalogModel) -> bool:
        return model in self.models

    def fetch(self, model: CatalogModel, *, yes: bool) -> bool:
        self.fetched.append((model.name, yes))
        if self.fails is not None:
            raise self.fails
        return yes or self.says


def choose(wish: Wish, shelf: Shelf) -> tuple[DemoModel, list[str]]:
    told: list[str] = []
    return choose_model(wish, shelf, told.append), told


def test_a_model_that_is_here_is_taken_without_a_word() -> None:
    shelf = Shelf(models=[DEFAULT_MODEL])
    assert choose(Wish(), shelf) == (DemoModel(DEFAULT_MODEL.model_id, DEFAULT_MODEL), [])
    assert shelf.fetched == []


@pytest.mark.parametrize("yes", [True, False])
def test_one_that_is_not_here_is_offered_and_fetched(yes: bool) -> None:
    shelf = Shelf()
    model, told = choose(Wish(yes=yes), shelf)
    assert model.model_id == "local:gguf:qwen2.5-coder-0.5b"
    assert shelf.fetched == [("qwen2.5-coder-0.5b", yes)]
    assert len(told) == 1
    assert "no key" in told[0]


def test_the_small_one_is_offered_as_what_it_is() -> None:
    shelf = Shelf(models=[DEFAULT_MODEL])
    model, (told,) = choose(Wish(small=True), shelf)
    assert (model.known, shelf.fetched) == (SMALL_MODEL, [("smollm2-135m", False)])
    assert "for chat, not for tools" in told


def test_a_refused_download_says_how_to_go_on_with_a_key() -> None:
    with pytest.raises(UserError, match="shard demo --model openai:") as caught:
        choose(Wish(), Shelf(says=False))
    assert "OPENAI_API_KEY" in caught.value.next_step


def test_a_failed_download_is_told_as_it_is() -> None:
    with pytest.raises(UserError, match="came from no source"):
        choose(Wish(yes=True), Shelf(fails=UserError("It came from no source.")))


def test_without_an_engine_nothing_is_fetched_and_the_pip_line_is_told() -> None:
    shelf = Shelf(engine_problem=NO_ENGINE)
    with pytest.raises(UserError, match=r"pip install 'shard-jupyter\[local\]'") as caught:
        choose(Wish(yes=True), shelf)
    assert "--model openai:" in caught.value.next_step
    assert shelf.fetched == []


@pytest.mark.parametrize("named", ["openai:gpt-5", "local:gguf:abc", "local:gguf:/a/b.gguf"])
def test_a_named_model_needs_nothing_of_this_machine(named: str) -> None:
    shelf = Shelf(engine_problem=NO_ENGINE)
    assert choose(Wish(named), shelf) == (DemoModel(named), [])


def test_the_path_of_a_file_becomes_a_routing_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "own.gguf"
    file.touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in (str(file), "own.gguf", "./own.gguf", "~/own.gguf"):
        assert choose(Wish(name), Shelf())[0].model_id == f"local:gguf:{file.resolve()}"


@pytest.mark.parametrize("name", ["/no/such/file", "none.gguf", "./x"])
def test_a_file_that_is_not_there_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="There is no file"):
        choose(Wish(name), Shelf())
