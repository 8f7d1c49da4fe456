"""A turn as HTML: a line, a fold with all steps, the answer, the changes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from shard_jupyter.surfaces.render_static.html import (
    block,
    code,
    line,
    render_diff_lines,
    render_html,
    render_question,
    sentence,
    text,
)
from shard_jupyter.surfaces.render_static.plain import diff_body
from shard_jupyter.surfaces.render_static.prose.prose_html import render_prose
from shard_jupyter.surfaces.render_static.record.record_items import (
    ChangedFile,
    NoticeItem,
    ProseItem,
    RecordItem,
    SteerItem,
    StepItem,
)
from shard_jupyter.surfaces.render_static.record_limits import without_render
from shard_jupyter.surfaces.render_static.turn_changes import collect_change, is_short
from shard_jupyter.surfaces.render_static.turn_details import shown_parts
from shard_jupyter.surfaces.render_static.turn_record import TurnRecord
from shard_jupyter.surfaces.render_static.turn_words import (
    MAX_DENIED,
    SHORTENED,
    count_earlier,
    count_files,
    is_told_below,
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
from shard_jupyter.surfaces.render_static.words.descriptor_words import fallback_text
from shard_jupyter.surfaces.render_static.words.step_words import find_verb
from shard_jupyter.types.render_descriptors import (
    DiffDescriptor,
)


def render_turn_html(record: TurnRecord) -> str:
    """Render the whole turn; it ends with a line end."""
    written = ""
    for part in _parts(record):
        # These elements have no space below them where notebooks are shown.
        gap = "<br>\n" if part and written.endswith(("</details>\n", "</pre>\n")) else ""
        written += gap + part
    return written


def _parts(record: TurnRecord) -> Iterator[str]:
    yield _head(record)
    yield _story(record)
    yield render_prose(record.answer)
    yield "".join(_files(record))
    yield from _denials(record)
    yield _paragraph("<br>\n".join(map(sentence, tell_end(record))))
    yield _paragraph(line(question_words(record)))
    if asked := open_question(record):
        yield render_question(asked)
    yield _paragraph(line(SHORTENED) if record.is_shortened else "")
    if record.usage and record.outcome:
        yield render_html(record.usage)


def _paragraph(inside: str) -> str:
    return f"<p>{inside}</p>\n" if inside else ""


def _head(record: TurnRecord) -> str:
    parts = [
        f"{state_mark(record)} {state_word(record)}",
        f"<strong>{line(record.agent)}</strong>",
    ]
    parts += [line(part) for part in (record.model, record.mode, show_duration(record)) if part]
    return _paragraph(" · ".join(parts))


def _story(record: TurnRecord) -> str:
    """One fold for all of it once the turn has ended well; else everything in view."""
    earlier, items = split_items(record)
    rows = "".join(_groups(items, record))
    if earlier:
        hidden = "".join(_groups(list(map(without_render, earlier)), record))
        rows = f"<details>\n<summary>{count_earlier(earlier)}</summary>\n{hidden}</details>\n{rows}"
    told = line(summary_line(record))
    if record.outcome == "completed" and record.step_count:
        return f"<details>\n<summary>{told}</summary>\n{rows}</details>\n"
    return f"{_paragraph(told) if record.step_count > 1 else ''}{rows}"


def _groups(items: Sequence[RecordItem], record: TurnRecord) -> Iterator[str]:
    """Rows that follow each other make one list."""
    for is_row, group in groupby(items, lambda item: isinstance(item, StepItem)):
        if is_row:
            steps = [item for item in group if isinstance(item, StepItem)]
            rows = "".join(f"<li>{_step(step, record)}</li>\n" for step in steps)
            yield f"<ul>\n{rows}</ul>\n"
        else:
            yield from map(_remark, group)


def _remark(item: RecordItem) -> str:
    match item:
        case ProseItem():
            return render_prose(item.text)
        case NoticeItem():
            return _paragraph(f"{notice_mark(item.tone)} {sentence(item.message)}")
        case SteerItem():
            return _paragraph(f"<strong>You:</strong> {text(item.text)}")
        case StepItem():
            return ""
        case _:
            return block(fallback_text(item.tag, item.raw))


def _step(step: StepItem, record: TurnRecord) -> str:
    row = make_row(step)
    mark = "" if step.state == "ok" else f"{row.mark} "
    target = f" {code(row.target)}" if row.target else ""
    result = f" · {line(row.result)}" if row.result else ""
    told = f"{mark}{line(row.verb)}{target}{result}"
    tail = block(step.output_tail) if step.output_tail else ""
    inside = "".join(_details(step, record, full_target=row.is_cut))
    if not inside or tail:
        return told + tail
    is_asked = step.state == "waiting" and bool(step.render) and not is_told_below(step)
    how = " open" if is_asked else ""
    return f"<details{how}>\n<summary>{told}</summary>\n{inside}</details>\n"


def _details(step: StepItem, record: TurnRecord, *, full_target: bool) -> Iterator[str]:
    if full_target:
        yield block(step.target)
    for part in shown_parts(step, record):
        if isinstance(part, DiffDescriptor) and part.path == step.target:
            yield render_diff_lines(list(diff_body(part)), part.cut_lines)
        else:
            yield render_html(part)


def _files(record: TurnRecord) -> Iterator[str]:
    files = record.changed_files
    if files:
        yield _paragraph(f"<strong>{count_files(record)}</strong> {sum_changes(files)}".rstrip())
    for file in files:
        yield _file(record, file)


def _file(record: TurnRecord, file: ChangedFile) -> str:
    told = f"{code(file.path)} {sum_changes((file,))}".rstrip()
    change = collect_change(record, file)
    if not change.lines and not change.hidden:
        return _paragraph(told)
    how = " open" if is_short(file) else ""
    body = render_diff_lines(change.lines, change.hidden)
    return f"<details{how}>\n<summary>{told}</summary>\n{body}</details>\n"


def _denials(record: TurnRecord) -> Iterator[str]:
    for denial in record.denials:
        target = f" {code(one_line(denial.target, MAX_DENIED))}" if denial.target else ""
        told = f"⊘ <strong>Denied:</strong> {line(find_verb(denial.tool))}{target}"
        told += f"<br>\n{sentence(denial.reason)}"
        if denial.would_allow:
            told += f"<br>\nThis rule would allow it: {code(denial.would_allow)}"
        yield _paragraph(told)
