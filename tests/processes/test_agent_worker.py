"""A real worker process serves the commands of an agent to a client without an event loop."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shard_jupyter.contracts.runtime import SteerReply
from shard_jupyter.errors import (
    AgentBusy,
    CommandError,
    ShardError,
    UnknownMode,
    UnknownModel,
    UsageError,
)
from shard_jupyter.protocol.agent_commands import (
    Abort,
    PermissionResponse,
    Prompt,
    SetMode,
    SetModel,
    Steer,
)
from shard_jupyter.protocol.registry_commands import (
    AgentAttach,
    AgentStatusCommand,
)
from shard_jupyter.protocol.results import (
    Aborted,
    AnswerTaken,
    Attached,
    PromptAccepted,
)
from shard_jupyter.types.agents import AgentInfo
from tests.fakes.model_server import MockModel
from tests.worker_rig import WorkerRig, shell

pytestmark = pytest.mark.proves("B02", "B04")


def entries_of(log: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in log.read_bytes().split(b"\n") if line]


class TestPrompt:
    def test_a_turn_streams_to_its_end(self, rig: WorkerRig) -> None:
        agent = rig.create()
        listener = rig.listen(agent)
        turn_id = rig.prompt(agent, "hi", turn_id="turn-mine")
        end = listener.until("turn_end")
        assert turn_id == end.turn_id == "turn-mine"
        assert end.outcome == "completed"
        assert end.text == listener.text() != ""
        durable = [one.seq for one in listener.came if one.type != "message_delta"]
        assert durable == sorted(set(durable))
        assert listener.came[0].type == "turn_start"

    def test_the_prompt_is_on_disk_when_its_reply_comes(self, rig: WorkerRig) -> None:
        agent = rig.create()
        rig.prompt(agent, "a prompt to keep @@quirk hang_start @@")
        (log,) = rig.sessions()
        assert "a prompt to keep" in json.dumps(entries_of(log))

    def test_a_second_prompt_is_refused_while_one_runs(self, rig: WorkerRig) -> None:
        agent = rig.create()
        listener = rig.listen(agent)
        rig.prompt(agent, "one @@quirk hang @@")
        refused = rig.refused(Prompt, PromptAccepted, agent_id=agent.id, text="two")
        assert type(refused) is AgentBusy
        assert refused.next_step
        queued = {"agent_id": agent.id, "text": "three", "when_busy": "queue"}
        assert rig.refused(Prompt, PromptAccepted, **queued).code == "unsupported"
        assert rig.ask(Abort, Aborted, agent_id=agent.id).interrupted is True
        assert listener.until("turn_end").outcome == "interrupted"
        starts = [one for one in listener.came if one.type == "turn_start"]
        assert [one.prompt[:3] for one in starts] == ["one"], "a refused prompt is no event"

    def test_the_next_prompt_may_follow_the_end_at_once(self, rig: WorkerRig) -> None:
        agent = rig.create()
        listener = rig.listen(agent)
        for number in range(5):
            rig.prompt(agent, f"prompt {number}")
            assert listener.until("turn_end").outcome == "completed"

    @pytest.mark.parametrize(
        ("fields", "kind", "code"),
        [
            ({"text": "  \n"}, UsageError, "usage"),
            ({"text": "hi", "budget": "a lot"}, UsageError, "usage"),
            ({"text": "hi", "budget": "$1.50"}, UsageError, "usage"),
            ({"text": "hi", "record": "relative.jsonl"}, UsageError, "usage"),
            ({"text": "hi", "record": "/no/such/folder/c.jsonl"}, UsageError, "usage"),
            ({"text": "hi", "timeout_seconds": 0}, CommandError, "schema"),
            ({"text": "hi", "ask": "perhaps"}, CommandError, "schema"),
        ],
        ids=["blank", "budget", "money", "relative", "record", "time", "ask"],
    )
    def test_a_prompt_that_cannot_be_used_is_refused_and_is_no_event(
        self, rig: WorkerRig, fields: dict[str, object], kind: type[ShardError], code: str
    ) -> None:
        agent = rig.create()
        listener = rig.listen(agent)
        refused = rig.refused(Prompt, PromptAccepted, agent_id=agent.id, **fields)
        assert (type(refused), refused.code) == (kind, code)
        rig.prompt(agent, "good")
        listener.until("turn_end")
        assert [one.prompt for one in listener.came if one.type == "turn_start"] == ["good"]

    def test_a_time_limit_stops_the_turn(self, rig: WorkerRig) -> None:
        agent = rig.create()
        listener = rig.listen(agent)
        rig.prompt(agent, "hi @@quirk hang @@", timeout_seconds=0.3)
        end = listener.until("turn_end")
        assert (end.outcome, end.error.code) == ("limit_reached", "timeout")

    def test_a_budget_stops_this_turn_only(self, rig: WorkerRig) -> None:
        agent = rig.create()
        listener = rig.listen(agent)
        rig.prompt(agent, shell("true", times=20), budget="200")
        assert listener.until("turn_end").outcome == "limit_reached"
        rig.prompt(agent, "hi")
        assert listener.until("turn_end").outcome == "completed"

    def test_who_decides_can_be_said_for_one_turn(self, rig: WorkerRig) -> None:
        agent = rig.create(ask="yes")
        listener = rig.listen(agent)
        rig.prompt(agent, shell("echo x >> MARK"), ask="deny")
        assert [one.tool for one in listener.until("turn_end").denials] == ["bash"]
        rig.prompt(agent, shell("echo x >> MARK"))
        assert listener.until("turn_end").denials == ()
        assert (rig.project / "MARK").read_text(encoding="utf-8") == "x\n"

    def test_a_recorded_turn_is_played_by_another_agent(self, rig: WorkerRig) -> None:
        cassette = rig.project.parent / "c.jsonl"
        agent = rig.create()
        listener = rig.listen(agent)
        rig.prompt(agent, shell("echo x >> MARK"), record=str(cassette))
        recorded = listener.until("turn_end")
        player = rig.create(model=f"replay:{cassette}")
        listener = rig.listen(player)
        rig.prompt(player, shell("echo x >> MARK"), ask="yes")
        played = listener.until("turn_end")
        assert (played.outcome, played.text) == ("completed", recorded.text)
        assert (rig.project / "MARK").read_text(encoding="utf-8") == "x\nx\n"


class TestWhileATurnRuns:
    def test_a_question_is_answered_by_its_first_answer(self, rig: WorkerRig) -> None:
        agent = rig.create(ask="inline")
        listener = rig.listen(agent)
        rig.prompt(agent, shell("echo x > MARK"))
        request = listener.until("permission_request")
        while listener.until("status").status != "waiting-for-permission":
            pass
        status = rig.ask(AgentStatusCommand, AgentInfo, agent_id=agent.id)
        assert (status.status, status.pending, status.clients) == ("waiting-for-permission", 1, 1)
        fields = {"agent_id": agent.id, "request_id": request.request_id}
        wrong = rig.refused(
            PermissionResponse, AnswerTaken, decision="allow_always", rule={"no": "rule"}, **fields
        )
        assert (type(wrong), wrong.code) == (CommandError, "rule")
        good = {**fields, "decision": "allow"}
        assert rig.ask(PermissionResponse, AnswerTaken, **good).accepted is True
        assert rig.ask(PermissionResponse, AnswerTaken, **good).accepted is False
        assert listener.until("permission_resolved").by == "test"
        assert listener.until("turn_end").outcome == "completed"
        assert (rig.project / "MARK").exists()

    def test_an_offered_rule_is_taken_and_holds(self, rig: WorkerRig) -> None:
        agent = rig.create(ask="inline")
        listener = rig.listen(agent)
        rig.prompt(agent, shell("touch MARK", times=2))
        request = listener.until("permission_request")
        rule = request.offered_rules[0].model_dump(mode="json")
        taken = rig.ask(
            PermissionResponse,
            AnswerTaken,
            agent_id=agent.id,
            request_id=request.request_id,
            decision="allow_always",
            rule=rule,
        )
        assert taken.accepted is True
        assert listener.until("turn_end", "permission_request").type == "turn_end"

    def test_a_denial_with_a_note_reaches_the_model(
        self, rig: WorkerRig, mock_model: MockModel
    ) -> None:
        agent = rig.create(ask="inline")
        listener = rig.listen(agent)
        rig.prompt(agent, shell("echo x > MARK"))
        request = listener.until("permission_request")
        rig.ask(
            PermissionResponse,
            AnswerTaken,
            agent_id=agent.id,
            request_id=request.request_id,
            decision="deny",
            note="use the other file",
        )
        result = listener.until("tool_result")
        assert (result.status, "use the other file" in str(result.content)) == ("denied", True)
        assert not (rig.project / "MARK").exists()

    def test_an_observer_decides_nothing(self, rig: WorkerRig) -> None:
        agent = rig.create(ask="inline")
        rig.ask(AgentAttach, Attached, agent_id=agent.id, role="observer")
        rig.prompt(agent, shell("echo x > MARK"))
        attached = rig.ask(AgentAttach, Attached, agent_id=agent.id, role="observer")
        while not attached.permission_requests:
            attached = rig.ask(AgentAttach, Attached, agent_id=agent.id, role="observer")
        (request,) = attached.permission_requests
        fields = {"agent_id": agent.id, "request_id": request.request_id, "decision": "allow"}
        assert rig.ask(PermissionResponse, AnswerTaken, **fields).accepted is False
        rig.ask(AgentAttach, Attached, agent_id=agent.id)
        assert rig.ask(PermissionResponse, AnswerTaken, **fields).accepted is True

    def test_an_abort_sent_right_behind_its_prompt_stops_that_turn(self, rig: WorkerRig) -> None:
        agent = rig.create()
        listener = rig.listen(agent)
        fields = {"agent_id": agent.id, "turn_id": "turn-1"}
        prompt = rig.connection.request(Prompt, PromptAccepted, text="@@quirk hang @@", **fields)
        assert rig.ask(Abort, Aborted, **fields).interrupted is True
        assert prompt.result(20).turn_id == "turn-1"
        assert listener.until("turn_end").outcome == "interrupted"

    def test_an_abort_of_another_turn_stops_nothing(self, rig: WorkerRig) -> None:
        agent = rig.create()
        rig.prompt(agent, "@@quirk hang @@", turn_id="turn-1")
        other = {"agent_id": agent.id, "turn_id": "turn-0"}
        assert rig.ask(Abort, Aborted, **other).interrupted is False
        assert rig.ask(Abort, Aborted, agent_id=agent.id).interrupted is True
        assert rig.ask(Abort, Aborted, agent_id=agent.id).interrupted is False

    def test_a_steer_is_injected_or_a_conflict(self, rig: WorkerRig) -> None:
        agent = rig.create()
        listener = rig.listen(agent)
        turn_id = rig.prompt(agent, shell("until [ -e GO ]; do sleep 0.01; done"))
        listener.until("tool_call")
        fields = {"agent_id": agent.id, "turn_id": turn_id, "text": "also this"}
        steer = rig.connection.request(Steer, SteerReply, **fields)
        (rig.project / "GO").touch()
        assert steer.result(20).status == "injected"
        assert listener.until("steer_injected").text == "also this"
        listener.until("turn_end")
        assert rig.ask(Steer, SteerReply, **fields).status == "conflict"

    @pytest.mark.parametrize(
        ("command", "change"), [(SetMode, {"mode": "plan"}), (SetModel, {"model": "openai:other"})]
    )
    def test_mode_and_model_are_not_changed_under_a_turn(
        self, rig: WorkerRig, command: type, change: dict[str, str]
    ) -> None:
        agent = rig.create()
        rig.prompt(agent, "@@quirk hang @@")
        refused = rig.refused(command, AgentInfo, agent_id=agent.id, **change)
        assert type(refused) is AgentBusy
        rig.ask(Abort, Aborted, agent_id=agent.id)
        changed = rig.ask(command, AgentInfo, agent_id=agent.id, **change)
        assert changed.model_dump().items() >= change.items()

    def test_a_prompt_behind_a_change_of_model_is_answered_by_the_new_one(
        self, rig: WorkerRig
    ) -> None:
        agent = rig.create()
        listener = rig.listen(agent)
        rig.connection.request(SetModel, AgentInfo, agent_id=agent.id, model="openai:other")
        rig.connection.request(SetMode, AgentInfo, agent_id=agent.id, mode="plan")
        rig.prompt(agent, "hi")
        start = listener.until("turn_start")
        assert (start.model, start.mode) == ("openai:other", "plan")

    @pytest.mark.parametrize(
        ("command", "change", "kind"),
        [
            (SetMode, {"mode": "nope"}, UnknownMode),
            (SetModel, {"model": "nope:x"}, UnknownModel),
        ],
    )
    def test_a_change_that_cannot_be_leaves_everything_as_it_was(
        self, rig: WorkerRig, command: type, change: dict[str, str], kind: type[ShardError]
    ) -> None:
        agent = rig.create()
        assert type(rig.refused(command, AgentInfo, agent_id=agent.id, **change)) is kind
        status = rig.ask(AgentStatusCommand, AgentInfo, agent_id=agent.id)
        assert (status.mode, status.model) == ("build", "openai:mock")
