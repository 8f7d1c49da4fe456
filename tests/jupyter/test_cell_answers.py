"""What a cell leaves for the code below it: `--out`, `--schema`, limits, and failures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.model_server import MockModel, model_server
from tests.jupyter.agent_kernel import NOTEBOOK, final_bundle, open_agent_kernel, shard
from tests.jupyter.kernel import CellRun, Kernel

__all__ = ["model_server"]
pytestmark = pytest.mark.proves("D02")

TYPES = """
from pydantic import BaseModel
class City(BaseModel):
    name: str
    people: int
"""
GOOD, BAD = '{"name": "Ulm", "people": 126000}', '{"name": "Ulm"}'


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory, model_server: MockModel) -> Iterator[Kernel]:
    with open_agent_kernel(tmp_path_factory.mktemp("answers"), model_server.url) as running:
        assert running.execute(TYPES).status == "ok"
        yield running


@pytest.fixture(autouse=True)
def no_variable(kernel: Kernel, model_server: MockModel) -> None:
    kernel.execute("x = 'untouched'")
    model_server.reset()


def value(kernel: Kernel) -> str | None:
    return kernel.execute("x").result


def error(run: CellRun) -> tuple[str, str]:
    assert run.error is not None
    assert len(run.error["traceback"]) == 1
    return run.error["ename"], run.error["evalue"]


def test_out_holds_the_text_of_the_answer(kernel: Kernel) -> None:
    run = kernel.execute(shard("Go. @@say Forty-two.", "--out x"))
    assert run.status == "ok"
    assert run.result is None
    assert value(kernel) == "'Forty-two.'"


@pytest.mark.parametrize("how", ["@@status 401", "@@shell touch nobody-allows"])
def test_out_is_left_alone_when_the_turn_fails(kernel: Kernel, how: str) -> None:
    run = kernel.execute(shard(f"Go. {how}", "--out x"))
    assert error(run)[0] == "TurnFailed"
    assert value(kernel) == "'untouched'"
    kernel.execute(shard("Go. @@status 401", "--out x --no-raise"))
    assert value(kernel) == "'untouched'"


def test_a_schema_gives_a_checked_object(kernel: Kernel) -> None:
    run = kernel.execute(shard(f"Go. @@say {GOOD}", "--out x --schema City"))
    assert run.status == "ok", run.error
    assert value(kernel) == "City(name='Ulm', people=126000)"


@pytest.mark.parametrize("metadata", [None, NOTEBOOK, {}], ids=["headless", "notebook", "console"])
def test_an_answer_that_does_not_fit_is_asked_for_again_in_the_same_output(
    kernel: Kernel, metadata: dict[str, object] | None
) -> None:
    run = kernel.execute(
        shard(f"Go. @@say {BAD} || {BAD} || {GOOD}", "--out x --schema City"),
        allow_stdin=metadata is not None,
        metadata=metadata,
    )
    assert run.status == "ok", run.error
    assert value(kernel) == "City(name='Ulm', people=126000)"
    told = run.stream() if metadata == {} else final_bundle(run)["text/plain"]
    assert told.count(". It was asked for again.") == 2
    assert "126000" in told


def test_two_corrections_are_all_there_are(kernel: Kernel, model_server: MockModel) -> None:
    run = kernel.execute(shard(f"Go. @@say {BAD}", "--out x --schema City"))
    ename, evalue = error(run)
    assert ename == "AnswerMismatch"
    assert "--schema City" in evalue
    assert value(kernel) == "'untouched'"
    assert len(model_server.ask("/__bodies")) == 3
    shown = final_bundle(run)["text/plain"]
    assert "✗ Failed" in shown
    quiet = kernel.execute(shard(f"Go. @@say {BAD}", "--out x --schema City --no-raise"))
    assert quiet.status == "ok"
    assert value(kernel) == "'untouched'"
    assert "✗ Failed" in final_bundle(quiet)["text/plain"]


def test_the_time_of_a_cell_is_that_of_all_its_turns(kernel: Kernel) -> None:
    slow = "@@text 4000 @@chunk 2 @@delay 2"
    run = kernel.execute(shard(f"Go. {slow}", "--out x --schema City --timeout 0.7"))
    assert error(run)[0] == "TurnFailed"
    assert value(kernel) == "'untouched'"


@pytest.mark.parametrize(
    ("options", "prompt", "code"),
    [
        ("--budget 10", "Go. @@shell true @@times 5", "budget"),
        ("--timeout 0.3", "Go. @@quirk hang", "time"),
        ("", "Go. @@status 401", "key"),
        ("", "Go. @@quirk drop_mid @@tries 99", ""),
    ],
)
def test_every_failure_fails_the_cell_in_one_line_and_shows_the_record(
    kernel: Kernel, options: str, prompt: str, code: str
) -> None:
    run = kernel.execute(shard(prompt, f"{options} --ask yes"), timeout=60)
    ename, evalue = error(run)
    assert ename == "TurnFailed"
    assert code in evalue.lower()
    assert [m["msg_type"] for m in run.outputs] == ["display_data", "error"]


def test_a_recorded_approval_answers_in_a_headless_run(kernel: Kernel, tmp_path: Path) -> None:
    cassette = tmp_path / "a.json"
    prompt = "Go. @@shell echo recorded-call; touch recorded-file"
    run = kernel.execute(
        shard(prompt, f"--record {cassette}"),
        allow_stdin=True,
        metadata=NOTEBOOK,
        on_stdin=lambda *_: "y",
    )
    assert run.status == "ok", run.error
    assert cassette.is_file()
    first, second = (kernel.execute(shard(prompt, model=f"replay:{cassette}")) for _ in range(2))
    assert first.status == second.status == "ok", first.error
    bundles = [final_bundle(each) for each in (first, second)]
    assert bundles[0] == bundles[1]
    assert "recorded-call" in bundles[0]["text/plain"]
