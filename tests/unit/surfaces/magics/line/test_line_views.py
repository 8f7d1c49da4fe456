"""What the commands return, with agents that answer from a record."""

from __future__ import annotations

import dataclasses
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import anyio
import mistune
import pytest

from shard_jupyter.errors import AgentClosed, ShardError, UnknownMode, UsageError
from shard_jupyter.surfaces.render_static.bundle import TRANSCRIPT_MIME
from shard_jupyter.types.session_entries import SessionEntry, TurnEndEntry
from shard_jupyter.types.turns import ErrorInfo
from shard_jupyter.types.usage import UsageTotals
from tests.entry_builders import NOON, assistant, make_log, result, user
from tests.unit.surfaces.magics.line.recorded_agents import RecordedAgents, ask, info

pytestmark = pytest.mark.proves("D02")
USED = UsageTotals(model_calls=2, input_tokens=48_200, output_tokens=1_200, cost_usd=0.21)
HOSTILE = "<script>x</script> \x1b[31m $a$ `b` | [l](javascript:x) \u202eevil\u200b"
FORMS = ("text/plain", "text/markdown", "text/html")


def turn(number: int, prompt: str, *more: Any, **end: Any) -> list[SessionEntry]:
    entries = [user("e", None, prompt), *more]
    if end:
        entries.append(TurnEndEntry(id="z", timestamp=NOON, turn_id="t", usage=USED, **end))
    return [
        entry.model_copy(update={"id": f"{entry.id}{place}-{number}", "turn_id": f"turn-{number}"})
        for place, entry in enumerate(entries)
    ]


CONVERSATION = [
    *turn(
        1,
        "Mend a.py\nand the rest",
        assistant("a", None, "I look.", calls=("call-1", "call-2")),
        result("r", None, "call-1").model_copy(
            update={"details": {"changed_paths": ["/project/a.py"]}}
        ),
        result("s", None, "call-2").model_copy(update={"status": "denied", "is_error": True}),
        assistant("b", None, "**Mended.**"),
        outcome="completed",
    ),
    *turn(2, "Again", outcome="failed", error=ErrorInfo(code="auth", message="401 bad key")),
    *turn(3, "Killed"),
]


@pytest.fixture
def agents() -> RecordedAgents:
    other = info("other", 2, status="waiting-for-permission", pending=2)
    return RecordedAgents.of(other, info(mode="plan"), entries=CONVERSATION)


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}


_raw_markdown = mistune.create_markdown(escape=False, plugins=["table"])
"""Renders as the most careless of viewers does."""


def check_harmless(view: Any) -> None:
    bundle = view._repr_mimebundle_()
    for form in FORMS:
        assert "\x1b" not in bundle[form]
        assert "\u202e" not in bundle[form]
        assert "⟨U+001B⟩" in bundle[form]
    for page in (bundle["text/html"], _raw_markdown(bundle["text/markdown"])):
        tags = _Tags()
        tags.feed(page)
        assert not tags.names & {"script", "img", "a", "style"}
        assert not tags.attributes


def test_status_is_data_and_three_forms_of_it(agents: RecordedAgents) -> None:
    status = ask(agents, "status")
    assert (status.name, status.session_id, status.model) == (
        "notebook", "session-1", "openai:gpt-5",
    )  # fmt: skip
    assert (status.mode, status.state, status.turns) == ("plan", "Idle", 3)
    assert status.usage.input_tokens == 96_400
    assert [agent.state for agent in status.agents] == ["Needs your answer (2 requests)", "Idle"]
    bundle = status._repr_mimebundle_()
    assert tuple(bundle) == FORMS
    assert bundle["text/plain"] == repr(status)
    for told in ("Turns: 3", "Used: 96.4k in · 2.4k out · 4 model calls", "Cost: $0.42"):
        assert told in repr(status)
    assert "| other | Needs your answer (2 requests) |" in bundle["text/markdown"]


def test_status_without_an_agent_says_how_to_start_one() -> None:
    status = ask(RecordedAgents(), "status")
    assert (status.agent, status.session_id, status.turns) == (None, None, None)
    assert "This notebook has no agent" in repr(status)
    assert "%%shard" in repr(status)


def test_status_of_one_agent_is_found_by_its_name(agents: RecordedAgents) -> None:
    assert ask(agents, "status --agent other").session_id == "session-2"
    with pytest.raises(UsageError, match=r"'othr'.*'other'.*There are: other, notebook"):
        ask(agents, "status --agent othr")
    with pytest.raises(UsageError, match=r"'x'.*%%shard"):
        ask(RecordedAgents(), "status --agent x")


def test_an_agent_that_does_not_answer_is_shown_as_not_connected(agents: RecordedAgents) -> None:
    trouble = ShardError("The agent process does not answer.", next_step="Run doctor.")
    agents.trouble = {"agent.status": trouble}
    agents.infos = {"notebook": agents.infos["notebook"]}
    status = ask(agents, "status")
    assert (status.state, status.turns, status.session_id) == ("Not connected", None, "session-1")
    assert "Error: The agent process does not answer. Run doctor." in repr(status)


def test_an_agent_that_was_restored_under_another_id_is_asked_again(
    agents: RecordedAgents,
) -> None:
    def restore() -> None:
        agents.infos["notebook"] = info(number=9, session_id="session-1")

    agents.trouble = {"agent.status": AgentClosed("There is no such agent here.")}
    agents.on_trouble = restore
    agents.infos = {"notebook": agents.infos["notebook"]}
    assert ask(agents, "status").agent.agent_id == "agent-9"


def test_an_agent_that_is_not_there_says_how_to_get_it_back(agents: RecordedAgents) -> None:
    agents.trouble = {"set_mode": AgentClosed("There is no such agent here.")}
    with pytest.raises(AgentClosed) as refused:
        ask(agents, "mode build")
    assert str(refused.value) == (
        "The agent notebook is not open now. "
        "Run a %%shard cell: it goes on with the conversation, or says why not."
    )


def test_modes_are_listed_with_the_one_that_holds_and_switched(agents: RecordedAgents) -> None:
    modes = ask(agents, "mode")
    assert (modes.current, [mode.name for mode in modes.modes]) == ("plan", ["build", "plan"])
    assert "plan (now)" in repr(modes)
    switched = ask(agents, "mode build")
    assert (switched.current, switched.previous) == ("build", "plan")
    assert repr(switched) == "Done: notebook is in mode build now; it was in plan."
    assert repr(ask(agents, "mode build")) == "notebook is in mode build already."
    with pytest.raises(UnknownMode):
        ask(agents, "mode buildx")


def test_without_an_agent_a_mode_or_model_is_an_option_of_the_cell() -> None:
    none = RecordedAgents()
    assert "%%shard --mode plan" in repr(ask(none, "mode"))
    with pytest.raises(UsageError, match=r"none can be switched.*%%shard --mode plan"):
        ask(none, "mode plan")
    with pytest.raises(UsageError, match=r"no mode 'pln'.*'plan'.*Modes: build, plan"):
        ask(none, "mode pln")
    assert ask(none, "model").current is None
    with pytest.raises(UsageError, match="%%shard --model"):
        ask(none, "model openai:x")


def test_the_model_is_shown_and_switched(agents: RecordedAgents) -> None:
    assert "uses openai:gpt-5" in repr(ask(agents, "model"))
    switched = ask(agents, "model anthropic:x --agent other")
    assert (switched.agent, switched.current) == ("other", "anthropic:x")
    assert agents.infos["other"].model == "anthropic:x"
    assert "already" in repr(ask(agents, "model anthropic:x --agent other"))


def test_history_lists_every_turn_oldest_first(agents: RecordedAgents) -> None:
    history = ask(agents, "history")
    assert [found.prompt for found in history.turns] == [
        "Mend a.py\nand the rest", "Again", "Killed",
    ]  # fmt: skip
    rows = [re.split(r"  +", line) for line in repr(history).split("\n")[:4]]
    assert rows[0] == ["Turn", "Prompt", "Outcome", "Steps", "Files", "When"]
    assert rows[1][:5] == ["1", "Mend a.py", "Done · 1 denied", "2", "/project/a.py"]
    assert rows[2][:4] == ["2", "Again", "Failed", "0"]
    assert rows[3][2] == "No end written"
    pages = [fields for command, fields in agents.asked if command == "session_op"]
    assert len(pages) > 3


def test_paths_inside_the_folder_are_shown_without_it(
    agents: RecordedAgents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    paths = {"changed_paths": [str(tmp_path / "src" / "x.py"), f"{tmp_path}-other/y.py"]}
    changed = result("r", None, "call-1").model_copy(update={"details": paths})
    agents.entries = turn(1, "go", changed, outcome="completed")
    assert f"  src/x.py, {tmp_path}-other/y.py  " in repr(ask(agents, "history"))


def test_a_history_fits_a_terminal(agents: RecordedAgents) -> None:
    prompt = "Write a file notes.md with the text February has no amount"
    agents.entries = turn(1, prompt, outcome="completed")
    table = repr(ask(agents, "history")).split("\n")
    assert "Write a file notes.md with the text …" in table[1]
    assert max(map(len, table[:2])) <= 80


def test_a_long_history_shows_the_newest_turns_and_says_so(agents: RecordedAgents) -> None:
    agents.entries = [
        entry for number in range(1, 26) for entry in turn(number, f"prompt {number}")
    ]
    history = ask(agents, "history")
    assert len(history.turns) == 25
    assert "prompt 5 " not in repr(history)
    assert "prompt 6 " in repr(history)
    assert "Turns 1 to 5 are not shown. One in full: %shard history 25." in repr(history)


def test_a_running_turn_is_told_as_running(agents: RecordedAgents) -> None:
    agents.infos["notebook"] = info(status="streaming")
    assert "Running" in repr(ask(agents, "history"))
    assert ask(agents, "history 3").record.state == "running"


def test_one_turn_is_shown_with_its_prompt_and_as_its_cell_was(agents: RecordedAgents) -> None:
    shown = ask(agents, "history 1")
    assert (shown.prompt, shown.answer) == ("Mend a.py\nand the rest", "**Mended.**")
    bundle = shown._repr_mimebundle_()
    assert set(bundle) == {*FORMS, TRANSCRIPT_MIME}
    for form in FORMS:
        parts = ("Turn 1", "Mend a.py\nand the rest", "I look.", "Mended.", "1 file changed")
        places = [bundle[form].index(part) for part in parts]
        assert places == sorted(places)
    assert bundle[TRANSCRIPT_MIME]["prompt"] == shown.prompt
    assert repr(shown) == bundle["text/plain"]
    assert ask(agents, "history -2").summary.number == 2
    assert "401 bad key" in repr(ask(agents, "history 2"))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("history 9", "There is no turn 9; the last one is 3"),
        ("history -9", "There is no turn -9"),
        ("history 0", "'0' is no number of a turn"),
        ("history all", "'all' is no number of a turn"),
        ("history --sessions 3", "--sessions stands alone"),
        ("history --sessions --agent x", "--sessions stands alone"),
        ("history --session a --agent b", "name two conversations"),
        ("history --session ../../etc", "no session id"),
        ("history --session session-none", "There is no session 'session-none'"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_words(
    agents: RecordedAgents, line: str, told: str
) -> None:
    with pytest.raises(ShardError, match=re.escape(told)) as caught:
        ask(agents, line)
    assert caught.value.next_step


def store(home: Path, session_id: str) -> None:
    parents = [None, *(entry.id for entry in CONVERSATION)]  # type: ignore[union-attr]
    chained = [
        entry.model_copy(update={"parent_id": parent})  # type: ignore[union-attr]
        for entry, parent in zip(CONVERSATION, parents, strict=False)
    ]
    sessions = home / "state" / "sessions"
    anyio.run(lambda: make_log(sessions, *chained, session_id=session_id))


def test_a_stored_conversation_needs_no_agent(
    clean_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(clean_home, "session-7")
    none = RecordedAgents()
    history = ask(none, "history --session session-7")
    assert [found.outcome for found in history.turns] == ["completed", "failed", None]
    assert "Mended." in repr(ask(none, "history 1 --session session-7"))
    with pytest.raises(UsageError, match="No conversation is stored"):
        ask(none, "history --session last")
    monkeypatch.setattr("os.getcwd", lambda: "/project")
    assert ask(none, "history --session last").session_id == "session-7"


def test_the_session_of_an_agent_of_this_kernel_is_read_from_the_agent(
    agents: RecordedAgents,
) -> None:
    assert len(ask(agents, "history --session session-1").turns) == 3


def test_stored_conversations_of_this_folder_are_listed(
    clean_home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    store(clean_home, "session-7")
    monkeypatch.setattr("os.getcwd", lambda: "/project")
    listed = ask(RecordedAgents(), "history --sessions")
    assert [found.session_id for found in listed.sessions] == ["session-7"]
    assert "Mend a.py" in repr(listed)
    assert "%%shard --session session-7" in repr(listed)
    monkeypatch.setattr("os.getcwd", lambda: str(tmp_path))
    assert repr(ask(RecordedAgents(), "history --sessions")) == (
        f"No conversation is stored for {tmp_path}."
    )


@pytest.mark.parametrize("line", ["status", "history", "history 1", "mode", "model", "model x:y"])
def test_names_prompts_and_paths_of_others_come_out_harmless_and_visible(line: str) -> None:
    paths = {"changed_paths": [f"/project/{HOSTILE}"]}
    changed = result("r", None, "call-1", HOSTILE).model_copy(update={"details": paths})
    entries = turn(1, HOSTILE, assistant("a", None, HOSTILE), changed, outcome="completed")
    agents = RecordedAgents.of(info(HOSTILE, cwd=HOSTILE, model=HOSTILE), entries=entries)
    check_harmless(ask(agents, line))


def test_help_names_every_command_and_every_option() -> None:
    overview = ask(RecordedAgents(), "help")
    for told in ("%shard status", "%shard history [N]", "--no-raise", "--schema VAR", "@file:"):
        assert told in repr(overview)
    one = ask(RecordedAgents(), "help history")
    assert "%shard history --sessions" in repr(one)
    assert "--session ID" in repr(one)
    with pytest.raises(UsageError, match=r"'histor'.*'history'"):
        ask(RecordedAgents(), "help histor")


def test_models_and_doctor_are_what_the_command_line_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHARD_MODEL", "openai:gpt-5")
    models = ask(RecordedAgents(), "models")
    assert models.default == "openai:gpt-5"
    assert models.models[0].refusal is not None
    assert "openai:gpt-5 (default)" in repr(models)
    assert "Set OPENAI_API_KEY." in repr(models)
    report = ask(RecordedAgents(), "doctor")
    assert not report.ok
    assert repr(report).startswith("Error: 1 to mend before agents can work.")
    assert {"python", "model", "keys"} <= {check.name for check in report.checks}


def test_views_cannot_be_changed(agents: RecordedAgents) -> None:
    for line in ("status", "mode", "history", "history 1", "help"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            ask(agents, line).taken = None
