"""What `shard doctor` says of models on this machine: warnings only where nothing else can answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from shard_jupyter.capabilities.local_models.catalog.catalog_model import DEFAULT_MODEL
from shard_jupyter.capabilities.local_models.found.find_models import FoundModels
from shard_jupyter.capabilities.local_models.found.found_model import FoundModel
from shard_jupyter.surfaces.cli.checks.doctor_check import Check
from shard_jupyter.surfaces.cli.checks.local_checks import judge_local_models
from shard_jupyter.types.refusals import Refusal

pytestmark = pytest.mark.proves("C10", "A13")
INSTALL = "pip install 'shard-jupyter[local]'"
NO_ENGINE = Refusal(kind="needs_install", message="No engine is installed.", satisfy=INSTALL)
OTHER = FoundModel("0" * 16, Path("/m/a.gguf"), "folder", "a.gguf", 5)
DEFAULT = FoundModel(
    "1" * 16, Path("/m/d.gguf"), "shard", "d.gguf", 5, catalog_name=DEFAULT_MODEL.name
)
MUCH = 8 << 30


def judge(
    *models: FoundModel,
    engine: Refusal | None = None,
    free: int = MUCH,
    needed: bool = False,
    notes: tuple[str, ...] = (),
) -> list[Check]:
    return list(judge_local_models(engine, FoundModels(models, notes), free, needed=needed))


def test_a_machine_that_is_ready_has_nothing_to_mend() -> None:
    checks = judge(DEFAULT, OTHER)
    assert {check.status for check in checks} == {"ok"}
    assert [check.next_step for check in checks] == ["", "", ""]
    assert "2 models found, the default among them (qwen2.5-coder-0.5b)" in checks[1].message


@pytest.mark.parametrize(("needed", "status"), [(True, "warn"), (False, "ok")])
def test_what_is_missing_is_told_with_its_command_and_is_never_a_problem(
    needed: bool, status: str
) -> None:
    checks = judge(engine=NO_ENGINE, free=0, needed=needed)
    assert {check.status for check in checks} == {status}
    steps = [check.next_step for check in checks]
    assert steps[:2] == [INSTALL, "shard models pull"]
    assert "shard models pull smollm2-135m" in steps[2]


def test_another_model_is_told_with_how_to_get_the_default() -> None:
    _, models, _ = judge(OTHER)
    assert models.message == "1 model found, not the default"
    assert models.next_step.startswith("shard models pull qwen2.5-coder-0.5b")


def test_what_could_not_be_read_is_told() -> None:
    notes = ("The folder /usr/share/ollama may not be read.",)
    assert notes[0] in [check.message for check in judge(DEFAULT, notes=notes)]


def test_less_than_nothing_is_no_memory() -> None:
    *_, memory = judge(DEFAULT, free=-5)
    assert memory.message.startswith("0 B of memory")
