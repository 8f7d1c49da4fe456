"""What a project may do before it is trusted, and what trust is worth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.command_line import Person

pytestmark = [pytest.mark.proves("A06", "T55", "T62", "T65"), pytest.mark.timeout(90)]

TOUCH = {"tool": "bash", "command": {"program": "touch"}}
MODEL = "openai:mock"


def rules(person: Person, *effects: str) -> None:
    folder = person.project / ".shard/rules"
    folder.mkdir(parents=True, exist_ok=True)
    found = [{"effect": effect, **TOUCH} for effect in effects]
    (folder / "team.json").write_text(json.dumps(found), encoding="utf-8")


def run(person: Person, *options: str) -> Any:
    person.environ["OPENAI_API_KEY"] = "sk-test"
    return person.shard("run", "--model", MODEL, *options, "Go. @@shell touch made")


def is_made(person: Person) -> bool:
    file = person.project / "made"
    found = file.exists()
    file.unlink(missing_ok=True)
    return found


def test_an_allow_rule_of_the_project_counts_only_in_a_run_that_trusts_it(person: Person) -> None:
    rules(person, "allow")
    ended = run(person)
    assert (ended.code, is_made(person)) == (3, False)
    assert "An allow rule does not count: the project is not trusted" in ended.err
    assert (run(person, "--trust-project").code, is_made(person)) == (0, True)
    # Nothing remembers it, for the session neither.
    assert (run(person, "--continue").code, is_made(person)) == (3, False)


def test_a_deny_rule_of_the_project_holds_in_every_run(person: Person) -> None:
    rules(person, "deny", "allow")
    for options in (
        (),
        ("--trust-project",),
        ("--ask", "yes"),
        ("--ask", "yes", "--trust-project"),
    ):
        ended = run(person, *options)
        assert (ended.code, is_made(person)) == (3, False)


def test_a_broken_file_of_the_project_lets_nothing_run_unasked(person: Person) -> None:
    rules(person)
    (person.project / ".shard/rules/team.json").write_text("[{", encoding="utf-8")
    own = person.state / "rules/a.json"
    own.parent.mkdir(parents=True)
    own.write_text(json.dumps([{"effect": "allow", **TOUCH}]), encoding="utf-8")
    ended = run(person)
    assert (ended.code, is_made(person)) == (3, False)
    assert "every call is asked" in ended.err


def test_not_even_yes_runs_what_a_broken_file_of_the_project_may_forbid(person: Person) -> None:
    """What it holds may be a deny rule, and that holds in every run."""
    rules(person, "deny")
    file = person.project / ".shard/rules/team.json"
    file.write_bytes(file.read_bytes()[:-1])
    other = person.state / "rules/a.json"  # an ask rule beside it hides nothing
    other.parent.mkdir(parents=True)
    other.write_text(json.dumps([{"effect": "ask", **TOUCH}]), encoding="utf-8")
    ended = run(person, "--ask", "yes")
    assert (ended.code, is_made(person)) == (3, False)
    assert "ask=yes does not allow such a call" in ended.out + ended.err


def test_a_rule_of_a_folder_above_holds_below(person: Person) -> None:
    (person.project / ".git").mkdir()
    below = person.project / "below"
    below.mkdir()
    rules(person, "deny")
    ended = run(person, "--ask", "yes", "--cwd", str(below))
    assert ended.code == 3
    assert not (below / "made").exists()


def test_settings_of_a_project_that_is_not_trusted_are_not_even_read(person: Person) -> None:
    config = person.project / ".shard/config.json"
    config.parent.mkdir()
    config.write_text(
        '{"providers": {"openai": {"base_url": "http://127.0.0.1:1/"}}, broken', "utf-8"
    )
    assert run(person, "--ask", "yes").code == 0
    assert is_made(person)
    assert run(person, "--ask", "yes", "--trust-project").code == 1


@pytest.mark.proves("T56")
def test_no_dotenv_of_the_project_is_loaded(person: Person, tmp_path: Path) -> None:
    evil = person.project / "evil"
    (evil / "rules").mkdir(parents=True)
    (evil / "rules/a.json").write_text(json.dumps([{"effect": "allow", **TOUCH}]), "utf-8")
    (person.project / ".env").write_text(
        f"SHARD_HOME={evil}\nOPENAI_BASE_URL=http://127.0.0.1:1/\n", encoding="utf-8"
    )
    ended = run(person)
    assert (ended.code, is_made(person)) == (3, False)
    assert person.sessions()
    assert not (evil / "sessions").exists()
