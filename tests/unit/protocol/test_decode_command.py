from __future__ import annotations

from typing import Any

import pytest

from shard_jupyter.errors import CommandError
from shard_jupyter.protocol.agent_commands import AGENT_COMMANDS, PermissionResponse, SessionOp
from shard_jupyter.protocol.decode_command import COMMANDS, decode_command
from shard_jupyter.protocol.decode_event import EVENTS
from shard_jupyter.protocol.registry_commands import REGISTRY_COMMANDS
from shard_jupyter.protocol.results import RESULTS

pytestmark = pytest.mark.proves("A02")

COMMON = {"v": 1, "id": "c1", "agent_id": "a"}
PROMPT = {**COMMON, "type": "prompt", "text": "hi"}
ANSWER = {**COMMON, "type": "permission_response", "request_id": "r"}
OP = {**COMMON, "type": "session_op"}


def refused(record: dict[str, Any]) -> CommandError:
    with pytest.raises(CommandError) as caught:
        decode_command(record)
    return caught.value


def test_every_command_of_the_design_has_a_model_and_a_result() -> None:
    agent = {command.model_fields["type"].default for command in AGENT_COMMANDS}
    assert agent == {
        *("prompt", "steer", "subscribe", "permission_response", "ui_response", "abort"),
        *("session_op", "set_mode", "set_model", "rename", "tool_response"),
        *("queue_list", "queue_edit", "queue_remove"),
    }
    registry = {command.model_fields["type"].default for command in REGISTRY_COMMANDS}
    assert registry == {
        *("agent.list", "agent.create", "agent.kill", "agent.attach", "agent.status"),
        "daemon.shutdown",
    }
    assert RESULTS.keys() == COMMANDS.keys() == {"hello", *agent, *registry}


def test_no_type_is_said_in_both_directions() -> None:
    assert not COMMANDS.keys() & {*EVENTS, "reply"}


class TestVersion:
    @pytest.mark.parametrize("version", [0, 2, 99, -1])
    def test_another_version_is_refused_by_name_before_anything_else(self, version: int) -> None:
        error = refused({"v": version, "type": "from_the_future", "id": "c1"})
        assert (error.code, error.command_id) == ("version", "c1")
        assert f"{version}" in error.message

    @pytest.mark.parametrize("version", [True, 1.0, "1", None, [1]])
    def test_what_is_no_whole_number_is_no_version(self, version: object) -> None:
        assert refused({**PROMPT, "v": version}).code == "schema"


class TestType:
    def test_unknown_type_is_an_error_with_the_id(self) -> None:
        error = refused({"v": 1, "type": "launch", "id": "c1"})
        assert (error.code, error.command_id) == ("unknown_type", "c1")

    @pytest.mark.parametrize("tag", ["tool_call", "agent.spawned", "resync", "reply"])
    def test_what_a_server_says_is_the_wrong_direction(self, tag: str) -> None:
        assert refused({**PROMPT, "type": tag}).code == "direction"

    @pytest.mark.parametrize("tag", [None, 1, ["prompt"], {}])
    def test_type_that_is_no_text_is_refused(self, tag: object) -> None:
        assert refused({**PROMPT, "type": tag}).code == "schema"

    def test_huge_type_is_not_repeated(self) -> None:
        assert len(refused({**PROMPT, "type": "x" * 1_000_000}).message) < 200


class TestIds:
    BAD = (None, 1, {}, [], "", "x" * 65, "c\n", "\nc", "c\0", "..", "a/b", "ｃ", "\uff0e\uff0e")

    @pytest.mark.parametrize("bad", BAD, ids=repr)
    def test_bad_id_is_refused_and_not_echoed(self, bad: object) -> None:
        error = refused({**PROMPT, "id": bad})
        assert (error.code, error.command_id) == ("schema", None)

    @pytest.mark.parametrize("bad", BAD, ids=repr)
    def test_bad_agent_id_is_refused_with_the_id_of_the_command(self, bad: object) -> None:
        error = refused({**PROMPT, "agent_id": bad})
        assert (error.code, error.command_id) == ("schema", "c1")

    def test_longest_id_passes(self) -> None:
        assert decode_command({**PROMPT, "id": "Az09_-" + "x" * 58}).id.endswith("x")


class TestFields:
    def test_unknown_field_is_ignored(self) -> None:
        plain = decode_command(PROMPT)
        assert decode_command({**PROMPT, "future": 1, "__proto__": {"admin": True}}) == plain

    def test_missing_field_is_named_and_its_value_is_not_repeated(self) -> None:
        assert refused({"v": 1, "type": "prompt", "id": "c1", "agent_id": "a"}).message.startswith(
            "text: "
        )
        assert "secret" not in refused({**PROMPT, "text": ["secret"]}).message

    @pytest.mark.parametrize("cursor", [True, False, "1", 1.0, -1, 2**53])
    def test_cursor_is_a_whole_number_and_no_truth_value(self, cursor: object) -> None:
        record = {"v": 1, "type": "subscribe", "id": "c1", "agent_id": "a", "cursor": cursor}
        assert refused(record).code == "schema"

    @pytest.mark.parametrize("flag", [1, 0, "true", "yes", None])
    def test_flag_is_a_truth_value_and_nothing_like_it(self, flag: object) -> None:
        record = {"v": 1, "type": "agent.create", "id": "c1", "cwd": "/w", "trusted": flag}
        assert refused(record).code == "schema"

    def test_rule_with_a_condition_that_is_not_known_is_refused(self) -> None:
        rule = {"effect": "allow", "tool": "bash", "pattern": "ls *"}
        record = {"v": 1, "type": "agent.create", "id": "c1", "cwd": "/w", "permissions": [rule]}
        assert refused(record).code == "schema"
        del rule["pattern"]
        decode_command(record)


class TestPermissionResponse:
    @pytest.mark.parametrize("decision", ["ALLOW", "yes", "ask", True, 1, ["allow"], {}, None])
    def test_decision_is_one_of_three_exact_words(self, decision: object) -> None:
        assert refused({**ANSWER, "decision": decision}).code == "schema"

    @pytest.mark.parametrize("decision", ["allow", "deny"])
    def test_rule_goes_with_allow_always_only(self, decision: str) -> None:
        error = refused({**ANSWER, "decision": decision, "rule": {"effect": "allow"}})
        assert error.code == "schema"

    @pytest.mark.parametrize("decision", ["allow_always", "deny"])
    def test_edited_arguments_go_with_allow_only(self, decision: str) -> None:
        assert refused({**ANSWER, "decision": decision, "arguments": {}}).code == "schema"

    def test_rule_is_read_as_it_is_so_that_it_can_be_compared(self) -> None:
        record = {**ANSWER, "decision": "allow_always", "rule": {"tool": "*", "x": 1}}
        command = decode_command(record)
        assert isinstance(command, PermissionResponse)
        assert command.rule == {"tool": "*", "x": 1}


class TestSessionOp:
    @pytest.mark.parametrize("op", ["branch", "switch"])
    def test_branch_and_switch_say_where_to(self, op: str) -> None:
        assert refused({**OP, "op": op}).code == "schema"
        assert isinstance(decode_command({**OP, "op": op, "entry_id": "e"}), SessionOp)

    @pytest.mark.parametrize("op", ["compact", "fork", "list", "tree", "undo", "grants", "revoke"])
    def test_the_others_need_nothing(self, op: str) -> None:
        decode_command({**OP, "op": op})

    @pytest.mark.parametrize("limit", [0, 1001, True])
    def test_page_size_is_bounded(self, limit: object) -> None:
        assert refused({**OP, "op": "list", "limit": limit}).code == "schema"
