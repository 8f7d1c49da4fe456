"""Several questions of one message: equal ones are one, and an answer may close others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shard_jupyter.testing.scripted_provider import call, calls
from shard_jupyter.types.events import AgentEvent, PermissionRequest
from tests.agent_rig import AgentRig
from tests.scenarios.test_permission_flow import WRITE, answer, run

pytestmark = pytest.mark.proves("A06", "T81")
AGAIN = call("write", path="a.txt", content="more\n")
APPEND = call("bash", command="echo x >> log")


async def test_a_grant_counts_from_the_moment_of_the_answer(tmp_path: Path) -> None:
    """The answer is given to the second question, while the first still waits."""
    questions: list[PermissionRequest] = []

    def keep(rig: AgentRig, request: PermissionRequest) -> None:
        questions.append(request)
        if len(questions) == 2:
            answer(rig, questions[1], "allow_always", rule=request.offered_rules[0])
            answer(rig, questions[0], "allow")

    rig = await run(tmp_path, calls(WRITE, AGAIN), keep, keep)
    assert [status for status, _ in rig.results()] == ["ok", "ok"]


async def test_a_denied_call_stays_denied_when_its_rule_is_granted(tmp_path: Path) -> None:
    """Both questions are open at once; the second is answered first."""
    questions: list[PermissionRequest] = []

    def keep(rig: AgentRig, request: PermissionRequest) -> None:
        questions.append(request)
        if len(questions) == 2:
            answer(rig, questions[1], "deny")
            answer(rig, questions[0], "allow_always", rule=request.offered_rules[0])

    rig = await run(tmp_path, calls(WRITE, AGAIN), keep, keep)
    assert [status for status, _ in rig.results()] == ["ok", "denied"]


@pytest.mark.parametrize("answered", [0, 1])
async def test_an_answer_for_always_closes_the_other_questions_that_it_covers_at_once(
    tmp_path: Path, answered: int
) -> None:
    """Also while somebody is asked for another call first, which stays open."""
    questions: list[PermissionRequest] = []
    told: list[tuple[str, str]] = []

    def keep(rig: AgentRig, request: PermissionRequest) -> None:
        questions.append(request)
        if len(questions) == 3:
            rule = questions[1].offered_rules[0]
            answer(rig, questions[1 + answered], "allow_always", rule=rule)

    def see(rig: AgentRig, event: AgentEvent) -> None:
        if event.type == "permission_resolved":
            told.append((event.call_id, event.by))
            if len(told) == 2:
                answer(rig, questions[0], "deny")

    other = call("bash", command="touch made")
    rig = await run(tmp_path, calls(other, WRITE, AGAIN), keep, keep, keep, on_event=see)
    assert [status for status, _ in rig.results()] == ["denied", "ok", "ok"]
    assert [by for _, by in told] == ["person", "gate", "person"]


async def test_what_a_grant_closed_is_asked_again_when_the_grant_is_revoked_before_it_runs(
    tmp_path: Path,
) -> None:
    """Nobody has said yes to the second call."""

    questions: list[PermissionRequest] = []

    def keep(rig: AgentRig, request: PermissionRequest) -> None:
        questions.append(request)
        if len(questions) == 2:
            answer(rig, questions[0], "allow_always", rule=questions[0].offered_rules[1])

    def see(rig: AgentRig, event: AgentEvent) -> None:
        if event.type == "permission_resolved" and event.by == "gate":
            rig.session.parts.grants.revoke(None)

    rig = await run(
        tmp_path,
        calls(call("bash", command="tally src/a"), call("bash", command="tally src/b")),
        keep,
        keep,
        lambda rig, q: answer(rig, q, "deny"),
        on_event=see,
    )
    assert [event.by for event in rig.seen("permission_resolved")] == ["person", "gate", "person"]
    assert rig.results()[-1][0] == "denied"


@pytest.mark.parametrize("decision", ["allow", "deny"])
async def test_equal_calls_of_a_message_are_asked_once_and_the_question_says_so(
    tmp_path: Path, decision: str
) -> None:
    rig = await run(tmp_path, calls(APPEND, APPEND), lambda rig, q: answer(rig, q, decision))
    [question] = rig.seen("permission_request")
    assert question.prompt == "Allow echo x >> log? (2 times)"
    assert [status for status, _ in rig.results()] == [
        {"allow": "ok", "deny": "denied"}[decision]
    ] * 2
    if decision == "allow":
        assert (rig.cwd / "log").read_text(encoding="utf-8") == "x\nx\n"
    told = [entry["decision"]["kind"] for entry in rig.stored if entry["type"] == "permission"]
    assert told == ["ask", decision, decision]


@pytest.mark.parametrize(
    "other",
    [
        call("bash", command="echo x >>  log"),
        call("bash", command="echo x >> log", timeout_seconds=5),
        call("write", path="log", content="x"),
    ],
)
async def test_calls_that_only_look_alike_are_asked_one_by_one(tmp_path: Path, other: Any) -> None:
    rig = await run(tmp_path, calls(APPEND, other), answer, lambda rig, q: answer(rig, q, "deny"))
    prompts = [question.prompt for question in rig.seen("permission_request")]
    assert not any("times" in prompt for prompt in prompts)
    assert [status for status, _ in rig.results()] == ["ok", "denied"]


async def test_an_edited_answer_is_for_the_first_of_equal_calls_alone(tmp_path: Path) -> None:
    edited = {"command": "echo x >> log", "timeout_seconds": 9}
    rig = await run(
        tmp_path,
        calls(APPEND, APPEND),
        lambda rig, q: answer(rig, q, arguments=edited),
        lambda rig, q: answer(rig, q, "deny"),
    )
    assert [status for status, _ in rig.results()] == ["ok", "denied"]
    first, second = rig.seen("permission_request")
    assert (first.prompt[-9:], second.prompt[-4:]) == ("(2 times)", "log?")


async def test_equal_writes_are_asked_one_by_one_as_each_finds_another_file(tmp_path: Path) -> None:
    rig = await run(
        tmp_path,
        calls(WRITE, WRITE),
        answer,
        lambda rig, q: None,
        lambda rig, q: answer(rig, q, "deny"),
    )
    assert [status for status, _ in rig.results()] == ["ok", "denied"]
    prompts = {question.prompt for question in rig.seen("permission_request")}
    assert prompts == {"Allow write a.txt?"}
