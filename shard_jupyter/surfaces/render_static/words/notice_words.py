"""Remarks of a record: what happened besides text and tools. Pure."""

from __future__ import annotations

from shard_jupyter.errors import join_sentences
from shard_jupyter.surfaces.render_static.words.model_words import show_model
from shard_jupyter.surfaces.render_static.words.numbers import show_count, show_seconds
from shard_jupyter.types.events import (
    AgentEvent,
    CompactionEvent,
    MessageDiscarded,
    ModeChanged,
    ModelSwitched,
    Notice,
    RetryScheduled,
    UiRequest,
)
from shard_jupyter.types.render_descriptors import Tone


def tell_notice(event: AgentEvent, *, deterministic: bool) -> tuple[str, Tone] | None:
    """Put an event into words; None for one that says nothing to a reader of the record.

    A deterministic record does not tell of what was made good: it may not happen the next time.
    """
    match event:
        case Notice():
            return event.message, event.tone
        case ModelSwitched():
            return f"The model is now {show_model(event.new_model)}.", "info"
        case ModeChanged():
            return f"The mode is now {event.new_mode}.", "info"
        case CompactionEvent():
            return _compaction(event, deterministic=deterministic), "info"
        case UiRequest():
            lead = "" if event.dialog == "notify" else "Asked: "
            return lead + join_sentences(event.title, event.text), "info"
        case _:
            return None if deterministic else _mended(event)


def _compaction(event: CompactionEvent, *, deterministic: bool) -> str:
    sizes = ""
    if not deterministic and event.tokens_before is not None and event.tokens_after is not None:
        before, after = show_count(event.tokens_before), show_count(event.tokens_after)
        sizes = f": {before} → {after} tokens"
    return f"Earlier conversation compacted{sizes}. Nothing is lost."


def _mended(event: AgentEvent) -> tuple[str, Tone] | None:
    match event:
        case MessageDiscarded():
            told = "An answer was cut off and does not count"
            return join_sentences(f"{told}: {event.reason}", "") or told, "warn"
        case RetryScheduled():
            wait = show_seconds(event.delay_seconds)
            again = f"Trying again in {wait} (try {event.attempt + 1})."
            return join_sentences(event.error.message, again), "warn"
        case _:
            return None
