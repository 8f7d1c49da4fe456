"""A turn as plain text, as a terminal shows it. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from shard_jupyter.surfaces.render_static.plain import question_lines, render_plain, show_prose
from shard_jupyter.surfaces.render_static.record.record_items import (
    ChangedFile,
    NoticeItem,
    ProseItem,
    RecordItem,
    SteerItem,
    StepItem,
)
from shard_jupyter.surfaces.render_static.turn_changes import collect_change
from shard_jupyter.surfaces.render_static.turn_details import DETAILS, steps_in_full
from shard_jupyter.surfaces.render_static.turn_record import TurnRecord
from shard_jupyter.surfaces.render_static.turn_words import (
    MAX_DENIED,
    SHORTENED,
    count_earlier,
    count_files,
    make_row,
    notice_mark,
    one_line,
    open_question,
    question_words,
    show_duration,
    split_items,
    state_mark,
    state_word,
    sum_changes,
    summary_line,
    tell_end,
)
from shard_jupyter.surfaces.render_static.visible_text import make_visible, make_visible_line
from shard_jupyter.surfaces.render_static.words.descriptor_words import fallback_text
from shard_jupyter.surfaces.render_static.words.step_words import find_verb

_INDENT = "  "


def render_turn_plain(record: TurnRecord) -> str:
    """Render the whole turn; it ends with a line end."""
    return "\n\n".join("\n".join(part) for part in _parts(record) if part) + "\n"


def _parts(record: TurnRecord) -> Iterator[list[str]]:
    yield [_head(record)]
    yield list(_story(record))
    if record.answer.strip():
        yield [show_prose(record.answer)]
    yield list(_files(record))
    yield list(_denials(record))
    yield [make_visible(line) for line in tell_end(record)]
    if asked := open_question(record):
        yield [make_visible_line(question_words(record)), *question_lines(asked)]
    yield list(_details(record))
    foot = [render_plain(record.usage)] if record.usage and record.outcome else []
    yield [*([SHORTENED] if record.is_shortened else []), *foot]


def _head(record: TurnRecord) -> str:
    told = (state_word(record), record.agent, record.model, record.mode, show_duration(record))
    return f"{state_mark(record)} {' · '.join(make_visible_line(part) for part in told if part)}"


def _story(record: TurnRecord) -> Iterator[str]:
    if record.step_count > 1 and record.summary:
        yield make_visible_line(summary_line(record))
    earlier, items = split_items(record)
    if earlier:
        yield f"{_INDENT}({count_earlier(earlier)})"
    for item in items:
        yield from render_item_plain(item)


def render_item_plain(item: RecordItem) -> Iterator[str]:
    """Render one of the things that happened in a turn; a part may hold several lines."""
    match item:
        case StepItem():
            row = make_row(item)
            told = (f"{row.mark} {row.verb}", row.target, row.result)
            yield _INDENT + "  ".join(make_visible_line(part) for part in told if part)
            if item.output_tail:
                yield _indent(make_visible(item.output_tail), 3)
        case ProseItem():
            yield _indent(show_prose(item.text), 1)
        case NoticeItem():
            yield f"{_INDENT}{notice_mark(item.tone)} {make_visible_line(item.message)}"
        case SteerItem():
            yield _indent(f"You: {show_prose(item.text)}", 1)
        case _:
            yield _indent(make_visible(fallback_text(item.tag, item.raw)), 1)


def _indent(text: str, depth: int) -> str:
    return "\n".join(f"{_INDENT * depth}{line}".rstrip() for line in text.split("\n"))


def _files(record: TurnRecord) -> Iterator[str]:
    files = record.changed_files
    if not files:
        return
    yield f"{count_files(record)}  {sum_changes(files)}".rstrip()
    for file in files:
        yield from _file(record, file)


def _file(record: TurnRecord, file: ChangedFile) -> Iterator[str]:
    yield f"{_INDENT}{make_visible_line(file.path)}  {sum_changes((file,))}".rstrip()
    change = collect_change(record, file)
    yield from (f"{_INDENT * 2}{each}" for each in change.lines)
    if change.hidden:
        yield f"{_INDENT * 2}({change.hidden} more lines)"


def _details(record: TurnRecord) -> Iterator[str]:
    steps = list(steps_in_full(record))
    if steps:
        yield DETAILS
    for step, parts in steps:
        yield _indent(f"{make_visible_line(step.verb)}  {make_visible(step.target)}", 1)
        yield from (_indent(render_plain(part), 3) for part in parts)


def _denials(record: TurnRecord) -> Iterator[str]:
    for denial in record.denials:
        told = f"⊘ Denied: {find_verb(denial.tool)}  {one_line(denial.target, MAX_DENIED)}"
        yield make_visible_line(told.rstrip())
        yield _INDENT + make_visible_line(denial.reason)
        if denial.would_allow:
            yield make_visible_line(f"{_INDENT}This rule would allow it: {denial.would_allow}")
