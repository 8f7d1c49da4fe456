from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.errors import UsageError
from shard_jupyter.surfaces.magics.line.command_table import LINE_COMMANDS
from shard_jupyter.surfaces.magics.line.line_arguments import read_line

pytestmark = pytest.mark.proves("D02")


def refused(line: str) -> str:
    with pytest.raises(UsageError) as caught:
        read_line(line)
    told = str(caught.value)
    assert "\n" not in told
    return told


@pytest.mark.parametrize("line", ["", "  ", "\t"])
@pytest.mark.proves("J3.9")
def test_nothing_gives_one_line_that_names_a_command_and_the_help(line: str) -> None:
    told = refused(line)
    assert told == (
        "%shard needs a command, such as %shard status. `%shard help` lists the commands."
    )


@pytest.mark.parametrize("line", ["--help", "-h"])
def test_help_can_be_asked_for_as_an_option(line: str) -> None:
    assert read_line(line).command is LINE_COMMANDS["help"]


def test_a_command_gets_its_argument_and_its_options() -> None:
    given_ = read_line("history 3 --agent 'my agent'")
    assert given_.command is LINE_COMMANDS["history"]
    assert (given_.argument, given_.options) == ("3", {"--agent": "my agent"})
    assert read_line("history --agent=a=b -1").options == {"--agent": "a=b"}
    assert read_line("history -1").argument == "-1"
    assert read_line("history --sessions").options == {"--sessions": ""}


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("stat", "Did you mean 'status'?"),
        ("historx 3", "Did you mean 'history'?"),
        ("status --agnet x", "Did you mean '--agent'?"),
        ("history --sesions", "Did you mean '--session"),
    ],
)
def test_what_is_misspelt_is_refused_with_the_nearest_name(line: str, named: str) -> None:
    assert named in refused(line)


@pytest.mark.parametrize(
    "word", ["approve", "deny", "undo", "recall", "compact", "fork", "usage", "login", "agents"]
)
def test_commands_that_do_not_exist_yet_are_unknown(word: str) -> None:
    assert f"has no command '{word}'" in refused(word)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("what does this do?", "A prompt goes below %%shard"),
        ("--mode plan", "Options of a prompt go to %%shard"),
        ("history 1 2", "does not know what '2' is"),
        ("doctor now", "does not know what 'now' is"),
        ("status --agent", "--agent needs a value: --agent NAME"),
        ("status --agent --agent", "--agent needs a value"),
        ("status --agent=", "--agent needs a value"),
        ("status --agent a --agent b", "given twice"),
        ("history --sessions=3", "takes no value"),
        ("models --json", "has no option '--json'"),
        ("status --agent 'x", "no closing quotation"),
        ("status \\", "no escaped character"),
    ],
)
def test_a_wrong_line_is_refused_in_one_clear_sentence(line: str, told: str) -> None:
    assert told in refused(line)


def test_odd_characters_of_the_line_are_shown_and_not_obeyed() -> None:
    told = refused("sta\u202etus\x1b[31m --x")
    assert "\x1b" not in told
    assert "\u202e" not in told


@given(st.text())
def test_every_line_is_understood_or_refused_in_words(line: str) -> None:
    with contextlib.suppress(UsageError):
        assert read_line(line).command.name in LINE_COMMANDS


def test_a_command_may_take_two_words() -> None:
    given_ = read_line("grants revoke rule-1")
    assert (given_.argument, given_.second) == ("revoke", "rule-1")
    assert "does not know what 'more' is" in refused("grants revoke rule-1 more")


@pytest.mark.proves("T66")
@pytest.mark.parametrize("line", ["status --agent -x", "status --agent=-x", "status --agent '-x'"])
def test_what_looks_like_an_option_is_no_value(line: str) -> None:
    assert "--agent needs a value" in refused(line)
