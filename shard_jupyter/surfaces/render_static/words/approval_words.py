"""What a question tells of a call, the same in every form (UI §5.6, §6.2). Pure.

What comes back holds text of others, made exact already: each form still has to escape it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from shard_jupyter.surfaces.render_static.words.descriptor_words import count_noun
from shard_jupyter.surfaces.render_static.words.exact_text import (
    exact_lines,
    show_exactly_on_line,
)
from shard_jupyter.surfaces.render_static.words.wrapped_lines import (
    GOES_ON,
    MOST_COLUMNS,
    wrap_line,
)
from shard_jupyter.types.render_descriptors import ApprovalDescriptor, ApprovalFacts

COMMAND_QUESTION = "Allow this command?"
HEAD_LINES = 16
TAIL_LINES = 8
MOST_LINES = HEAD_LINES + TAIL_LINES
MOST_NAMES = 12
"""Of one fact; what is more is counted. All of it stands in the command or the change."""
LABEL_WIDTH = 11
ANY_HOST = "any"


@dataclass(frozen=True)
class Fact:
    """A row: words of ours, then names of others. A row without a label belongs to the one above."""

    label: str
    words: str = ""
    names: tuple[str, ...] = ()
    more: int = 0
    """Names that were left out."""

    def plain(self) -> str:
        """The row without its label."""
        return " ".join(part for part in (self.words, self.names_plain()) if part)

    def names_plain(self) -> str:
        more = [f"and {self.more} more"] if self.more else []
        return ", ".join([*self.names, *more])


def ask_in_words(approval: ApprovalDescriptor) -> str:
    """The question alone; the command stands below it where there is one."""
    is_command = approval.facts is not None and approval.facts.command
    question = COMMAND_QUESTION if is_command else show_exactly_on_line(approval.question)
    return f"Edited by you. {question}" if approval.edited else question


def tell_facts(approval: ApprovalDescriptor) -> list[Fact]:
    """All rows of a question that hold."""
    facts = approval.facts or ApprovalFacts()
    rows = [_names("Runs in", "", [facts.runs_in])] if facts.runs_in else []
    for at, row in enumerate(_reach(facts)):
        rows.append(Fact("" if at else "Reaches", row.words, row.names, row.more))
    if facts.undo:
        rows.append(Fact("Undo", show_exactly_on_line(facts.undo)))
    if approval.why and approval.why != approval.question:
        rows.append(Fact("Why asked", show_exactly_on_line(approval.why)))
    if facts.no_always:
        rows.append(_no_always(facts))
    return rows


def _reach(facts: ApprovalFacts) -> Iterator[Fact]:
    if facts == ApprovalFacts():
        return  # nobody has told
    elsewhere = [path for path in facts.writes if path.startswith(("/", "~"))]
    here = [path for path in facts.writes if path not in elsewhere]
    if here:
        yield _names("", "changes", here)
    if elsewhere:
        yield _names("", "changes, outside the project:", elsewhere)
    if facts.reads_outside:
        yield _names("", "reads, outside the project or secret:", facts.reads_outside)
    if facts.network:
        yield _network(facts.network)
    nothing = [] if facts.writes else ["no files changed"]
    nothing += [] if facts.network else ["no network"]
    if facts.is_known and facts.command and nothing:
        yield Fact("", ", ".join(nothing))
    if not facts.is_known:
        is_bare = not (facts.writes or facts.reads_outside or facts.network)
        yield Fact("", "cannot be told from its text" if is_bare else "may do more than it says")


def _network(hosts: Sequence[str]) -> Fact:
    named = [host for host in hosts if host != ANY_HOST]
    if len(named) == len(hosts):
        return _names("", "network:", named)
    return _names("", "network: any host; it names" if named else "network: any host", named)


def join_facts(
    facts: Iterable[Fact], line: Callable[[str], str], code: Callable[[str], str]
) -> list[tuple[str, str]]:
    """Write each label with all that is told of it; `line` and `code` are those of a markup."""
    rows: list[tuple[str, str]] = []
    for fact in facts:
        names = ", ".join(map(code, fact.names))
        more = f" and {fact.more} more" if fact.more else ""
        told = " ".join(part for part in (line(fact.words), f"{names}{more}") if part)
        if fact.label or not rows:
            rows.append((fact.label, told))
        else:
            label, before = rows[-1]
            rows[-1] = (label, f"{before}; {told}")
    return rows


def tell_always(facts: ApprovalFacts) -> Iterator[Fact]:
    """What "always" would store and cover, or why it is not offered."""
    if facts.no_always:
        yield _no_always(facts)
    if facts.rule:
        yield _names("Rule", "", [facts.rule])
        for at, example in enumerate(facts.also_covers):
            yield _names("" if at else "Also covers", "", [example])
        if facts.not_covered:
            still = ", ".join(map(show_exactly_on_line, facts.not_covered))
            yield Fact("Not covered", f"{still}: still asked")


def _no_always(facts: ApprovalFacts) -> Fact:
    return Fact("Always", f"not offered: {show_exactly_on_line(facts.no_always)}")


def _names(label: str, words: str, names: Sequence[str]) -> Fact:
    shown = tuple(map(show_exactly_on_line, names[:MOST_NAMES]))
    return Fact(label, words, shown, max(0, len(names) - MOST_NAMES))


def align(facts: Iterable[Fact], width: int = MOST_COLUMNS) -> Iterator[str]:
    """Write rows as lines of text, their labels in one column and what they say in another."""
    for fact in facts:
        lead = f"{fact.label:<{LABEL_WIDTH}}  "
        for row in wrap_line(fact.plain(), width - len(lead)):
            yield f"{lead}{row.removeprefix(GOES_ON)}".rstrip()
            lead = " " * len(lead)


def split_long(lines: Sequence[str]) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
    """Return the start, what may be folded, and the end of a text; short ones are all start."""
    if len(lines) <= MOST_LINES:
        return lines, (), ()
    return lines[:HEAD_LINES], lines[HEAD_LINES:-TAIL_LINES], lines[-TAIL_LINES:]


def fold_words(folded: Sequence[str]) -> str:
    return f"Show {count_noun(len(folded), 'line')} between"


def command_lines(facts: ApprovalFacts | None) -> list[str]:
    return exact_lines(facts.command) if facts is not None and facts.command else []
