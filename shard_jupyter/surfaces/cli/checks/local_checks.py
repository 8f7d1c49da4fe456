"""What `shard doctor` says of models on this machine. Nothing of it is a problem by itself.

It is a warning only where nothing else can answer: no key is set, and no model here is ready.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shard_jupyter.capabilities.local_models.catalog.catalog_model import DEFAULT_MODEL, SMALL_MODEL
from shard_jupyter.capabilities.local_models.found.find_models import FoundModels, find_models
from shard_jupyter.capabilities.local_models.found.found_model import FoundModel
from shard_jupyter.capabilities.local_models.memory.free_memory import find_available_memory
from shard_jupyter.surfaces.cli.checks.doctor_check import Check, Status
from shard_jupyter.surfaces.render_static.words.descriptor_words import count_noun
from shard_jupyter.surfaces.render_static.words.numbers import show_bytes
from shard_jupyter.surfaces.sdk.default_model import DefaultModel
from shard_jupyter.surfaces.sdk.local_places import find_engine_refusal, find_model_places
from shard_jupyter.types.refusals import Refusal

NAME = "local models"


def check_local_models(default: DefaultModel, *, needed: bool) -> Iterator[Check]:
    """Look for an engine, models and memory. Reads files. `needed`: nothing else can answer."""
    engine = find_engine_refusal(default.settings, default.environ)
    found = find_models(find_model_places(default.settings, default.environ))
    yield from judge_local_models(engine, found, find_available_memory(), needed=needed)


def judge_local_models(
    engine: Refusal | None, found: FoundModels, free_bytes: int, *, needed: bool
) -> Iterator[Check]:
    """Put what was found into words; pure."""
    bad: Status = "warn" if needed else "ok"
    if engine is None:
        yield Check(NAME, "ok", "an engine is there")
    else:
        yield Check(NAME, bad, engine.message.removesuffix("."), engine.satisfy)
    yield _judge_models(found.models, bad)
    yield from (Check(NAME, "ok", note) for note in found.notes)
    yield _judge_memory(free_bytes, bad)


def _judge_models(models: Sequence[FoundModel], bad: Status) -> Check:
    if not models:
        return Check(NAME, bad, "no model is here", "shard models pull")
    told = f"{count_noun(len(models), 'model')} found"
    if any(model.catalog_name == DEFAULT_MODEL.name for model in models):
        return Check(NAME, "ok", f"{told}, the default among them ({DEFAULT_MODEL.name})")
    step = f"shard models pull {DEFAULT_MODEL.name}, or choose one of them with --model"
    return Check(NAME, "ok", f"{told}, not the default", step)


def _judge_memory(free_bytes: int, bad: Status) -> Check:
    told = f"{show_bytes(max(0, free_bytes))} of memory can be used"
    if free_bytes >= DEFAULT_MODEL.size_bytes * 3 // 2:
        return Check(NAME, "ok", told)
    step = f"Close other programs, or use the smaller one: shard models pull {SMALL_MODEL.name}"
    return Check(NAME, bad, f"{told}, too little for {DEFAULT_MODEL.name}", step)
