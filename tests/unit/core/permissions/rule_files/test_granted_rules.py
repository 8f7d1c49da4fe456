from __future__ import annotations

import json
from pathlib import Path

import pytest

from shard_jupyter.core.permissions.rule_files.granted_rules import (
    GrantedRules,
    keep_rule,
    read_granted,
    revoke_rules,
)
from shard_jupyter.core.permissions.rule_files.load_rules import load_rules
from shard_jupyter.core.permissions.rule_files.rule_book import RuleBook
from shard_jupyter.core.permissions.rule_files.rule_places import RulePlaces
from shard_jupyter.errors import ConfigError, StorageError
from shard_jupyter.types.decisions import CommandPattern, Rule

pytestmark = pytest.mark.proves("A06")

MAKE = Rule(effect="allow", tool="bash", command=CommandPattern(program="make", args=("x[*]",)))
NOTES = Rule(effect="allow", tool="write", path="notes.md", project="/w")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state/rules/granted.json"


def test_a_kept_rule_is_there_with_who_and_when_and_nobody_else_may_read_it(file: Path) -> None:
    kept = keep_rule(file, MAKE.model_copy(update={"source": "run"}), by="ada", at="2026-01-02")
    keep_rule(file, NOTES, by="ada", at="")
    assert read_granted(file)[0] == kept
    assert [one.rule for one in read_granted(file)] == [MAKE, NOTES]
    assert (kept.given_by, kept.given_at) == ("ada", "2026-01-02")
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_it_is_a_rule_file_like_any_other(file: Path, tmp_path: Path) -> None:
    keep_rule(file, MAKE, by="ada", at="")
    loaded = load_rules(RulePlaces(file.parent.parent, ()), tmp_path, trust_project=False)
    assert [one.rule for one in loaded.listed] == [MAKE]
    assert loaded.rules == ()  # an agent looks at them anew each time


def test_the_same_rule_is_kept_once(file: Path) -> None:
    ids = {keep_rule(file, MAKE, by="ada", at=str(n)).rule_id for n in range(3)}
    assert len(ids) == len(read_granted(file)) == 1


def test_revoking_takes_out_what_is_named_and_nothing_else(file: Path) -> None:
    make, notes = (keep_rule(file, rule, by="ada", at="") for rule in (MAKE, NOTES))
    assert revoke_rules(file, {make.rule_id, "unknown"}) == (make,)
    assert read_granted(file) == (notes,)
    assert revoke_rules(file, None) == (notes,)
    assert read_granted(file) == ()
    assert "given" not in json.loads(file.read_bytes())


def test_where_nothing_was_kept_nothing_is_revoked_or_made(file: Path) -> None:
    assert revoke_rules(file, None) == ()
    assert not file.parent.exists()


def test_rules_written_by_hand_are_kept_when_one_is_added(file: Path) -> None:
    file.parent.mkdir(parents=True)
    by_hand = [{"effect": "deny", "tool": "bash", "reason": "no — never"}]
    file.write_text(json.dumps(by_hand), encoding="utf-8")
    keep_rule(file, MAKE, by="ada", at="")
    first, second = read_granted(file)
    assert (first.rule.effect, first.rule.reason, first.given_by) == ("deny", "no — never", "")
    assert second.rule == MAKE


@pytest.mark.parametrize("text", ["{", "", '{"rules": [], "x": 1}', '{"rules": [], "given": 3}',
                                  '{"rules": [], "given": {"a": {"by": 3}}}'])  # fmt: skip
def test_a_broken_file_is_refused_in_words_and_kept_as_it_is(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="granted.json"):
        keep_rule(file, MAKE, by="ada", at="")
    with pytest.raises(ConfigError, match="granted.json"):
        revoke_rules(file, None)
    assert file.read_text(encoding="utf-8") == text


def test_a_link_to_a_file_of_the_folder_stays_a_link(file: Path) -> None:
    file.parent.mkdir(parents=True)
    file.symlink_to("kept-elsewhere.json")
    keep_rule(file, MAKE, by="ada", at="")
    assert file.is_symlink()
    assert file.with_name("kept-elsewhere.json").is_file()


def test_a_place_that_cannot_be_written_is_told_in_words(tmp_path: Path) -> None:
    (tmp_path / "state").touch()
    with pytest.raises(StorageError, match="cannot be changed"):
        keep_rule(tmp_path / "state/rules/granted.json", MAKE, by="ada", at="")


def test_a_book_has_the_rules_of_this_moment(file: Path, tmp_path: Path) -> None:
    book = RuleBook([NOTES], GrantedRules(file, tmp_path))
    assert list(book) == [NOTES]
    kept = keep_rule(file, MAKE, by="ada", at="")
    assert list(book) == [NOTES, MAKE]
    revoke_rules(file, [kept.rule_id])
    assert list(book) == [NOTES]


def test_a_rule_of_one_project_counts_there_alone_and_means_its_paths(file: Path) -> None:
    keep_rule(file, NOTES, by="ada", at="")
    assert [rule.path for rule in GrantedRules(file, Path("/w")).rules()] == ["notes.md"]
    assert [rule.path for rule in GrantedRules(file, Path("/w/sub")).rules()] == ["/w/notes.md"]
    for elsewhere in ("/", "/w2", "/v/w"):
        assert GrantedRules(file, Path(elsewhere)).rules() == ()


def test_a_file_that_breaks_while_an_agent_runs_makes_every_call_ask(file: Path) -> None:
    keep_rule(file, MAKE, by="ada", at="")
    granted = GrantedRules(file, Path("/w"))
    assert granted.rules() == (MAKE,)
    file.write_text("broken", encoding="utf-8")
    (asking,) = granted.rules()
    assert (asking.effect, asking.tool, asking.path) == ("ask", "*", None)
    file.unlink()
    assert granted.rules() == ()
