from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from shard_jupyter.core.permissions.rule_files.load_rules import (
    NO_GLOB,
    NOT_HERE,
    NOT_TRUSTED,
    ONLY_OWN,
    LoadedRules,
    load_rules,
)
from shard_jupyter.core.permissions.rule_files.rule_folder import MAX_ENTRIES, MAX_FILES
from shard_jupyter.core.permissions.rule_files.rule_places import RulePlaces, find_rule_places
from shard_jupyter.core.permissions.rules import PathNames, Subject, matches
from shard_jupyter.errors import ConfigError
from shard_jupyter.types.decisions import Rule

pytestmark = pytest.mark.proves("A06")

DENY: dict[str, Any] = {"effect": "deny", "tool": "bash", "command": {"program": "rm"}}
ALLOW: dict[str, Any] = {"effect": "allow", "tool": "bash", "command": {"program": "make"}}
ASK: dict[str, Any] = {"effect": "ask", "tool": "write", "path": "docs/**"}


class Disk:
    """A repository, a state folder and a policy folder."""

    def __init__(self, root: Path) -> None:
        self.project = root / "repo"
        (self.project / ".git").mkdir(parents=True)
        self.state = root / "state"
        self.policy = root / "policy"
        self.places = RulePlaces(self.state, (self.policy,))

    def put(self, folder: Path, *rules: Any, name: str = "a.json") -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / name
        file.write_text(json.dumps({"rules": list(rules)}), encoding="utf-8")
        return file

    def of_project(self, *rules: Any, below: str = "", name: str = "a.json") -> Path:
        return self.put(self.project / below / ".shard/rules", *rules, name=name)

    def load(self, cwd: Path | None = None, *, trust: bool = False) -> LoadedRules:
        return load_rules(self.places, cwd or self.project, trust_project=trust)


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path.resolve())


def effects(loaded: LoadedRules) -> list[tuple[str, str]]:
    return [(rule.effect, rule.source) for rule in loaded.rules]


def test_without_files_there_are_no_rules(disk: Disk) -> None:
    assert disk.load() == LoadedRules((), (), ())


@pytest.mark.proves("T55", "T62")
def test_a_project_that_is_not_trusted_forbids_and_asks_but_allows_nothing(disk: Disk) -> None:
    disk.of_project(ALLOW, DENY, ASK)
    loaded = disk.load()
    assert effects(loaded) == [("deny", "project"), ("ask", "project")]
    assert [one.why_not for one in loaded.listed] == [NOT_TRUSTED, "", ""]
    assert "An allow rule does not count: the project is not trusted" in loaded.notices[0].message
    assert effects(disk.load(trust=True)) == [
        ("allow", "project"),
        ("deny", "project"),
        ("ask", "project"),
    ]


def test_every_source_marks_its_rules_whatever_the_file_says(disk: Disk) -> None:
    disk.of_project({**DENY, "source": "policy"})
    disk.put(disk.state / "rules", {**ALLOW, "source": "policy"})
    disk.put(disk.policy, {**ASK, "source": "user"})
    assert effects(disk.load()) == [("deny", "project"), ("allow", "user"), ("ask", "policy")]


def test_the_most_specific_comes_first_and_files_go_by_name(disk: Disk) -> None:
    disk.of_project(DENY, name="b.json")
    disk.of_project(ASK, name="a.json")
    disk.of_project({**DENY, "reason": "inner"}, below="sub")
    disk.put(disk.state / "rules", ALLOW)
    disk.put(disk.policy, DENY)
    loaded = disk.load(disk.project / "sub")
    told = [(one.rule.effect, one.rule.source, Path(one.file).name) for one in loaded.listed]
    assert told == [
        ("deny", "project", "a.json"),
        ("ask", "project", "a.json"),
        ("deny", "project", "b.json"),
        ("allow", "user", "a.json"),
        ("deny", "policy", "a.json"),
    ]
    assert loaded.listed[0].rule.reason == "inner"


def test_a_folder_above_the_repository_says_nothing(disk: Disk) -> None:
    disk.put(disk.project.parent / ".shard/rules", DENY)
    assert disk.load().rules == ()
    (disk.project / ".git").rmdir()
    assert disk.load().rules == ()


@pytest.mark.proves("T65")
def test_metadata_of_git_gives_no_trust(disk: Disk, tmp_path: Path) -> None:
    trusted, planted = tmp_path / "trusted", disk.project / "planted"
    (trusted / ".git/worktrees/planted").mkdir(parents=True)
    planted.mkdir()
    (planted / ".git").write_text(f"gitdir: {trusted}/.git/worktrees/planted\n", encoding="utf-8")
    disk.put(planted / ".shard/rules", ALLOW, DENY)
    disk.put(trusted / ".shard/rules", ALLOW)
    assert effects(disk.load(planted)) == [("deny", "project")]


def test_the_state_folder_is_no_project(disk: Disk) -> None:
    disk.places = RulePlaces(disk.project / ".shard", ())
    disk.of_project(ALLOW, DENY)
    assert effects(disk.load()) == [("allow", "user"), ("deny", "user")]


def test_a_path_of_a_project_is_seen_from_the_folder_that_holds_shard(disk: Disk) -> None:
    (disk.project / "sub").mkdir()
    absolute = {**ASK, "path": "/etc/**"}
    disk.of_project(ASK, {**DENY, "path": "**/.env"}, {**ALLOW, "path": "./x/**/*.md"}, absolute)
    at_root = [rule.path for rule in disk.load(trust=True).rules]
    below = [rule.path for rule in disk.load(disk.project / "sub", trust=True).rules]
    root = disk.project
    assert at_root == ["docs/**", "**/.env", "./x/**/*.md", "/etc/**"]
    assert below == [f"{root}/docs/**", "**/.env", f"{root}/x/**/*.md", "/etc/**"]


def test_a_rule_that_no_glob_can_say_allows_nothing(tmp_path: Path) -> None:
    disk = Disk((tmp_path / "odd*name").resolve())
    (disk.project / "sub").mkdir()
    disk.of_project({**ALLOW, "path": "a"}, {**DENY, "path": "a"})
    loaded = disk.load(disk.project / "sub", trust=True)
    assert [one.why_not for one in loaded.listed] == [NO_GLOB, ""]


def test_a_persons_rule_for_one_project_counts_in_it_and_below(disk: Disk) -> None:
    (disk.project / "sub").mkdir()
    longer = disk.project.with_name("repo-two")
    longer.mkdir()
    disk.put(disk.state / "rules", {**ASK, "project": str(disk.project)})
    assert [rule.path for rule in disk.load().rules] == ["docs/**"]
    below = disk.load(disk.project / "sub")
    assert [rule.path for rule in below.rules] == [f"{disk.project}/docs/**"]
    for elsewhere in (longer, disk.project.parent):
        assert disk.load(elsewhere).listed[0].why_not == NOT_HERE


def test_only_the_person_may_name_a_project(disk: Disk) -> None:
    named = {"project": str(disk.project.parent)}
    disk.of_project({**ALLOW, **named}, {**DENY, **named})
    loaded = disk.load(trust=True)
    assert [one.why_not for one in loaded.listed] == [ONLY_OWN, ""]
    assert loaded.rules == (Rule(**{**DENY, "source": "project"}),)
    disk.put(disk.policy, {**DENY, **named})
    with pytest.raises(ConfigError, match="only your own files may name a project"):
        disk.load()


BROKEN: dict[str, bytes] = {
    "no JSON": b"[{]",
    "empty": b"",
    "not UTF-8": b'[{"effect": "deny", "reason": "\xff"}]',
    "half a pair": b'[{"effect": "deny", "reason": "\\ud800"}]',
    "no list": b'{"rules": {"effect": "deny"}}',
    "no rules": b"{}",
    "a number": b"3",
    "null": b"null",
    "unknown key": b'{"rules": [], "more": 1}',
    "unknown field": b'[{"effect": "allow", "pth": "a"}]',
    "unknown field of a command": b'[{"effect": "deny", "command": {"program": "a", "arg": []}}]',
    "unknown effect": b'[{"effect": "alow"}]',
    "a key twice": b'[{"effect": "deny", "effect": "allow"}]',
    "text for a list": b'[{"effect": "deny", "command": {"program": "a", "args": "b"}}]',
    "an empty path": b'[{"effect": "deny", "path": ""}]',
    "an empty tool": b'[{"effect": "deny", "tool": " "}]',
    "an empty program": b'[{"effect": "deny", "command": {"program": ""}}]',
    "a zero byte": b'[{"effect": "deny", "path": "a\\u0000"}]',
    "a relative project": b'[{"effect": "deny", "project": "a"}]',
    "costly stars": b'[{"effect": "deny", "path": "a/*a*a*a*b"}]',
    "costly runs": b'[{"effect": "deny", "path": "**a**a**b"}]',
    "costly depth": b'[{"effect": "deny", "path": "**/a/**/b/**/c"}]',
    "costly argument": b'[{"effect": "deny", "command": {"program": "a", "args": ["*a*a*a*a/b"]}}]',
    "not finite": b'[{"effect": "deny", "reason": NaN}]',
    "a long number": b"[" + b"9" * 5000 + b"]",
    "deep": b"[" * 100_000,
    "a long text": b'[{"effect": "deny", "path": "' + b"a" * 4097 + b'"}]',
    "too many": json.dumps([DENY] * 1001).encode(),
    "too large": b" " * ((1 << 20) + 1),
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_a_broken_file_of_the_person_or_of_policy_ends_the_start(disk: Disk, data: bytes) -> None:
    for folder in (disk.state / "rules", disk.policy):
        file = disk.put(folder)
        file.write_bytes(data)
        with pytest.raises(ConfigError) as caught:
            disk.load()
        assert str(file) in str(caught.value)
        assert "\n" not in str(caught.value)
        file.unlink()


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_a_broken_file_of_a_project_makes_every_call_ask(disk: Disk, data: bytes) -> None:
    disk.of_project(DENY, name="fine.json")
    file = disk.of_project(name="broken.json")
    file.write_bytes(data)
    for trust in (False, True):
        loaded = disk.load(trust=trust)
        asking, denying = loaded.rules
        assert (asking.effect, asking.tool, asking.command, asking.path) == ("ask", "*", None, None)
        assert str(file) in asking.reason
        assert denying.effect == "deny"
        assert "every call is asked" in loaded.notices[0].message


def make_odd(folder: Path, outside: Path, kind: str) -> None:
    """Put something that is no rule file of ours into `folder`, under the name of one."""
    odd = folder / "odd.json"
    if kind == "link out":
        odd.symlink_to(outside)
    elif kind == "dangling link":
        odd.symlink_to(folder / "nothing")
    elif kind == "circle":
        odd.symlink_to(odd)
    elif kind == "folder":
        odd.mkdir()
    elif kind == "pipe":
        os.mkfifo(odd)
    elif kind == "many":
        for number in range(MAX_FILES + 1):
            (folder / f"{number}.json").write_text("[]", encoding="utf-8")
    else:
        for number in range(MAX_ENTRIES + 1):
            (folder / str(number)).touch()


def test_no_rule_of_a_project_keeps_the_gate_busy(disk: Disk) -> None:
    globs = ("*a*a*b", "**/a/**/b", "**a**b", "a*a*a*b/**", "**/*a*/**")
    disk.of_project(*({"effect": "deny", "tool": "read", "path": glob} for glob in globs))
    rules = disk.load().rules
    assert len(rules) == len(globs)
    started = time.monotonic()
    for name in ("a" * 255, "a/" * 2000 + "a", "/".join(["a" * 200] * 20)):
        subject = Subject("read", (PathNames(f"/w/{name}", name, (name,)),), None, "/w")
        assert not any(matches(rule, subject) for rule in rules[:3])
        assert {matches(rule, subject) for rule in rules[3:]} <= {True, False}
    assert time.monotonic() - started < 20


@pytest.mark.parametrize(
    "kind", ["link out", "dangling link", "circle", "folder", "pipe", "many", "crowd"]
)
def test_what_is_no_file_of_the_folder_is_refused(disk: Disk, tmp_path: Path, kind: str) -> None:
    outside = tmp_path / "outside.json"
    outside.write_text(json.dumps([ALLOW]), encoding="utf-8")
    own = disk.state / "rules"
    own.mkdir(parents=True)
    make_odd(own, outside, kind)
    with pytest.raises(ConfigError):
        disk.load()
    disk.places = RulePlaces(tmp_path / "empty", ())
    theirs = disk.project / ".shard/rules"
    theirs.mkdir(parents=True)
    make_odd(theirs, outside, kind)
    assert effects(disk.load(trust=True)) == [("ask", "builtin")]


@pytest.mark.parametrize("name", [".shard", ".shard/rules"])
def test_rules_of_a_project_that_lie_elsewhere_are_not_read(
    disk: Disk, tmp_path: Path, name: str
) -> None:
    other = tmp_path / "other"
    disk.put(other if name == ".shard/rules" else other / "rules", ALLOW)
    link = disk.project / name
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(other)
    assert effects(disk.load(trust=True)) == [("ask", "builtin")]


def test_a_link_within_the_folder_and_files_of_other_names_are_fine(disk: Disk) -> None:
    file = disk.put(disk.state / "rules", DENY, name="real.txt")
    (file.parent / "link.json").symlink_to("real.txt")
    (file.parent / ".hidden.json").write_text("broken", encoding="utf-8")
    (file.parent / "README.md").write_text("words", encoding="utf-8")
    assert effects(disk.load()) == [("deny", "user")]


def test_a_rules_folder_that_is_a_file_is_broken(disk: Disk) -> None:
    disk.state.mkdir()
    (disk.state / "rules").touch()
    with pytest.raises(ConfigError, match="cannot be read"):
        disk.load()


def test_more_rules_than_anybody_writes_are_refused(disk: Disk) -> None:
    for number in range(6):
        disk.put(disk.policy, *([DENY] * 1000), name=f"{number}.json")
    with pytest.raises(ConfigError, match="more than 5000 rules"):
        disk.load()


@pytest.mark.proves("T56")
def test_policy_is_named_by_the_environment_of_the_process_alone(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk.put(disk.policy, DENY)
    (disk.project / ".env").write_text("SHARD_HOME=/tmp/evil\nSHARD_POLICY=/tmp\n", "utf-8")
    monkeypatch.chdir(disk.project)
    assert find_rule_places({"HOME": "/h"}).state_home == Path("/h/.shard")
    environ = {"SHARD_HOME": str(disk.state), "SHARD_POLICY": str(disk.policy)}
    disk.places = find_rule_places(environ)
    assert disk.places.policy[0] == Path("/etc/shard/rules")
    assert effects(disk.load()) == [("deny", "policy")]


def test_a_policy_folder_that_is_named_has_to_be_there(disk: Disk) -> None:
    with pytest.raises(ConfigError, match="SHARD_POLICY is not an absolute path"):
        find_rule_places({"HOME": "/h", "SHARD_POLICY": "policy"})
    disk.places = find_rule_places({"HOME": "/h", "SHARD_POLICY": str(disk.policy)})
    with pytest.raises(ConfigError, match="SHARD_POLICY names no folder"):
        disk.load()
