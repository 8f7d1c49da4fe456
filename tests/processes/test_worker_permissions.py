"""Questions of an agent in a process of its own: nobody attached, somebody late, nobody at all."""

from __future__ import annotations

import json

import pytest

from shard_jupyter.errors import ShardError
from shard_jupyter.protocol.agent_commands import PermissionResponse
from shard_jupyter.protocol.registry_commands import (
    AgentAttach,
    AgentKill,
    AgentStatusCommand,
)
from shard_jupyter.protocol.results import AnswerTaken, Attached
from shard_jupyter.surfaces.render_static.record.record_items import StepItem
from shard_jupyter.surfaces.render_static.turn_record import TurnRecorder
from shard_jupyter.types.agents import AgentInfo
from shard_jupyter.types.events import PermissionRequest
from tests.worker_rig import Listener, WorkerRig, shell, wait_for

pytestmark = pytest.mark.proves("A06", "B06")
WRITE = "echo x >> MARK"


def raise_question(rig: WorkerRig) -> AgentInfo:
    """An agent whose question was raised while nobody listened."""
    agent = rig.create(ask="inline")
    rig.prompt(agent, shell(WRITE))

    def is_raised() -> bool:
        return rig.ask(AgentStatusCommand, AgentInfo, agent_id=agent.id).pending == 1

    wait_for(is_raised, "the question is raised")
    return agent


def attach(rig: WorkerRig, agent: AgentInfo) -> tuple[PermissionRequest, ...]:
    return rig.ask(AgentAttach, Attached, agent_id=agent.id).permission_requests


def answer(rig: WorkerRig, agent: AgentInfo, request_id: str, decision: str = "allow") -> bool:
    fields = {"agent_id": agent.id, "request_id": request_id, "decision": decision}
    return rig.ask(PermissionResponse, AnswerTaken, **fields).accepted


@pytest.mark.proves("H4a.09", "H4a.10")
def test_a_question_that_nobody_saw_comes_with_the_answer_to_whoever_attaches(
    rig: WorkerRig,
) -> None:
    agent = raise_question(rig)
    [request] = attach(rig, agent)
    assert request.arguments == {"command": WRITE}
    assert attach(rig, agent) == (request,), "as often as somebody attaches"
    listener = rig.listen(agent)
    assert answer(rig, agent, request.request_id)
    assert listener.until("permission_resolved").request_id == request.request_id
    assert listener.until("turn_end").outcome == "completed"
    assert (rig.project / "MARK").read_text(encoding="utf-8") == "x\n"
    assert [one for one in listener.came if one.type == "permission_request"] == []


@pytest.mark.proves("H4a.09", "H4a.13", "T79")
def test_a_question_that_ended_with_its_agent_is_on_record_and_its_answer_runs_nothing(
    rig: WorkerRig,
) -> None:
    agent = raise_question(rig)
    [request] = attach(rig, agent)
    rig.ask(AgentKill, AgentInfo, agent_id=agent.id)
    [log] = rig.sessions()
    entries = [json.loads(line) for line in log.read_bytes().split(b"\n") if line]
    decisions = [entry["decision"] for entry in entries if entry["type"] == "permission"]
    assert [one["kind"] for one in decisions] == ["ask", "deny"]
    again = rig.create(ask="inline", session_id=agent.session_id)
    assert attach(rig, again) == ()
    assert answer(rig, again, request.request_id) is False
    assert not (rig.project / "MARK").exists()


@pytest.mark.proves("H4a.13", "T79")
@pytest.mark.parametrize("decision", ["allow", "deny"])
def test_an_answer_to_a_question_of_another_agent_or_an_old_one_changes_nothing(
    rig: WorkerRig, decision: str
) -> None:
    agent, other = raise_question(rig), rig.create(ask="inline")
    [request] = attach(rig, agent)
    attach(rig, other)
    assert answer(rig, other, request.request_id) is False
    assert answer(rig, agent, "req-never") is False
    listener = rig.listen(agent)
    assert answer(rig, agent, request.request_id, decision)
    listener.until("turn_end")
    assert answer(rig, agent, request.request_id) is False
    written = (rig.project / "MARK").read_text(encoding="utf-8") if decision == "allow" else ""
    assert written == ("x\n" if decision == "allow" else "")
    assert (rig.project / "MARK").exists() is (decision == "allow")


def card_of(listener: Listener, turn_id: str) -> str:
    """The state of the one question, as a view shows it that saw these events."""
    recorder = TurnRecorder(agent="n", prompt="p", deterministic=True, turn_id=turn_id)
    for event in listener.came:
        recorder.take(event)
    [step] = [item for item in recorder.record().items if isinstance(item, StepItem)]
    return step.approvals[-1].state


@pytest.mark.proves("H4a.11", "T79")
def test_a_card_stays_until_the_resolved_event_says_how_it_ended(rig: WorkerRig) -> None:
    agent = rig.create(ask="inline")
    views = [rig.listen(agent), rig.listen(agent)]
    turn = rig.prompt(agent, shell(WRITE))
    [request_id] = {view.until("permission_request").request_id for view in views}
    assert [card_of(view, turn) for view in views] == ["waiting", "waiting"]
    wider = {"effect": "allow", "tool": "bash"}
    with pytest.raises(ShardError, match="one of the rules that the request offers"):
        rig.ask(
            PermissionResponse, AnswerTaken, agent_id=agent.id, request_id=request_id,
            decision="allow_always", rule=wider,
        )  # fmt: skip
    assert answer(rig, agent, request_id, "deny")
    # That an answer was taken is no event: a view that has not heard how it ended still waits.
    assert [card_of(view, turn) for view in views] == ["waiting", "waiting"]
    for view in views:
        view.until("permission_resolved")
    assert [card_of(view, turn) for view in views] == ["denied", "denied"]


@pytest.mark.proves("H4a.14")
@pytest.mark.parametrize("headless", ["deny", "allow_if_rule_matches"])
def test_where_nobody_can_be_asked_it_ends_by_policy_and_names_the_rule(
    rig: WorkerRig, headless: str
) -> None:
    agent = rig.create(ask=None, headless=headless)
    listener = rig.listen(agent)
    rig.prompt(agent, shell("touch MARK; mkdir OTHER"))
    [denial] = listener.until("turn_end").denials
    rules = json.loads(denial.would_allow)
    assert [rule["command"]["program"] for rule in rules] == ["touch", "mkdir"]
    assert not (rig.project / "MARK").exists()
    permitted = rig.create(ask=None, headless="allow_if_rule_matches", permissions=tuple(rules))
    listener = rig.listen(permitted)
    rig.prompt(permitted, shell("touch MARK; mkdir OTHER"))
    assert listener.until("turn_end").denials == ()
    assert (rig.project / "MARK").exists()
