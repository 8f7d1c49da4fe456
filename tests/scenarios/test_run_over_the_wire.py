"""`shard run` against the mock model, on every protocol, with every quirk of the wire.

A few runs are real processes; where a process adds nothing the same command line, or the SDK, runs
in this one.
"""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from shard_jupyter import Shard
from shard_jupyter.types.turns import TurnResult
from tests.contracts.test_provider_quirks_contract import NOT_APPLICABLE
from tests.fakes.mock_model import MORE_QUIRKS, QUIRKS
from tests.fakes.model_server import MockModel
from tests.scenarios.command_line import MODELS, Person, PersonHere

pytestmark = pytest.mark.proves(
    "A03",
    "A13",
    "B12",
    "H2d.split_utf8",
    "H2d.crlf",
    "H2d.comments",
    "H2d.nospace",
    "H2d.no_done",
    "H2d.empty_choices",
    "H2d.usage_last",
    "H2d.no_tool_id",
    "H2d.no_tool_index",
    "H2d.args_object",
    "H2d.args_once",
    "H2d.finish_stop",
    "H2d.finish_early",
    "H2d.null_content",
    "H2d.reasoning",
    "H2d.u2028",
    "H2d.status429",
    "H2d.status529",
    "H2d.error_mid",
    "H2d.drop_mid",
    "H2d.html_error",
    "H2d.bad_args",
    "H2d.unknown_tool",
    "H2d.same_id",
    "H4d.35",
    "H4d.36",
    "H4d.37",
    "H4d.38",
    "H4d.39",
    "H4d.40",
    "H4d.41",
    "H4d.43",
    "H4d.44",
)
PROTOCOLS = {"openai": "chat", "openai-responses": "responses", "anthropic": "anthropic"}
FAIL_FIRST = (
    "status429", "status529", "error_mid", "drop_mid", "html_error", "end_early", "json_200",
)  # fmt: skip
HANGS = ("hang", "hang_start")
# Of the two rounds that are asked for, the first gives a call that cannot be run.
RUNS_ONCE = ("bad_args", "length_cut", "length_no_args", "args_list", "unknown_tool")
# These two put characters of their own into the command: the name of the file, and its line.
MARKS = {"u2028": ("MARK\u2028#", "x \u2029"), "half_pair": ("MARK\ufffd", "x")}
CLOSING = "Done. Grüße, 世界 🙂"


def applies(model: str, quirk: str) -> bool:
    return (PROTOCOLS[model.partition(":")[0]], quirk) not in NOT_APPLICABLE


def plain_cases() -> list[tuple[str, str]]:
    quirks = [quirk for quirk in {**QUIRKS, **MORE_QUIRKS} if quirk not in (*FAIL_FIRST, *HANGS)]
    return [(model, quirk) for model in MODELS for quirk in quirks if applies(model, quirk)]


def prompt_of(quirk: str, more: str = "") -> str:
    return f"go @@shell echo x>>MARK @@times 2 @@quirk {quirk} {more} @@"


@pytest.mark.parametrize(("model", "quirk"), plain_cases())
def test_the_command_runs_as_often_as_asked_and_the_closing_text_is_shown(
    model: str, quirk: str, person_here: PersonHere
) -> None:
    ended = person_here.run(prompt_of(quirk), model=model)
    assert (ended.code, ended.told) == (0, "")
    assert CLOSING in ended.out
    name, line = MARKS.get(quirk, ("MARK", "x"))
    assert person_here.lines(name) == [line] * (1 if quirk in RUNS_ONCE else 2)


@pytest.mark.parametrize("model", MODELS)
async def test_a_first_try_that_fails_is_made_again_and_nothing_runs_twice(
    model: str, mock_model: MockModel, tmp_path: Path
) -> None:
    """All at once, because every retry waits a second."""
    results: dict[str, TurnResult] = {}
    environ = {
        "HOME": str(tmp_path),
        "OPENAI_BASE_URL": f"{mock_model.url}/v1",
        "ANTHROPIC_BASE_URL": mock_model.url,
    }

    async def run(quirk: str) -> None:
        workspace = tmp_path / quirk
        workspace.mkdir()
        async with Shard(cwd=workspace, model=model, ask="yes", environ=environ) as agent:
            # The server tells first tries apart by the prompt.
            prompt = f"{model} {prompt_of(quirk, '@@wait ms')}"
            results[quirk] = await agent.prompt(prompt)

    with anyio.fail_after(50):
        async with anyio.create_task_group() as group:
            for quirk in FAIL_FIRST:
                group.start_soon(run, quirk)
    for quirk, result in results.items():
        marks = (tmp_path / quirk / "MARK").read_bytes()
        assert (quirk, marks) == (quirk, b"x\nx\n")
        assert CLOSING in result.text
        assert result.usage.model_calls == result.rounds == 3


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("quirk", ["same_id", "const_id"])
def test_reused_call_ids_run_exactly_as_often_as_asked_and_the_run_ends(
    model: str, quirk: str, person: Person
) -> None:
    """Another agent ran the command 342 times in 20 s and never ended (harness 2d)."""
    ended = person.run(prompt_of(quirk), model=model)
    assert (ended.code, ended.told) == (0, "")
    assert CLOSING in ended.out
    assert person.lines() == ["x", "x"]


def test_a_retry_is_told_while_it_is_waited_for(person_here: PersonHere) -> None:
    ended = person_here.run("go @@shell echo x>>MARK @@quirk drop_mid @@")
    assert (ended.code, person_here.lines()) == (0, ["x"])
    assert ended.told.count("Trying again in 1.0 s (try 2).") == 2, "one for each round"


def test_reasoning_is_not_part_of_what_is_printed(person_here: PersonHere) -> None:
    ended = person_here.run("go @@shell true @@quirk reasoning @@")
    assert "Let me think" not in ended.out
    assert "Done." in ended.out


def test_every_quirk_of_the_mock_is_run_or_fails_in_a_test_of_its_own() -> None:
    covered = {quirk for _, quirk in plain_cases()} | {*FAIL_FIRST, *HANGS}
    assert covered == {*QUIRKS, *MORE_QUIRKS}
