"""`shard rules`: which rules count, and what they make of a call."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from shard_jupyter.core.config.load_settings import load_settings
from shard_jupyter.core.permissions.headless_policy import (
    covers_whole_tool,
    say_how_wide,
    write_rules,
)
from shard_jupyter.core.permissions.rule_files.granted_rules import GrantedRules
from shard_jupyter.core.permissions.rule_files.load_rules import ListedRule
from shard_jupyter.core.permissions.rules import describe_rule
from shard_jupyter.errors import UsageError
from shard_jupyter.surfaces.cli.exit_codes import DONE, FAILED
from shard_jupyter.surfaces.cli.judging.check_lines import BadLine, CheckLine, read_lines
from shard_jupyter.surfaces.cli.judging.rule_judge import (
    Judgement,
    RuleJudge,
    show_rule,
    write_line,
)
from shard_jupyter.surfaces.cli.output import align_columns, find_width, write_json, write_lines
from shard_jupyter.surfaces.render_static.visible_text import make_visible, make_visible_line
from shard_jupyter.surfaces.sdk.gathered_rules import GatheredRules, gather_rules
from shard_jupyter.types.decisions import Rule

_HEAD = ("rule", "from", "counts")


def run_command(arguments: argparse.Namespace) -> int:
    actions = {"list": _list, "explain": _explain, "check": _check}
    return actions[arguments.action](arguments)


@dataclass(frozen=True)
class _Here:
    """A folder and its rules, those of `granted.json` among them."""

    cwd: Path
    gathered: GatheredRules

    @property
    def rules(self) -> tuple[Rule, ...]:
        return (*self.gathered.rules, *GrantedRules(self.gathered.granted, self.cwd).rules())


def _gather(arguments: argparse.Namespace) -> _Here:
    cwd = Path(arguments.cwd or ".").absolute()
    if not cwd.is_dir():
        raise UsageError(f"{arguments.cwd} is no folder.", next_step="Give --cwd one that exists.")
    cwd = cwd.resolve()
    trust = arguments.trust_project
    loaded = load_settings(os.environ, cwd, trust_project=trust)
    gathered = gather_rules(loaded, os.environ, cwd, trust_project=trust)
    for notice in gathered.notices:
        sys.stderr.write(f"shard: {make_visible_line(f'{notice.path}: {notice.message}')}\n")
    return _Here(cwd, gathered)


def _list(arguments: argparse.Namespace) -> int:
    listed = _gather(arguments).gathered.listed
    if arguments.json:
        write_json([_show_listed(one) for one in listed])
    elif listed:
        write_lines(align_columns([_HEAD, *map(_cells, listed)], find_width()))
    else:
        sys.stderr.write("There are no rules. See docs/how-to/write-permission-rules.md.\n")
    return DONE


def _show_listed(one: ListedRule) -> dict[str, object]:
    counts = {"file": one.file, "counts": not one.why_not, "why_not": one.why_not}
    return {**show_rule(one.rule), **counts}


def _cells(one: ListedRule) -> tuple[str, ...]:
    place = f"{one.rule.source}: {one.file}" if one.file else one.rule.source
    project = f" [in {one.rule.project}]" if one.rule.project else ""
    counts = f"no: {one.why_not}" if one.why_not else "yes"
    return f"{describe_rule(one.rule)}{project}", place, counts


def _explain(arguments: argparse.Namespace) -> int:
    here = _gather(arguments)
    judge = RuleJudge(here.rules, here.cwd, arguments.mode, offers=True)
    subject = os.fsencode(arguments.subject).decode("utf-8", "surrogateescape")
    is_command = arguments.tool == "bash"
    judged = (
        judge.judge_command(subject) if is_command else judge.judge_path(subject, arguments.tool)
    )
    if arguments.json:
        write_json(_show(judged))
    else:
        write_lines(_say(judged, here.gathered, arguments.mode))
    return DONE


def _show(judged: Judgement) -> dict[str, object]:
    needed = judged.offer.would_allow
    return {
        "decision": judged.decision,
        "rule": show_rule(judged.rule) if judged.rule else None,
        "reason": judged.reason,
        "runs_as": judged.runs_as,
        "would_allow": show_rule(needed) if needed else None,
        "also_needed": [show_rule(rule) for rule in judged.offer.also_needed],
    }


_MEANINGS = {
    "allow": "it runs without a question",
    "ask": "a person is asked; where nobody can be, it is denied",
    "deny": "it does not run, whatever anybody says",
}


def _say(judged: Judgement, gathered: GatheredRules, mode: str) -> Iterator[str]:
    yield f"{judged.decision}: {_MEANINGS[judged.decision]} (mode {make_visible_line(mode)})"
    yield f"because: {make_visible_line(judged.reason)}"
    if judged.rule is not None:
        found = (one.file for one in gathered.listed if one.rule == judged.rule)
        place = next(found, "") or f"the mode {mode}"
        yield f"the rule is in: {make_visible_line(place)}"
    if judged.runs_as:
        yield "it would run as:"
        yield from (f"  {line}" for line in make_visible(judged.runs_as).split("\n"))
    if judged.offer.would_allow is not None:
        several = "rules" if judged.offer.also_needed else "a rule"
        yield f"{several} that would allow it:"
        yield f"  {make_visible_line(write_rules(judged.offer))}"
        if covers_whole_tool(judged.offer.would_allow):
            yield f"  {say_how_wide(judged.offer.would_allow)}"


def _check(arguments: argparse.Namespace) -> int:
    here = _gather(arguments)
    judge = RuleJudge(here.rules, here.cwd)
    code = DONE
    with _open(arguments.jsonl) as file:
        for line in read_lines(file):
            if isinstance(line, BadLine):
                told = make_visible_line(line.why)
                sys.stderr.write(f"shard: line {line.number} was left out: {told}.\n")
                code = FAILED
            else:
                write_lines([_answer(judge, line)])
    return code


@contextmanager
def _open(name: str) -> Iterator[BinaryIO]:
    if name == "-":
        yield sys.stdin.buffer
        return
    try:
        file = Path(name).open("rb")  # noqa: SIM115 - closed below
    except OSError as error:
        raise UsageError(
            f"{name} cannot be read: {error.strerror}.", next_step="Give --jsonl a file that can."
        ) from error
    with file:
        yield file


def _answer(judge: RuleJudge, line: CheckLine) -> str:
    if line.command is not None:
        judged = judge.judge_command(line.command)
    else:
        judged = judge.judge_path(line.path, line.op)
    rule = show_rule(judged.rule) if judged.rule else None
    return write_line(
        {"id": line.line_id, "decision": judged.decision, "rule": rule, "reason": judged.reason}
    )
