"""The sandbox as a person meets it: nothing configured, one option, one variable."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shard_jupyter.capabilities.sandbox.launch import find_machine
from tests.sandbox_rig import landlock_version
from tests.scenarios.command_line import MODELS, Person, read_events

WORKS = landlock_version() >= 6 and find_machine() is not None
needs_landlock = pytest.mark.skipif(not WORKS, reason="this kernel has no Landlock with scopes")


@pytest.fixture
def plain(person: Person) -> Person:
    """Who has configured nothing: the tests' own setting is gone."""
    del person.environ["SHARD_SANDBOX"]
    return person


@needs_landlock
@pytest.mark.proves("E09", "E09.writes", "E09.reads")
def test_without_any_setting_commands_are_locked_in(plain: Person) -> None:
    (plain.root / "letter").write_text("SECRET", encoding="utf-8")
    command = "cat ../letter; cat ../state/sessions/*/session.jsonl; echo x > ../out; echo in > in"
    ended = plain.run(f"go @@shell {command} @@", "--json")
    assert ended.code == 0, ended.err
    results = [event for event in read_events(ended.out) if event.type == "tool_result"]
    told = json.dumps([event.model_dump() for event in results])
    assert "SECRET" not in told
    assert "cat: ../letter: " in told, "each provider has its own words for it"
    assert not (plain.root / "out").exists()
    assert plain.lines("in") == ["in"]
    assert "sandbox.unavailable" not in ended.out


@needs_landlock
@pytest.mark.proves("E09")
@pytest.mark.parametrize("how", ["option", "variable", "file"])
def test_it_can_be_switched_off(plain: Person, how: str) -> None:
    options = ["--sandbox", "off"] if how == "option" else []
    if how == "variable":
        plain.environ["SHARD_SANDBOX"] = "off"
    elif how == "file":
        plain.configure(sandbox="off")
    plain.run("go @@shell echo x > ../out @@", *options)
    assert (plain.root / "out").exists()


@needs_landlock
@pytest.mark.proves("E09.required")
def test_the_option_goes_before_the_file(plain: Person) -> None:
    plain.configure(sandbox="off")
    plain.run("go @@shell echo x > ../out; echo y > in @@", "--sandbox", "required")
    assert not (plain.root / "out").exists()
    assert plain.lines("in") == ["y"]


@needs_landlock
@pytest.mark.proves("E09")
def test_daily_work_goes_on_inside(plain: Person) -> None:
    """What agents do all day: git with a commit, Python with a package, a temporary file."""
    (plain.root / ".gitconfig").write_text("[user]\n name = A\n email = a@b.example\n", "utf-8")
    commands = (
        "git init -q && echo a > a && git add a && git commit -qm one && git log --oneline | wc -l"
        " > MARK; python3 -c 'import json, tempfile, subprocess; tempfile.mkstemp();"
        ' subprocess.run(["ls"], check=True); print(1)\' >> MARK; sort MARK | uniq -c > /dev/null;'
        " mktemp > /dev/null && echo ok >> MARK; cat <(echo sub) >> MARK; echo x > /dev/null"
    )
    ended = plain.shard("run", "--ask", "yes", "--model", MODELS[0], f"go @@shell {commands} @@")
    assert ended.code == 0, ended.err
    assert plain.lines() == ["1", "MARK", "a", "1", "ok", "sub"]


@pytest.mark.proves("E09.missing")
def test_doctor_names_the_sandbox(plain: Person) -> None:
    found = json.loads(plain.shard("doctor", "--json").out)["checks"]
    told = [check for check in found if check["name"] == "sandbox"]
    assert told
    assert (told[0]["status"] == "ok") == WORKS or "bubblewrap" in told[0]["message"]


def test_a_wrong_value_is_refused_before_anything_runs(plain: Person, tmp_path: Path) -> None:
    plain.environ["SHARD_SANDBOX"] = "on"
    ended = plain.run("go")
    assert ended.code == 1
    assert "SHARD_SANDBOX" in ended.told
    assert plain.sessions() == []
