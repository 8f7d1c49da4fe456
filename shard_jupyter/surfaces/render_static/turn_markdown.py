"""A turn as Markdown: prose as it is, one list line a step, changes as diffs. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from shard_jupyter.surfaces.render_static.markdown import (
    code,
    line,
    render_diff_lines,
    render_markdown,
    render_question,
    sentence,
    text,
)
from shard_jupyter.surfaces.render_static.prose.safe_markdown import fence, make_safe_markdown
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
from shard_jupyter.surfaces.render_static.visible_text import make_visible
from shard_jupyter.surfaces.render_static.words.descriptor_words import fallback_text
from shard_jupyter.surfaces.render_static.words.step_words import find_verb


def render_turn_markdown(record: TurnRecord) -> str:
    """Render the whole turn; it ends with a line end."""
    return "\n\n".join(part for part in _parts(record) if part) + "\n"


def _parts(record: TurnRecord) -> Iterator[str]:
    yield _head(record)
    yield from _story(record)
    if record.answer.strip():
        yield make_safe_markdown(record.answer)
    yield from _files(record)
    yield from _denials(record)
    yield "  \n".join(map(sentence, tell_end(record)))
    yield line(question_words(record))
    if asked := open_question(record):
        yield render_question(asked)
    yield from _details(record)
    yield line(SHORTENED) if record.is_shortened else ""
    if record.usage and record.outcome:
        yield render_markdown(record.usage)


def _head(record: TurnRecord) -> str:
    parts = [f"{state_mark(record)} **{state_word(record)}**", f"**{line(record.agent)}**"]
    parts += [line(part) for part in (record.model, record.mode, show_duration(record)) if part]
    return " · ".join(parts)


def _story(record: TurnRecord) -> Iterator[str]:
    if record.step_count > 1 and record.summary:
        yield line(summary_line(record))
    earlier, items = split_items(record)
    if earlier:
        yield f"({count_earlier(earlier)})"
    rows: list[str] = []
    for item in items:
        if isinstance(item, StepItem):
            rows.append(_row(item))
            if item.output_tail:
                yield "\n".join(rows)
                yield fence(make_visible(item.output_tail))
                rows = []
        else:
            yield "\n".join(rows)
            yield _other(item, record)
            rows = []
    yield "\n".join(rows)


def _row(step: StepItem) -> str:
    row = make_row(step)
    mark = "" if step.state == "ok" else f"{row.mark} "
    target = f" {code(row.target)}" if row.target else ""
    result = f" · {line(row.result)}" if row.result else ""
    return f"- {mark}{line(row.verb)}{target}{result}"


def _other(item: RecordItem, record: TurnRecord) -> str:
    match item:
        case ProseItem():
            prose = make_safe_markdown(item.text)
            # Of a turn that has ended, only the answer stands by itself.
            return prose if record.outcome is None else _quote(prose)
        case NoticeItem():
            return f"{notice_mark(item.tone)} {sentence(item.message)}"
        case SteerItem():
            return f"**You:** {text(item.text)}"
        case StepItem():
            return _row(item)
        case _:
            return fence(make_visible(fallback_text(item.tag, item.raw)))


def _quote(prose: str) -> str:
    return "\n".join(f"> {each}".rstrip() for each in prose.split("\n"))


def _files(record: TurnRecord) -> Iterator[str]:
    files = record.changed_files
    if files:
        yield f"**{count_files(record)}** {sum_changes(files)}".rstrip()
    for file in files:
        yield from _file(record, file)


def _file(record: TurnRecord, file: ChangedFile) -> Iterator[str]:
    yield f"{code(file.path)} {sum_changes((file,))}".rstrip()
    change = collect_change(record, file)
    if change.lines or change.hidden:
        yield render_diff_lines(change.lines, change.hidden)


def _details(record: TurnRecord) -> Iterator[str]:
    steps = list(steps_in_full(record))
    if steps:
        yield f"**{DETAILS}**"
    for step, parts in steps:
        row = make_row(step)
        yield f"{line(step.verb)} {code(row.target)}" if row.target else line(step.verb)
        if row.is_cut:
            yield fence(make_visible(step.target))
        yield from map(render_markdown, parts)


def _denials(record: TurnRecord) -> Iterator[str]:
    for denial in record.denials:
        target = f" {code(one_line(denial.target, MAX_DENIED))}" if denial.target else ""
        told = f"⊘ **Denied:** {line(find_verb(denial.tool))}{target}  \n{sentence(denial.reason)}"
        if denial.would_allow:
            told += f"  \nThis rule would allow it: {code(denial.would_allow)}"
        yield told
