"""What bash makes of a text, against what was understood of it."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shard_jupyter.core.permissions.shell.judge_command import judge_command
from shard_jupyter.core.permissions.shell.parse_command import parse_command
from shard_jupyter.core.permissions.shell.parsed_command import (
    CommandList,
    NotUnderstood,
    simple_commands,
)
from shard_jupyter.core.permissions.shell.shell_verdict import ShellVerdict
from shard_jupyter.core.permissions.shell.tables.find_table import read_argv
from shard_jupyter.core.permissions.shell.tables.git_judge import NOT_SEARCHED
from tests.conftest import DATA
from tests.fakes.bash_recorder import BashRecorder
from tests.fakes.shell_fuzz import make_texts
from tests.fakes.shell_steps import Steps
from tests.fakes.shell_workspace import make_workspace

pytestmark = [
    pytest.mark.proves("T44", "T69", "A06"),
    pytest.mark.skipif(not Path("/bin/bash").exists(), reason="there is no bash here"),
]
NORMAL = 2000
SEED = 20_26
_NOT_SEARCHED = re.compile(rf" '{re.escape(NOT_SEARCHED)}[^']*'")


class Fuzz:
    """Judges texts, lets bash run those that are safe, and notes each difference."""

    def __init__(self, folder: Path) -> None:
        self._workspace = make_workspace(folder, with_git=False)
        place = folder / "place"
        place.mkdir()
        self._bash = BashRecorder(self._workspace, place)
        self._before = _list_tree(folder / "work")
        self.safe = 0
        self.differs: list[str] = []
        self.dangerous: list[str] = []

    def try_text(self, text: str, status: int) -> None:
        verdict = judge_command(text, self._workspace)
        if not verdict.is_safe:
            return
        self.safe += 1
        # Always the same words, and too many of them.
        verdict = replace(verdict, confined=_NOT_SEARCHED.sub("", verdict.confined))
        self._run_confined(text, verdict, status)
        self._run_original(text, verdict, status)

    def _run_confined(self, text: str, verdict: ShellVerdict, status: int) -> None:
        parsed = _parse(verdict.confined)
        ran = Counter(self._bash.run(verdict.confined, status))
        understood = [tuple(word.text for word in one.words) for one in simple_commands(parsed)]
        if ran - Counter(understood):
            self.dangerous.append(f"{text!r} confined ran {ran}, understood {understood}")
        expected = Counter(understood[number] for number in Steps(parsed, status).run)
        if ran != expected and not _may_fail(parsed):
            self.dangerous.append(f"{text!r} confined ran {ran}, expected {expected}")
        self._look_for_files(text)

    def _run_original(self, text: str, verdict: ShellVerdict, status: int) -> None:
        ran = self._bash.run(text, status)
        refused = [argv for argv in ran if read_argv(argv).why_not]
        if refused:
            self.dangerous.append(f"{text!r} ran {refused}")
        self._look_for_files(text)
        parsed = _parse(verdict.confined)
        if Counter(ran) != Counter(_as_given(parsed, verdict, status)) and not _may_fail(parsed):
            self.differs.append(f"{text!r} ran {ran}")

    def _look_for_files(self, text: str) -> None:
        after = _list_tree(self._workspace)
        if after != self._before:
            self.dangerous.append(f"{text!r} changed {after ^ self._before}")
            self._before = after


def _parse(text: str) -> CommandList:
    parsed = parse_command(text)
    assert not isinstance(parsed, NotUnderstood), (text, parsed)
    return parsed


def _as_given(parsed: CommandList, verdict: ShellVerdict, status: int) -> Iterator[tuple[str, ...]]:
    """The commands of the confined text that run, without what the tables put in."""
    commands = list(simple_commands(parsed))
    for number in Steps(parsed, status).run:
        reading = verdict.commands[number]
        if not reading.has_glob:
            yield reading.words
            continue
        added = set(read_argv(reading.words).run_as) - set(reading.words)
        yield tuple(word.text for word in commands[number].words if word.text not in added)


def _may_fail(parsed: CommandList) -> bool:
    """A file that is not there, or a descriptor that is closed, keeps a command from running."""
    return any(
        one.operator == "<" or (one.operator in ("<&", ">&") and one.target.text not in "12-")
        for command in simple_commands(parsed)
        for one in command.redirections
    )


def _list_tree(top: Path) -> set[tuple[str, int, int]]:
    found = set()
    for folder, _, files in os.walk(top):
        for name in files:
            path = f"{folder}/{name}"
            status = os.lstat(path)
            found.add((path, status.st_size, status.st_mtime_ns))
        found.add((folder, 0, 0))
    return found


def _safe_lines() -> list[str]:
    lines: list[str] = []
    for name in ("bad_shell_commands.jsonl", "own_shell_commands.jsonl"):
        for line in (DATA / name).read_bytes().split(b"\n"):
            entry = json.loads(line) if line else {}
            if entry.get("safe_readonly"):
                lines.append(entry["cmd"])
    return lines


@pytest.mark.timeout(3600)  # with `--fuzz`
def test_bash_runs_nothing_but_what_was_understood(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    count = request.config.getoption("--fuzz") or NORMAL
    seed = request.config.getoption("--fuzz-seed") or SEED
    fuzz = Fuzz(tmp_path)
    for number, text in enumerate(make_texts(_safe_lines(), count, seed)):
        fuzz.try_text(text, number % 2)
    summary = f"seed {seed}, {count} texts, {fuzz.safe} safe, {len(fuzz.differs)} differ"
    request.node.user_properties.append(("fuzz", summary))
    assert not fuzz.dangerous, (summary, fuzz.dangerous[:20])
    assert fuzz.safe > count / 50, summary
    assert len(fuzz.differs) <= fuzz.safe / 1000, (summary, fuzz.differs[:20])


def test_every_safe_line_of_the_corpus_means_to_bash_what_was_understood(tmp_path: Path) -> None:
    fuzz = Fuzz(tmp_path)
    for text in _safe_lines():
        fuzz.try_text(text, 0)
    assert (fuzz.dangerous, fuzz.differs) == ([], [])
