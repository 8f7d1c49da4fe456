"""The option line: what is read, what is refused and how it is said, what is completed."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.core.extensions.host import ExtensionHost
from shard_jupyter.errors import UsageError
from shard_jupyter.surfaces.composition import install_bundled
from shard_jupyter.surfaces.magics.cell_options import (
    ASK_SETTINGS,
    MODES,
    OPTIONS,
    CellOptions,
    complete_options,
    describe_options,
    parse_cell_options,
    place_options,
)
from shard_jupyter.types.decisions import AskSetting

pytestmark = pytest.mark.proves("D02", "J3.9")


def test_an_empty_line_means_the_defaults() -> None:
    assert parse_cell_options("") == CellOptions()
    assert parse_cell_options(" \t\u00a0\u3000 ") == CellOptions()


def test_every_option_is_read(tmp_path: Path) -> None:
    line = (
        "--agent 'my agent' --session=last --mode plan --model openai:gpt-5 --ask deny --out answer "
        f'--schema Report --budget $1.50 --timeout 1.5 --record "{tmp_path}/a b.jsonl" --no-raise '
        "--quiet --trust-project"
    )
    assert parse_cell_options(line) == CellOptions(
        agent="my agent",
        session="last",
        mode="plan",
        model="openai:gpt-5",
        ask="deny",
        out="answer",
        schema="Report",
        budget="$1.50",
        timeout_seconds=1.5,
        record=tmp_path / "a b.jsonl",
        no_raise=True,
        quiet=True,
        trust_project=True,
    )
    assert parse_cell_options("--new").new


def test_nothing_in_the_line_is_expanded() -> None:
    assert parse_cell_options("--agent {x} --model $HOME").agent == "{x}"
    assert parse_cell_options("--model $HOME").model == "$HOME"
    assert parse_cell_options("--agent '#1' --quiet").agent == "#1"


def test_paths_are_seen_from_the_folder_of_the_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")

    def placed(line: str) -> CellOptions:
        return place_options(parse_cell_options(line), "/notebooks")

    assert placed("--record run.jsonl").record == Path("/notebooks/run.jsonl")
    assert placed("--record /tmp/run.jsonl").record == Path("/tmp/run.jsonl")
    assert placed("--record ~/run.jsonl").record == Path("/home/ada/run.jsonl")
    assert placed("--model replay:run.jsonl").model == "replay:/notebooks/run.jsonl"
    assert placed("--model replay:/tmp/run.jsonl").model == "replay:/tmp/run.jsonl"
    assert placed("--model replay:").model == "replay:"
    assert placed("--model openai:gpt-5").model == "openai:gpt-5"
    assert placed("") == CellOptions()


@pytest.mark.parametrize(
    "line", ["-h", "--help", "--nonsense --help", "fix it -h", "--model --help"]
)
def test_help_wins_over_what_is_wrong(line: str) -> None:
    assert parse_cell_options(line).wants_help


def test_a_variable_is_named_as_python_reads_it() -> None:
    assert parse_cell_options("--out \ufb01t").out == "fit"


REFUSED = [
    ("--modle x", "--modle is no option.", "Did you mean --mode or --model?"),
    ("--agnet x", "--agnet is no option.", "Did you mean --agent?"),
    ("--bogus=1", "--bogus is no option.", "%%shard --help lists the options."),
    ("-m x", "-m is no option.", ""),
    ("--mode", "--mode needs a value.", "Write --mode MODE."),
    ("--mode --new", "--mode needs a value.", "Write --mode MODE."),
    ("--agent=", "--agent needs a value.", "Write --agent NAME."),
    ("--agent ' '", "--agent needs a value.", "Write --agent NAME."),
    ("--trust-project=no", "--trust-project takes no value.", "Write --trust-project alone."),
    ("--new=yes", "--new takes no value.", "Write --new alone."),
    ("--new --new", "--new is given twice.", "Leave one of them out."),
    ("--ask ask", "--ask cannot be ask.", ""),
    ("--ask deney", "--ask cannot be deney.", "Did you mean deny?"),
    ("--timeout soon", "--timeout cannot be soon.", "Give it a number of seconds above 0, such as 90."),
    ("--timeout -5", "--timeout cannot be -5: it begins with a hyphen.", ""),
    ("--timeout 0", "--timeout cannot be 0.", ""),
    ("--timeout inf", "--timeout cannot be inf.", ""),
    ("--timeout nan", "--timeout cannot be nan.", ""),
    ("--budget much", "'much' is no budget.", ""),
    ("--budget 0", "'0' is no budget.", ""),
    ("--out my-answer", "--out cannot be my-answer: it is no name of a variable.", ""),
    ("--out class", "--out cannot be class: it is a word of Python's own.", ""),
    ("--out get_ipython", "--out cannot be get_ipython: it is a name that IPython itself needs.", ""),
    ("--out a.b", "--out cannot be a.b: it is no name of a variable.", ""),
    ("--schema Report", "--schema needs --out.", "Name the variable for the object: --out VAR."),
    ("--out x --schema a[0]", "--schema cannot be a[0]: it is no name of a variable.", ""),
    ("--new --session last", "--new and --session exclude each other.", "Leave one of them out."),
    ("fix the bug", "fix is no option.", "The prompt goes below the %%shard line"),
    ("--agent my agent", "agent is no option.", "a value with blanks into quotes"),
    ("\u2014mode plan", "\u2014mode starts with an em dash, not with two hyphens.", "Write --mode."),
    ("\u2013-new", "\u2013-new starts with an en dash, not with two hyphens.", "Write --new."),
    ("-\u2010new", "-\u2010new starts with a hyphen, not with two hyphens.", "Write --new."),
    ("\u2014", "\u2014 is no option.", "The prompt goes below"),
    ("--agent \u201cmy agent\u201d", "agent\u201d holds a curly quote.", "Write straight quotes"),
    ("--agent 'a", "A quote on the %%shard line is not closed.", ""),
    ('--agent "a', "A quote on the %%shard line is not closed.", ""),
    ("--new \\", "The %%shard line ends with a backslash.", "Write all options on one line"),
    ("--agent a\x00b", "The %%shard line holds an invisible character (U+0000).", ""),
    ("--agent \u202eb", "The %%shard line holds an invisible character (U+202E).", ""),
    ("--agent \ud800", "The %%shard line holds an invisible character (U+D800).", ""),
    ("--record ~nobody-of-this-name/x", "--record cannot be ~nobody-of-this-name/x.", "in full"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "message", "next_step"), REFUSED)
def test_a_wrong_line_is_refused_in_words(line: str, message: str, next_step: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_cell_options(line)
    assert refused.value.message == message
    assert next_step in refused.value.next_step
    assert refused.value.next_step


@given(st.text(max_size=40) | st.lists(st.sampled_from([o.name for o in OPTIONS])).map(" ".join))
def test_any_line_is_read_or_refused_in_one_line(line: str) -> None:
    told = ""
    try:
        parse_cell_options(line)
    except UsageError as error:
        told = str(error)
    assert "\n" not in told
    told.encode("utf-8")


def test_the_settings_are_those_of_the_protocol() -> None:
    assert get_args(AskSetting) == ASK_SETTINGS


async def test_the_modes_are_those_that_are_bundled() -> None:
    host = ExtensionHost()
    await install_bundled(host)
    assert set(MODES) == set(host.snapshot().modes)


def test_help_names_every_option_and_fits_a_screen() -> None:
    text = describe_options()
    assert all(f"  {option.name}" in text for option in OPTIONS)
    assert max(len(line) for line in text.split("\n")) <= 92


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (" --mo", ["--mode", "--model"]),
        (" --mode ", ["build", "plan"]),
        (" --mode=p", ["plan"]),
        (" --mode p", ["plan"]),
        (" --ask re", ["recorded"]),
        (" --session ", ["last"]),
        (" --agent ", ["main", "tests"]),
        (" --agent t", ["tests"]),
        (" --model ", ["openai:gpt-5"]),
        (" --out ", []),
        (" --new --ne", []),
        (" --new --no", ["--no-raise"]),
        (" --mode=plan --mo", ["--model"]),
        (" --nothing ", [option.name for option in OPTIONS]),
        (" x", []),
    ],
)
def test_what_may_follow_is_completed(typed: str, offered: list[str]) -> None:
    assert complete_options(typed, ["main", "tests"], ["openai:gpt-5"]) == offered


def test_an_empty_line_completes_every_option() -> None:
    assert complete_options(" ") == [option.name for option in OPTIONS]


@pytest.mark.proves("T66")
@pytest.mark.parametrize("value", ["-x", "--trust-project", "-", "--ask=yes", "-o=1"])
@pytest.mark.parametrize("option", [option.name for option in OPTIONS if option.metavar])
def test_what_looks_like_an_option_is_no_value_however_it_is_written(
    option: str, value: str
) -> None:
    for line in (f"{option} {value}", f"{option}={value}", f"{option} '{value}'"):
        with pytest.raises(UsageError, match=r"needs a value|cannot be"):
            parse_cell_options(line)
