"""`%shard models` in its three forms: what is here, how large it is, and what is missing."""

from __future__ import annotations

import pytest

from shard_jupyter.surfaces.magics.line.commands.models import ModelsView
from shard_jupyter.types.model_rows import ModelRow
from shard_jupyter.types.refusals import Refusal
from tests.fakes.local_models import MODEL_ID, ROW
from tests.unit.surfaces.magics.line.test_line_views import FORMS, HOSTILE, check_harmless

pytestmark = pytest.mark.proves("C10", "D02")
PULL = Refusal(
    kind="needs_consent", message="It is not on this machine yet.", satisfy="shard models pull"
)
CLOUD = ModelRow(model_id="openai:*", provider="openai", cloud=True, note="api.openai.com")


def forms(*rows: ModelRow) -> list[str]:
    bundle = ModelsView(models=rows)._repr_mimebundle_()
    return [bundle[form] for form in FORMS]


def test_a_model_here_is_shown_with_its_size_and_as_the_default() -> None:
    for told in forms(ROW.model_copy(update={"is_default": True}), CLOUD):
        for part in (f"{MODEL_ID} (default)", "Size", "491 MB", "for a chat", "ready"):
            assert part in told.replace("\\", "")
        assert "shard models pull" not in told


def test_a_large_model_is_told_in_gigabytes() -> None:
    for told in forms(ROW.model_copy(update={"size_bytes": 4_683_000_000})):
        assert "4.7 GB" in told


def test_what_is_missing_stands_with_the_command_that_fetches_it() -> None:
    for told in forms(ROW.model_copy(update={"refusal": PULL}), CLOUD):
        assert "It is not on this machine yet." in told
        assert "A model on this machine needs no key: shard models pull" in told


def test_without_a_model_file_there_is_no_column_for_sizes() -> None:
    for told in forms(CLOUD):
        assert "Size" not in told
        assert "api.openai.com" in told
        assert "shard models pull" in told


def test_names_and_words_of_others_come_out_harmless() -> None:
    row = ROW.model_copy(update={"model_id": HOSTILE, "note": HOSTILE})
    check_harmless(ModelsView(models=(row,)))
