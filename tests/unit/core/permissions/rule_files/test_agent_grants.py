from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shard_jupyter.core.permissions.grants import GrantTable
from shard_jupyter.core.permissions.rule_files.agent_grants import (
    NAME,
    AgentGrants,
    read_agent_grants,
)
from shard_jupyter.errors import ConfigError, StorageError
from shard_jupyter.types.decisions import Grant, Rule

pytestmark = pytest.mark.proves("A06")

RULE = Rule(effect="allow", tool="write", path="a.txt")


def grant(number: int = 1, **more: Any) -> Grant:
    fields = {"grant_id": f"grant-{number}", "rule": RULE, "workspace": "/w", "scope": "agent"}
    return Grant.model_validate({**fields, **more})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "session" / NAME


def table(file: Path) -> GrantTable:
    return GrantTable(workspace="/w", of_agent=AgentGrants(file), granted=file.with_name("g.json"))


def test_what_is_added_is_there_for_whoever_opens_it_next(file: Path) -> None:
    AgentGrants(file).add(grant(1))
    AgentGrants(file).add(grant(2))
    AgentGrants(file).add(grant(2))
    assert AgentGrants(file).grants() == (grant(1), grant(2))
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_revoke_counts_for_whoever_has_it_open(file: Path) -> None:
    running, other = AgentGrants(file), AgentGrants(file)
    running.add(grant(1))
    running.add(grant(2))
    assert other.revoke({"grant-1", "unknown"}) == (grant(1),)
    assert running.grants() == (grant(2),)
    assert other.revoke(None) == (grant(2),)
    assert running.grants() == ()


DAMAGED = ["{", "", "[]", "{}", '{"version": 1}', '{"version": 1, "grants": {}}',
           '{"version": 1, "grants": [{}]}', '{"version": 0, "grants": []}',
           '{"version": 1, "grants": [], "more": 1}', "\ufeff\x00",
           '{"version": 1, "grants": [], "grants": []}']  # fmt: skip


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_file_grants_nothing_and_is_moved_aside_aloud(file: Path, text: str) -> None:
    file.parent.mkdir()
    file.write_text(text, encoding="utf-8")
    kept = AgentGrants(file)
    assert kept.grants() == ()
    (told,) = kept.mend()
    assert "Nothing of it counts" in told
    (aside,) = file.parent.glob(f"{NAME}.damaged-*")
    assert aside.read_text(encoding="utf-8") == text
    assert aside.name in told
    assert kept.mend() == ()
    kept.add(grant())
    assert kept.grants() == (grant(),)


@pytest.mark.parametrize("text", DAMAGED)
def test_damage_that_comes_later_loses_no_new_grant(file: Path, text: str) -> None:
    kept = AgentGrants(file)
    kept.add(grant(1))
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError):
        kept.revoke(None)
    kept.add(grant(2))
    assert kept.grants() == (grant(2),)
    assert len(list(file.parent.glob(f"{NAME}.damaged-*"))) == 1


def test_a_file_of_a_newer_version_grants_nothing_and_stays(file: Path) -> None:
    file.parent.mkdir()
    text = '{"version": 2, "grants": [], "until": "noon"}'
    file.write_text(text, encoding="utf-8")
    kept = AgentGrants(file)
    assert "newer version" in kept.mend()[0]
    assert kept.grants() == ()
    with pytest.raises(StorageError, match="newer version"):
        kept.add(grant())
    assert file.read_text(encoding="utf-8") == text


def test_a_grant_counts_from_memory_until_it_is_saved_and_from_its_file_afterwards(
    file: Path,
) -> None:
    mine = table(file)
    given = mine.give(RULE, by="ada", timestamp="t", keep="agent")
    assert mine.rules == (RULE,)
    assert not file.exists()
    assert mine.save() == ()
    assert mine.rules == (RULE,)
    assert read_agent_grants(file) == (given,)
    AgentGrants(file).revoke(None)
    assert mine.rules == ()


def test_only_what_is_for_the_agent_counts_for_it_again(file: Path) -> None:
    mine = table(file)
    mine.give(RULE, by="ada", timestamp="")
    mine.give(RULE.model_copy(update={"path": "b"}), by="ada", timestamp="", keep="agent")
    mine.save()
    assert [rule.path for rule in mine.rules] == ["a.txt", "b"]
    assert [rule.path for rule in table(file).rules] == ["b"]


@pytest.mark.parametrize(("keep", "project"), [("project", "/w"), ("everywhere", "")])
def test_what_is_for_a_project_or_everywhere_becomes_a_rule_of_the_person(
    file: Path, keep: Any, project: str
) -> None:
    mine = table(file)
    mine.give(RULE, by="ada", timestamp="t", keep=keep)
    assert mine.rules == (RULE,)
    assert mine.save() == ()
    assert mine.rules == ()  # the rule is in the other file now
    (rule,) = json.loads(file.with_name("g.json").read_bytes())["rules"]
    assert rule.get("project", "") == project
    assert rule["path"] == "a.txt"


@pytest.mark.parametrize("keep", ["agent", "project", "everywhere"])
def test_what_cannot_be_kept_counts_for_this_session_and_that_is_said(keep: Any) -> None:
    mine = GrantTable(workspace="/w")
    mine.give(RULE, by="ada", timestamp="", keep=keep)
    (told,) = mine.save()
    assert "for this session only" in told
    assert mine.rules == (RULE,)
    assert mine.save() == ()


def test_stored_grants_of_other_folders_or_versions_or_too_wide_ones_do_not_count(
    file: Path,
) -> None:
    wide = Rule(effect="allow", tool="*")
    for number, more in enumerate(({"workspace": "/v"}, {"until": "noon"}, {"rule": wide})):
        AgentGrants(file).add(grant(number, **more))
    mine = table(file)
    assert mine.rules == ()
    assert len(mine.left_out) == 3
