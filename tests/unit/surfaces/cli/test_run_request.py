"""What a run was asked for, checked before anything starts."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from shard_jupyter.core.limits.budget import Budget
from shard_jupyter.errors import UsageError
from shard_jupyter.surfaces.cli.command_tree import build_parser
from shard_jupyter.surfaces.cli.run_request import MAX_PROMPT_BYTES, RunRequest, read_request

pytestmark = pytest.mark.proves("B12")


def read(
    *arguments: str,
    stdin: bytes = b"",
    on_terminal: bool = False,
    sessions: dict[Path, str] | None = None,
) -> RunRequest:
    return read_request(
        build_parser().parse_args(["run", *arguments]),
        io.BytesIO(stdin),
        on_terminal=on_terminal,
        find_last_session=(sessions or {}).get,
    )


def test_who_is_asked_depends_on_the_terminal_unless_it_is_said() -> None:
    assert (read("x", on_terminal=True).ask, read("x", on_terminal=True).on_terminal) == (
        None,
        True,
    )
    assert (read("x").ask, read("x").on_terminal) == (None, False), "the configuration says"
    assert read("--ask", "deny", "x", on_terminal=True).ask == "deny"
    assert read("--ask", "inline", "x").ask == "inline"


@pytest.mark.parametrize(
    "prompt", ["a{b}$c%d!e?", "two\nlines\n", " spaces ", "line\u2028sep", "日本語 🎉"]
)
def test_a_prompt_comes_through_as_it_is(prompt: str) -> None:
    assert read(prompt).prompt == prompt
    assert read("-", stdin=prompt.encode()).prompt == prompt


def test_carriage_returns_of_stdin_are_kept() -> None:
    assert read("-", stdin=b"a\r\nb\r").prompt == "a\r\nb\r"


@pytest.mark.parametrize(
    ("arguments", "stdin", "reason"),
    [
        (("",), b"", "empty"),
        ((" \n",), b"", "empty"),
        (("-",), b"", "empty"),
        (("-",), b"na\xefve", "not UTF-8 at position 2"),
        (("na\udcefve",), b"", "not UTF-8 at position 2"),
        (("-",), b"x" * (MAX_PROMPT_BYTES + 1), "longer than 4 MiB"),
        (("--cwd", "/no/such/folder", "x"), b"", "no folder"),
        (("--budget", "lots", "x"), b"", "no budget"),
        (("--continue", "x"), b"", "No session of"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_do(
    arguments: tuple[str, ...], stdin: bytes, reason: str
) -> None:
    with pytest.raises(UsageError, match=reason) as caught:
        read(*arguments, stdin=stdin)
    assert caught.value.next_step


def test_the_last_session_of_the_folder_is_found(tmp_path: Path) -> None:
    sessions = {tmp_path.resolve(): "session-1"}
    assert read("--continue", "--cwd", str(tmp_path), "x", sessions=sessions).session == "session-1"
    assert read("--session", "session-2", "x").session == "session-2"
    assert read("x", sessions=sessions).session is None


def test_budget_and_paths_are_ready_to_use(tmp_path: Path) -> None:
    request = read("--budget", "$1.50", "--record", "tape.jsonl", "--cwd", str(tmp_path), "x")
    assert request.budget == Budget(usd=1.5)
    assert request.record == Path.cwd() / "tape.jsonl"
    assert request.cwd == tmp_path.resolve()
