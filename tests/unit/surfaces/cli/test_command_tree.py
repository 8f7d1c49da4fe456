"""Every command can be parsed, has its module, and refuses nonsense by an exception."""

from __future__ import annotations

import importlib.util

import pytest

from shard_jupyter.errors import UsageError
from shard_jupyter.surfaces.cli.command_tree import COMMANDS, build_parser
from shard_jupyter.surfaces.cli.described_commands import describe_commands, write_reference

pytestmark = pytest.mark.proves("B12")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_module(name: str) -> None:
    assert importlib.util.find_spec(f"shard_jupyter.surfaces.cli.commands.{name}") is not None


def test_all_options_of_run_are_read() -> None:
    line = (
        "run --model a:b --mode plan --ask deny --json --cwd /x --timeout 1.5 --budget 200k"
        " --record f --session s --trust-project --sandbox required"
    )
    read = vars(build_parser().parse_args([*line.split(), "the prompt"]))
    assert read == {
        "command": "run",
        "prompt": "the prompt",
        "model": "a:b",
        "mode": "plan",
        "ask": "deny",
        "json": True,
        "cwd": "/x",
        "timeout": 1.5,
        "budget": "200k",
        "record": "f",
        "session": "s",
        "continue_last": False,
        "trust_project": True,
        "sandbox": "required",
    }


@pytest.mark.parametrize("prompt", ["-", "- a list", "--ask is not what I mean: fix it", ""])
def test_a_prompt_may_look_like_an_option(prompt: str) -> None:
    read = build_parser().parse_args(["run", "--", prompt])
    assert read.prompt == prompt


@pytest.mark.parametrize(
    "line",
    ["", "rnu x", "run", "run a b", "run --jso x", "run --ask maybe x", "run --timeout 0 x",
     "run --timeout nan x", "run --timeout -1 x", "run --timeout x x", "config", "config set",
     "config set model", "config show x", "completion", "completion tcsh", "doctor x",
     "run --session a --continue x", "models --jsonl",
     "models pul", "models pull a b", "models pull --y", "models rm", "models rm --json x",
     "models list x"],
)  # fmt: skip
def test_a_wrong_call_is_a_usage_error_that_names_the_help(line: str) -> None:
    with pytest.raises(UsageError) as caught:
        build_parser().parse_args(line.split())
    assert "--help" in caught.value.next_step
    assert "\n" not in str(caught.value)


def test_every_list_has_json() -> None:
    root = describe_commands(build_parser())
    lists = {"models", "list", "sessions", "usage", "doctor", "show", "path"}
    with_json = {
        command.words[-1]
        for command in root.walk()
        if any("--json" in argument.flags for argument in command.arguments)
    }
    assert with_json == lists | {"run", "pull", "grants", "explain", "revoke"}


def test_every_command_and_option_says_what_it_does() -> None:
    for command in describe_commands(build_parser()).walk():
        assert command.text.endswith(".")
        assert [argument for argument in command.arguments if not argument.text] == []


def test_the_reference_names_every_command_and_option() -> None:
    root = describe_commands(build_parser())
    page = write_reference(root)
    for command in root.walk():
        assert f"## `{' '.join(('shard', *command.words))}`" in page
        for argument in command.arguments:
            assert ", ".join(argument.flags) in page


@pytest.mark.parametrize(
    ("line", "action", "as_json"),
    [
        ("models", None, False),
        ("models --json", None, True),
        ("models list", "list", False),
        ("models list --json", "list", True),
        ("models --json list", "list", True),
        ("models --json pull x", "pull", True),
    ],
)
def test_json_counts_before_and_behind_the_action(
    line: str, action: str | None, as_json: bool
) -> None:
    read = build_parser().parse_args(line.split())
    assert (read.action, read.json) == (action, as_json)


def test_a_pull_needs_no_name() -> None:
    read = build_parser().parse_args(["models", "pull"])
    assert (read.name, read.yes) == (None, False)
    assert "shard models pull [OPTIONS] [NAME]\n" in write_reference(
        describe_commands(build_parser())
    )
