"""The static bundle of a turn: what a notebook keeps of it (DESIGN §9.3). Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from shard_jupyter.store.surrogates import clean_value
from shard_jupyter.surfaces.render_static.record_limits import shorten_record, weigh
from shard_jupyter.surfaces.render_static.turn_html import render_turn_html
from shard_jupyter.surfaces.render_static.turn_markdown import render_turn_markdown
from shard_jupyter.surfaces.render_static.turn_plain import render_turn_plain
from shard_jupyter.surfaces.render_static.turn_record import TurnRecord

TRANSCRIPT_MIME = "application/vnd.shard.transcript.v1+json"
MAX_TEXT_BYTES = 64 * 1024
MAX_JSON_BYTES = 256 * 1024
_SMALLEST_BUDGET = 2_000


def make_bundle(record: TurnRecord, *, shown: TurnRecord | None = None) -> dict[str, Any]:
    """Render a turn in every form, each within its limit; works while the turn runs, too.

    `shown` takes the place of the record in what is read, not in the data.
    """
    read = shown or record
    return {
        "text/plain": _fit(read, render_turn_plain),
        "text/markdown": _fit(read, render_turn_markdown),
        "text/html": _fit(read, render_turn_html),
        TRANSCRIPT_MIME: _fit_json(record),
    }


def _fit(record: TurnRecord, render: Callable[[TurnRecord], str]) -> str:
    return _shrink(record, lambda short: render(short).encode("utf-8"), MAX_TEXT_BYTES)[1].decode()


def _fit_json(record: TurnRecord) -> Any:  # noqa: ANN401 - JSON
    try:
        short, _ = _shrink(record, to_json, MAX_JSON_BYTES)
        return short.model_dump(mode="json")
    except PydanticSerializationError:  # half characters, which no notebook file can hold
        cleaned = TurnRecord.model_validate(clean_value(record.model_dump()))
        return _shrink(cleaned, to_json, MAX_JSON_BYTES)[0].model_dump(mode="json")


def _shrink(
    record: TurnRecord, write: Callable[[TurnRecord], bytes], limit: int
) -> tuple[TurnRecord, bytes]:
    budget = weigh(record)
    short = record
    if budget > 2 * limit:  # not even worth a try
        budget = 2 * limit
        short = shorten_record(record, budget)
    while True:
        written = write(short)
        if len(written) <= limit or budget <= _SMALLEST_BUDGET:
            return short, written
        fitting = int(budget * min(0.9, 0.95 * limit / len(written)))
        budget = max(_SMALLEST_BUDGET, fitting)
        short = shorten_record(record, budget)
