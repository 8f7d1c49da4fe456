"""How long an "always" holds, from the answer to the file and back, and how it is revoked."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from shard_jupyter import Shard
from shard_jupyter.core.permissions.rule_files.agent_grants import NAME
from shard_jupyter.surfaces.sdk.approvals import ApprovalAnswer
from shard_jupyter.testing.scripted_provider import ScriptedProvider, call, say
from shard_jupyter.types.events import AgentEvent
from tests.scenarios.command_line import Person, one_line

pytestmark = [pytest.mark.proves("A06"), pytest.mark.timeout(90)]

WRITE = call("write", path="a.txt", content="x")


class Talk:
    """One agent after another, each of which writes `a.txt`; the person says always."""

    def __init__(self, state: Path, keep: Any) -> None:
        self.environ = {"HOME": str(state.parent), "SHARD_HOME": str(state), "PATH": os.defpath}
        self.keep = keep
        self.asked = 0
        self.notices: list[str] = []
        self.between: Callable[[], None] | None = None

    async def prompt(self, cwd: Path, session: str | None = None, times: int = 1) -> str:
        cwd.mkdir(exist_ok=True)
        provider = ScriptedProvider([step for _ in range(times) for step in (WRITE, say("ok"))])
        with anyio.fail_after(30):
            agent = Shard(
                cwd=cwd,
                provider=provider,
                session=session,
                on_approval=self._answer,
                environ=self.environ,
            )
            agent.subscribe(self._note)
            async with agent:
                for _ in range(times):
                    await agent.prompt("go", check=False)
                    if self.between:
                        await anyio.to_thread.run_sync(self.between)
                return agent.session_id

    async def _answer(self, request: Any) -> ApprovalAnswer:
        self.asked += 1
        rule = request.offered_rules[0]
        return ApprovalAnswer(decision="allow_always", rule=rule, keep=self.keep)

    def _note(self, event: AgentEvent) -> None:
        if event.type == "notice":
            self.notices.append(event.message)


@pytest.mark.parametrize(
    ("keep", "asked"),
    [("session", [1, 2, 3, 4]), ("agent", [1, 1, 2, 3]), ("project", [1, 1, 1, 2]),
     ("everywhere", [1, 1, 1, 1])],
)  # fmt: skip
async def test_always_holds_as_long_and_as_far_as_the_person_says(
    tmp_path: Path, keep: str, asked: list[int]
) -> None:
    talk, here = Talk(tmp_path / "state", keep), tmp_path / "here"
    session = await talk.prompt(here, times=2)
    found = [talk.asked]
    await talk.prompt(here, session)
    found.append(talk.asked)
    await talk.prompt(here)
    found.append(talk.asked)
    await talk.prompt(tmp_path / "there")
    found.append(talk.asked)
    assert found == asked
    assert talk.notices == []
    # Never in the project, where whoever writes to it could allow himself anything.
    assert sorted(path.name for path in here.iterdir()) == ["a.txt"]
    assert (tmp_path / "state/rules/granted.json").exists() == (keep in ("project", "everywhere"))
    assert bool(list(tmp_path.glob(f"state/sessions/*/{NAME}"))) == (keep == "agent")


@pytest.mark.parametrize("keep", ["agent", "project", "everywhere"])
async def test_a_revoke_reaches_the_agent_that_runs(
    tmp_path: Path, person: Person, keep: str
) -> None:
    talk = Talk(person.state, keep)

    def revoke() -> None:
        rows = json.loads(person.shard("grants", "--json").out)
        assert [row["scope"] for row in rows] == [keep]
        assert person.shard("grants", "revoke", rows[0]["id"]).code == 0

    talk.between = revoke
    await talk.prompt(tmp_path / "here", times=3)
    assert talk.asked == 3


async def test_a_rule_that_is_kept_counts_for_an_agent_that_runs_elsewhere(tmp_path: Path) -> None:
    other = Talk(tmp_path / "state", "everywhere")
    running = Talk(tmp_path / "state", "session")
    running.asked = -1  # the first question is not the point

    def keep_elsewhere() -> None:
        if other.asked == 0:
            asyncio.run(other.prompt(tmp_path / "there"))

    running.between = keep_elsewhere
    running._answer = _say_once(running)  # type: ignore[method-assign]
    await running.prompt(tmp_path / "here", times=2)
    assert (running.asked, other.asked) == (0, 1)


def _say_once(talk: Talk) -> Callable[[Any], Any]:
    async def once(request: Any) -> ApprovalAnswer:
        talk.asked += 1
        return ApprovalAnswer(decision="allow")

    return once


@pytest.mark.parametrize("keep", ["project", "everywhere"])
async def test_a_file_broken_by_hand_is_kept_and_the_answer_holds_for_the_session(
    tmp_path: Path, keep: str
) -> None:
    talk = Talk(tmp_path / "state", keep)
    file = tmp_path / "state/rules/granted.json"

    def break_it() -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{ broken", encoding="utf-8")

    original = talk._answer

    async def answer(request: Any) -> ApprovalAnswer:
        found = await original(request)
        await anyio.to_thread.run_sync(break_it)
        return found

    talk._answer = answer  # type: ignore[method-assign]
    await talk.prompt(tmp_path / "here")
    assert file.read_text(encoding="utf-8") == "{ broken"
    assert any("counts for this session only" in told for told in talk.notices)


async def test_damaged_grants_of_an_agent_are_told_and_grant_nothing(tmp_path: Path) -> None:
    talk = Talk(tmp_path / "state", "agent")
    session = await talk.prompt(tmp_path / "here")
    file = tmp_path / "state/sessions" / session / NAME
    file.write_bytes(file.read_bytes()[:-20])
    await talk.prompt(tmp_path / "here", session)
    assert talk.asked == 2
    assert any("Nothing of it counts" in told for told in talk.notices)


async def test_grants_are_listed_with_all_that_is_known_and_revoked_together(
    tmp_path: Path, person: Person
) -> None:
    here = tmp_path / "here"
    sessions = [
        await Talk(person.state, keep).prompt(here) for keep in ("agent", "project", "everywhere")
    ]
    rows = json.loads(person.shard("grants", "list", "--json").out)
    # The second agent's own question went unasked once the first rule was everywhere.
    assert [row["scope"] for row in rows] == ["project", "agent"]
    by_scope = {row["scope"]: row for row in rows}
    assert by_scope["project"]["where"] == by_scope["agent"]["where"] == str(here)
    assert by_scope["agent"]["session"] == sessions[0]
    assert all(row["given_by"] == "sdk" and row["given_at"] for row in rows)
    assert all(row["words"] == "allow write a.txt" for row in rows)
    shown = person.shard("grants")
    assert all(row["id"] in shown.out for row in rows)
    only = json.loads(person.shard("grants", "--json", "--session", sessions[0]).out)
    assert [row["scope"] for row in only] == ["agent"]
    assert person.shard("grants", "revoke", "--all").out.count("Revoked: ") == 2
    assert person.shard("grants").err == "You have allowed nothing for longer than a session.\n"


def test_what_cannot_be_revoked_is_told_in_one_line(person: Person) -> None:
    assert "There is no grant 'x'" in one_line(person.shard("grants", "revoke", "x").err)
    assert "no session" in one_line(person.shard("grants", "--session", "s-1").err)
    assert person.shard("grants", "revoke").code == 2
    assert person.shard("grants", "revoke", "x", "--all").code == 2


def test_a_broken_file_is_no_empty_list(person: Person) -> None:
    file = person.state / "rules/granted.json"
    file.parent.mkdir(parents=True)
    file.write_text("{", encoding="utf-8")
    for words in (("grants",), ("grants", "revoke", "--all")):
        ended = person.shard(*words)
        assert ended.code == 1
        assert "granted.json is not valid JSON" in ended.err
    assert file.read_text(encoding="utf-8") == "{"
