"""A real worker process makes, names, lists and ends agents, each with what it was given."""

from __future__ import annotations

import psutil
import pytest

from shard_jupyter.errors import (
    AgentClosed,
    ClientVisibleError,
    SessionNotFound,
    ShardError,
    UnknownMode,
    UnknownModel,
    UsageError,
    UserError,
    WriterBusy,
)
from shard_jupyter.protocol.agent_commands import (
    Abort,
    QueueList,
    Rename,
    SessionOp,
    Subscribe,
    UiResponse,
)
from shard_jupyter.protocol.registry_commands import (
    AgentAttach,
    AgentCreate,
    AgentKill,
    AgentListCommand,
    AgentStatusCommand,
)
from shard_jupyter.protocol.results import (
    Aborted,
    AgentList,
    AnswerTaken,
    Attached,
    Queue,
    SessionOpDone,
    Subscribed,
)
from shard_jupyter.types.agents import AgentInfo
from tests.worker_rig import WorkerRig, shell

pytestmark = pytest.mark.proves("B02", "B04")


class TestAgents:
    @pytest.mark.parametrize(
        ("fields", "kind"),
        [
            ({"model": "nope:x"}, UnknownModel),
            ({"model": None}, UnknownModel),
            ({"mode": "nope"}, UnknownMode),
            ({"cwd": "/no/such/folder"}, UsageError),
            ({"cwd": "relative"}, UsageError),
            ({"session_id": "session-none"}, SessionNotFound),
            ({"ask": "recorded"}, UsageError),
            ({"skills": ("x",)}, ClientVisibleError),
        ],
        ids=["model", "none", "mode", "cwd", "relative", "session", "ask", "skills"],
    )
    def test_an_agent_that_cannot_be_made_leaves_no_agent_and_no_session(
        self, rig: WorkerRig, fields: dict[str, object], kind: type[ShardError]
    ) -> None:
        given = {"cwd": str(rig.project), "model": "openai:mock", "environment": rig.environ}
        refused = rig.refused(AgentCreate, AgentInfo, name="mine", **{**given, **fields})
        assert type(refused) is kind
        assert refused.next_step
        assert rig.ask(AgentListCommand, AgentList).agents == ()
        assert rig.sessions() == []
        assert rig.create(name="mine").name == "mine", "the name is free again"

    def test_an_agent_without_a_key_is_refused_as_what_can_be_mended(self, rig: WorkerRig) -> None:
        environ = {name: value for name, value in rig.environ.items() if "KEY" not in name}
        given = {"cwd": str(rig.project), "model": "anthropic:x", "environment": environ}
        refused = rig.refused(AgentCreate, AgentInfo, **given)
        assert (type(refused), refused.code) == (UserError, "needs_login")
        assert refused.next_step.startswith("Set ANTHROPIC_API_KEY.")
        assert rig.sessions() == []

    def test_names_are_unique_and_come_free_again(self, rig: WorkerRig) -> None:
        first, second = rig.create(), rig.create(name="mine")
        assert (first.name, second.name) == ("agent-1", "mine")
        given = {"cwd": str(rig.project), "model": "openai:mock", "environment": rig.environ}
        taken = rig.refused(AgentCreate, AgentInfo, name="mine", **given)
        assert (type(taken), "'mine'" in str(taken)) == (UsageError, True)
        assert type(rig.refused(Rename, AgentInfo, agent_id=first.id, name="mine")) is UsageError
        assert rig.ask(Rename, AgentInfo, agent_id=second.id, name="yours").name == "yours"
        assert rig.ask(Rename, AgentInfo, agent_id=first.id, name="mine").name == "mine"
        assert {agent.name for agent in rig.ask(AgentListCommand, AgentList).agents} == {
            "mine",
            "yours",
        }

    def test_a_killed_agent_is_gone_and_its_session_is_taken_up_again(self, rig: WorkerRig) -> None:
        agent = rig.create(name="mine")
        listener = rig.listen(agent)
        rig.prompt(agent, "remember me @@quirk hang @@")
        killed = rig.ask(AgentKill, AgentInfo, agent_id=agent.id)
        assert (killed.runtime_state, killed.session_id) == ("stopped", agent.session_id)
        assert listener.until("turn_end").outcome == "interrupted"
        gone = rig.refused(AgentStatusCommand, AgentInfo, agent_id=agent.id)
        assert type(gone) is AgentClosed
        again = rig.create(name="mine", session_id=agent.session_id)
        assert again.session_id == agent.session_id
        page = rig.ask(SessionOp, SessionOpDone, agent_id=again.id, op="list")
        assert "remember me" in page.model_dump_json()

    def test_one_session_has_one_agent(self, rig: WorkerRig) -> None:
        agent = rig.create()
        given = {"cwd": str(rig.project), "model": "openai:mock", "environment": rig.environ}
        refused = rig.refused(AgentCreate, AgentInfo, session_id=agent.session_id, **given)
        assert type(refused) is WriterBusy

    def test_agents_work_side_by_side_and_one_failure_is_its_own(self, rig: WorkerRig) -> None:
        good, bad = rig.create(), rig.create(model="openai:other")
        heard, other = rig.listen(good), rig.listen(bad)
        rig.prompt(good, shell("until [ -e GO ]; do sleep 0.01; done"))
        rig.prompt(bad, "hi @@status 401 @@")
        assert other.until("turn_end").outcome == "failed"
        (rig.project / "GO").touch()
        assert heard.until("turn_end").outcome == "completed"
        assert {one.agent_id for one in heard.came} == {good.id}
        assert {one.agent_id for one in other.came} == {bad.id}

    def test_each_agent_has_the_environment_that_it_was_given(self, rig: WorkerRig) -> None:
        agent = rig.create(environment={**rig.environ, "COLOUR": "blue"})
        other = rig.create(environment={**rig.environ, "COLOUR": "red"})
        for one in (agent, other):
            listener = rig.listen(one)
            rig.prompt(one, shell("printenv COLOUR >> MARK"))
            listener.until("turn_end")
        assert (rig.project / "MARK").read_text(encoding="utf-8") == "blue\nred\n"
        assert "COLOUR" not in psutil.Process(rig.worker.pid).environ()

    def test_what_it_has_to_tell_at_its_opening_waits_for_the_first_listener(
        self, rig: WorkerRig
    ) -> None:
        agent = rig.create(environment={**rig.environ, "SHARD_MODLE": "x"})
        listener = rig.listen(agent)
        notice = listener.next()
        assert notice.type == "notice"
        assert notice.seq > 0
        assert "SHARD_MODLE" in notice.message

    def test_rules_and_the_headless_policy_come_with_the_agent(self, rig: WorkerRig) -> None:
        rule = {"effect": "allow", "tool": "bash", "command": {"program": "touch"}}
        agent = rig.create(ask=None, headless="allow_if_rule_matches", permissions=(rule,))
        listener = rig.listen(agent)
        rig.prompt(agent, shell("touch MARK"))
        assert listener.until("turn_end").denials == ()
        assert (rig.project / "MARK").exists()


class TestConversation:
    def test_pages_of_a_conversation_come_newest_first_and_join_up(self, rig: WorkerRig) -> None:
        agent = rig.create()
        listener = rig.listen(agent)
        for number in range(3):
            rig.prompt(agent, f"prompt {number}")
            listener.until("turn_end")
        op = {"agent_id": agent.id, "op": "list"}
        whole = rig.ask(SessionOp, SessionOpDone, **op)
        assert whole.more is False
        entries: list[object] = []
        before = None
        more = True
        while more:
            page = rig.ask(SessionOp, SessionOpDone, limit=2, entry_id=before, **op)
            assert len(page.entries) <= 2
            entries += page.entries
            before, more = page.entries[-1].id, page.more  # type: ignore[union-attr]
        assert tuple(entries) == whole.entries
        missing = rig.refused(SessionOp, SessionOpDone, entry_id="entry-none", **op)
        assert type(missing) is UsageError

    @pytest.mark.parametrize(
        ("command", "result", "fields"),
        [
            (SessionOp, SessionOpDone, {"op": "compact"}),
            (SessionOp, SessionOpDone, {"op": "undo"}),
            (SessionOp, SessionOpDone, {"op": "tree"}),
            (QueueList, Queue, {}),
            (UiResponse, AnswerTaken, {"request_id": "r"}),
            (Subscribe, Subscribed, {"cursor": 0}),
            (
                AgentAttach,
                Attached,
                {"tools": ({"name": "t", "description": "", "input_schema": {}},)},
            ),
        ],
        ids=["compact", "undo", "tree", "queue", "dialog", "history", "tools"],
    )
    def test_what_only_the_daemon_can_do_is_refused_by_its_code(
        self, rig: WorkerRig, command: type, result: type, fields: dict[str, object]
    ) -> None:
        agent = rig.create()
        listener = rig.listen(agent)
        rig.prompt(agent, "hi")
        listener.until("turn_end")
        refused = rig.refused(command, result, agent_id=agent.id, **fields)
        assert (type(refused), refused.code) == (ClientVisibleError, "unsupported")
        assert refused.next_step

    def test_attaching_shows_the_agent_as_it_is(self, rig: WorkerRig) -> None:
        agent = rig.create()
        listener = rig.listen(agent)
        turn_id = rig.prompt(agent, "hi @@quirk hang @@")
        attached = rig.ask(AgentAttach, Attached, agent_id=agent.id)
        assert attached.active_turn == turn_id
        assert attached.agent.status == "streaming"
        current = rig.ask(Subscribe, Subscribed, agent_id=agent.id, cursor=attached.cursor)
        assert current.cursor >= attached.cursor
        rig.ask(Abort, Aborted, agent_id=agent.id)
        end = listener.until("turn_end")
        seen = [one.seq for one in listener.came if one.type == "turn_end"]
        assert seen == [end.seq], "asking twice doubles nothing"
