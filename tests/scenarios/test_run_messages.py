"""What `shard run` says when it cannot do the work: one line, with what to do, and nothing written."""

from __future__ import annotations

import json

import pytest

from shard_jupyter.types.events import TurnEnd
from tests.fakes.model_server import MockModel
from tests.scenarios.command_line import MODELS, PersonHere, one_line, read_entries, read_events

pytestmark = pytest.mark.proves("B12", "A13")
KEY = "sk-abcdefghijklmnopqrstuvwxyz0123456789"
FAILURES = [
    ("@@status 401", "Incorrect API key provided", "Check the API key: `shard doctor`"),
    ("@@status 404", "The model `mock` does not exist.", "`shard models` lists"),
    ("@@status 400", "maximum context length is 8 tokens.", "Start a new session"),
    ("@@status 429", "mock: failed.", "Wait until the limit resets"),
    ("@@status 500", "mock: failed.", "try again later"),
    ("@@quirk end_early @@tries 99", "ended before it was complete.", "was cut off each time"),
    ("@@quirk html_error @@tries 99", "HTTP 502, with a web page", "try again later"),
    ("@@quirk hang @@text 400", "nothing came for 0.3 s.", "was cut off each time"),
    ("@@quirk hang_start", "no answer within 0.3 s.", "Check the connection"),
]


class TestFailed:
    @pytest.mark.proves("H4d.39", "H4d.41")
    @pytest.mark.parametrize("model", MODELS)
    @pytest.mark.parametrize(("directive", "message", "next_step"), FAILURES)
    def test_a_server_that_always_fails_is_told_in_one_line_and_no_call_of_it_runs(
        self, model: str, directive: str, message: str, next_step: str, person_here: PersonHere
    ) -> None:
        provider = {"timeout_seconds": 0.3}
        person_here.configure(
            retry={"max_attempts": 1}, providers={model.partition(":")[0]: provider}
        )
        person_here.environ |= {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}
        ended = person_here.run(f"go @@shell echo x>>MARK {directive} @@", model=model)
        assert ended.code == 1
        line = one_line(ended.told)
        assert message in line
        assert next_step in line
        assert KEY not in ended.err
        assert person_here.lines() == []

    @pytest.mark.proves("H4d.40")
    def test_a_call_that_fails_each_time_is_made_as_often_as_configured(
        self, person_here: PersonHere, mock_model: MockModel
    ) -> None:
        person_here.configure(retry={"max_attempts": 2})
        prompt = "go @@shell echo x>>MARK @@quirk drop_mid @@tries 99 @@"
        ended = person_here.run(prompt, "--json")
        end = next(e for e in read_events(ended.out) if isinstance(e, TurnEnd))
        assert (ended.code, end.outcome, end.error and end.error.code) == (1, "failed", "cut")
        assert len(mock_model.ask("/__bodies")) == 2
        assert person_here.lines() == []

    @pytest.mark.proves("H4d.41")
    def test_a_longer_wait_than_is_waited_is_a_limit_and_its_end_is_told(
        self, person_here: PersonHere, mock_model: MockModel
    ) -> None:
        ended = person_here.run("go @@quirk status429 @@wait 86400 @@tries 99 @@")
        assert ended.code == 4
        assert "the limit ends at 2" in one_line(ended.told)
        assert len(mock_model.ask("/__bodies")) == 1

    def test_nobody_at_the_address(self, person_here: PersonHere) -> None:
        person_here.configure(retry={"max_attempts": 1})
        person_here.environ["OPENAI_BASE_URL"] = "http://127.0.0.1:1/v1"
        ended = person_here.run("hello")
        assert ended.code == 1
        assert "Check the connection and the base URL" in one_line(ended.told)

    @pytest.mark.parametrize(
        ("model", "told"),
        [
            ("opnai:mock", "Did you mean openai:mock?"),
            ("openai", "A model is named PREFIX:MODEL."),
            ("replay:none.jsonl", "cannot be read: No such file or directory. Name a file"),
            ("replay:README", "README is no cassette: line 1 cannot be read. Record it again."),
        ],
    )
    def test_a_model_that_is_none(self, model: str, told: str, person_here: PersonHere) -> None:
        (person_here.project / "README").write_bytes(b"hello\n")
        ended = person_here.shard("run", "--model", model, "hello")
        assert (ended.code, ended.out) == (1, "")
        assert told in one_line(ended.err)
        assert not person_here.state.exists()

    def test_no_model_at_all(self, person_here: PersonHere) -> None:
        ended = person_here.shard("run", "hello")
        assert ended.code == 1
        assert "shard config set model" in one_line(ended.err)
        assert not person_here.state.exists()

    def test_a_run_that_is_refused_prints_no_json(self, person_here: PersonHere) -> None:
        assert person_here.shard("run", "--json", "--model", "x:y", "hello").out == ""


class TestUsage:
    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (("run",), "PROMPT"),
            (("run", "--no-such-option", "x"), "--no-such-option"),
            (("run", ""), "The prompt is empty."),
            (("run", "-"), "The prompt is empty."),
            (("run", "--budget", "lots", "x"), "no budget"),
            (("run", "--budget", "$0.01", "--model", "openai:mock", "x"), "needs a price"),
            (("run", "--timeout", "-1", "x"), "no number of seconds"),
            (("run", "--cwd", "/no/such/folder", "x"), "no folder"),
            (("run", "--session", "a", "--continue", "x"), "not allowed with"),
            (("run", "--continue", "x"), "No session of"),
            (("run", "--record", "no/such/f", "--model", "openai:mock", "x"), "cannot be written"),
        ],
    )
    def test_a_wrong_call_is_told_and_nothing_is_written(
        self, arguments: tuple[str, ...], told: str, person_here: PersonHere
    ) -> None:
        ended = person_here.shard(*arguments)
        assert (ended.code, ended.out) == (2, "")
        assert told in one_line(ended.err)
        assert not person_here.state.exists()


@pytest.mark.proves("A06")
class TestDenied:
    def test_the_rule_that_is_told_lets_the_same_run_through(self, person_here: PersonHere) -> None:
        prompt = ("run", "--model", MODELS[0], "go @@shell touch MARK @@")
        told = person_here.shard(*prompt).err.rpartition("would allow it: ")[2]
        assert not (person_here.project / "MARK").exists()
        person_here.configure(permissions={"rules": [json.loads(told)]})
        assert person_here.shard(*prompt).code == 0
        assert (person_here.project / "MARK").exists()

    def test_a_deny_rule_holds_with_yes(self, person_here: PersonHere) -> None:
        person_here.configure(permissions={"rules": [{"effect": "deny", "tool": "bash"}]})
        assert person_here.run("go @@shell touch MARK @@").code == 3
        assert not (person_here.project / "MARK").exists()

    def test_deny_lets_no_allow_rule_count(self, person_here: PersonHere) -> None:
        person_here.configure(permissions={"rules": [{"effect": "allow", "tool": "bash"}]})
        prompt = ("--model", MODELS[0], "go @@shell touch MARK @@")
        assert person_here.shard("run", "--ask", "deny", *prompt).code == 3
        assert person_here.shard("run", *prompt).code == 0


def test_the_budget_in_money_is_kept_and_what_was_spent_is_told(person_here: PersonHere) -> None:
    price = {"input_usd_per_million": 30, "output_usd_per_million": 100}
    person_here.configure(prices={MODELS[0]: price})
    ended = person_here.run("go @@shell echo x>>MARK @@times 30 @@", "--budget", "$0.01")
    assert (ended.code, len(person_here.lines())) == (4, 2)
    assert "$0.0100 were spent" in one_line(ended.told)
    assert "$0.01" in person_here.shard("usage").out


def test_the_time_is_up_while_the_model_is_silent(person_here: PersonHere) -> None:
    ended = person_here.run("go @@text 400 @@quirk hang @@", "--timeout", "0.5")
    assert ended.code == 4
    assert "stopped after 0.5 s. Raise --timeout" in one_line(ended.told)


@pytest.mark.proves("A19")
@pytest.mark.parametrize("model", MODELS)
class TestCloudRoutes:
    @pytest.fixture(autouse=True)
    def no_address(self, person_here: PersonHere) -> None:
        del person_here.environ["OPENAI_BASE_URL"], person_here.environ["ANTHROPIC_BASE_URL"]

    def test_network_local_refuses_before_anything_is_written(
        self, model: str, person_here: PersonHere
    ) -> None:
        keys = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}
        person_here.environ |= {"SHARD_NETWORK": "local", **keys}
        ended = person_here.run("hello", "--record", "run.jsonl", model=model)
        assert (ended.code, ended.out) == (1, "")
        assert "network is 'local'. Choose a model on this machine" in one_line(ended.told)
        assert not person_here.state.exists()
        assert not (person_here.project / "run.jsonl").exists()

    def test_without_a_key_its_variable_is_named_and_nothing_is_written(
        self, model: str, person_here: PersonHere
    ) -> None:
        ended = person_here.run("hello", model=model)
        variable = "ANTHROPIC_API_KEY" if model.startswith("anthropic") else "OPENAI_API_KEY"
        assert ended.code == 1
        assert f"Set {variable}. Or choose another model: " in one_line(ended.told)
        assert "one on this machine needs no key" in ended.told
        assert not person_here.state.exists()


@pytest.mark.proves("A19")
def test_network_local_lets_a_server_on_this_machine_be_asked(person_here: PersonHere) -> None:
    person_here.environ["SHARD_NETWORK"] = "local"
    assert person_here.run("hello").code == 0


@pytest.mark.proves("A11")
class TestSessions:
    def test_the_last_session_of_the_folder_goes_on(
        self, person_here: PersonHere, mock_model: MockModel
    ) -> None:
        person_here.run("my name is Ada @@text 5 @@")
        ended = person_here.run("who am I? @@text 6 @@", "--continue")
        assert (ended.code, ended.out) == (0, "Done. \n")
        assert len(person_here.sessions()) == 1
        entries = read_entries(person_here.sessions()[0])
        assert len([entry for entry in entries if entry["type"] == "message"]) == 4
        assert "my name is Ada" in json.dumps(mock_model.ask("/__bodies")[-1])

    def test_a_session_is_found_by_its_id_from_any_folder(self, person_here: PersonHere) -> None:
        person_here.run("hello")
        session = person_here.sessions()[0].parent.name
        other = str(person_here.root)
        assert person_here.run("again", "--session", session, "--cwd", other).code == 0
        assert len(person_here.sessions()) == 1
        listed = json.loads(person_here.shard("sessions", "--json").out)
        assert [row["session_id"] for row in listed] == [session]

    def test_a_session_that_is_not_there_is_told(self, person_here: PersonHere) -> None:
        ended = person_here.run("x", "--session", "session-none")
        assert ended.code == 1
        assert "`shard sessions` lists them" in one_line(ended.told)
        assert not person_here.state.exists()

    def test_the_prompt_of_standard_input_is_asked_as_it_is(
        self, person_here: PersonHere, mock_model: MockModel
    ) -> None:
        prompt = "first\r\nline\u2028sep 🙂\n"
        ended = person_here.shard("run", "--model", MODELS[0], "-", stdin=prompt.encode())
        assert ended.code == 0
        assert mock_model.ask("/__bodies")[-1]["messages"][-1]["content"] == prompt
