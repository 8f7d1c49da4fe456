"""Questions are asked and answered inside the running cell, through the kernel's stdin."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from tests.fakes.model_server import MockModel, model_server
from tests.jupyter.agent_kernel import NOTEBOOK, displays, final_bundle, open_agent_kernel, shard
from tests.jupyter.kernel import Kernel

__all__ = ["model_server"]
pytestmark = pytest.mark.proves("D02", "J3.1")


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory, model_server: MockModel) -> Iterator[Kernel]:
    with open_agent_kernel(tmp_path_factory.mktemp("approvals"), model_server.url) as running:
        yield running


def say_yes(prompt: str, password: bool, word: str = "y") -> str:
    """Answer as a person does who reads what is asked for."""
    mark = re.search(r"#\d+", prompt)
    return f"{word} {mark[0]}" if mark else word


def say_always(prompt: str, password: bool) -> str:
    return say_yes(prompt, password, "a")


def exists(kernel: Kernel, name: str) -> bool:
    return kernel.execute(f"import os; os.path.exists({name!r})").result == "True"


@pytest.mark.parametrize("metadata", [NOTEBOOK, {}], ids=["notebook", "console"])
def test_a_question_is_answered_while_the_cell_runs(
    kernel: Kernel, metadata: dict[str, object]
) -> None:
    name = f"allowed-{len(metadata)}"
    run = kernel.execute(
        shard(f"Go. @@shell touch {name}"),
        allow_stdin=True,
        metadata=metadata,
        on_stdin=say_yes,
    )
    assert run.status == "ok", run.error
    assert len(run.asked) == 1
    assert exists(kernel, name)


def test_no_denies_and_the_note_reaches_the_model(kernel: Kernel, model_server: MockModel) -> None:
    model_server.reset()
    run = kernel.execute(
        shard("Go. @@shell touch denied"),
        allow_stdin=True,
        metadata=NOTEBOOK,
        on_stdin=lambda *_: "n use another name",
    )
    assert run.status == "ok", run.error
    assert not exists(kernel, "denied")
    assert "use another name" in json.dumps(model_server.ask("/__bodies"))


def test_what_is_no_answer_asks_again_and_the_end_of_the_input_denies(kernel: Kernel) -> None:
    answers = iter(["", "yep", "Y maybe", "\x04"])
    run = kernel.execute(
        shard("Go. @@shell touch never"),
        allow_stdin=True,
        metadata=NOTEBOOK,
        on_stdin=lambda *_: next(answers),
    )
    assert len(run.asked) == 4
    # The second one where an earlier question of this kernel was withdrawn.
    told = ("That is no answer.", "A yes must say #")
    assert all(prompt.startswith(told) for prompt in run.asked[1:])
    assert not exists(kernel, "never")


def test_a_client_that_answers_nonsense_for_ever_denies(kernel: Kernel) -> None:
    run = kernel.execute(
        shard("Go. @@shell touch never"),
        allow_stdin=True,
        metadata=NOTEBOOK,
        on_stdin=lambda *_: "",
    )
    assert run.is_over
    assert not exists(kernel, "never")


def test_always_is_for_the_calls_that_the_rule_covers(kernel: Kernel) -> None:
    run = kernel.execute(
        shard("Go. @@shell touch always @@times 3"),
        allow_stdin=True,
        metadata=NOTEBOOK,
        on_stdin=say_always,
    )
    assert run.status == "ok", run.error
    assert len(run.asked) == 1
    assert "always" in final_bundle(run)["text/plain"]


def test_several_questions_come_one_after_another(kernel: Kernel) -> None:
    run = kernel.execute(
        shard("Go. @@shell touch several @@par 3"),
        allow_stdin=True,
        metadata=NOTEBOOK,
        on_stdin=say_yes,
    )
    assert run.status == "ok", run.error
    assert len(run.asked) == 3


@pytest.mark.parametrize("metadata", [NOTEBOOK, {}], ids=["notebook", "console"])
@pytest.mark.parametrize("options", ["", "--quiet"])
def test_all_of_what_is_asked_is_shown_before_the_answer(
    kernel: Kernel, metadata: dict[str, object], options: str
) -> None:
    tail = "; touch the-tail"
    command = f"echo {'x' * 100_000}{tail}"
    cell = kernel.start_cell(
        shard(f"Go. @@shell {command} @@chunk 20000", options), allow_stdin=True, metadata=metadata
    )
    seen: list[str] = []

    def on_screen() -> str:
        shown = [display["data"] for display in displays(cell)]
        return str(shown[-1]["text/plain"]) if shown else cell.stream()

    def answer(prompt: str, password: bool) -> str:
        # Outputs come on another channel, and a large one comes a moment later.
        kernel.wait_until(cell, lambda _: "the-tail" in on_screen() + prompt, timeout=10)
        seen.append(on_screen() + prompt)
        return "n"

    kernel.finish(cell, on_stdin=answer)
    (text,) = seen
    assert text.count("x") >= 100_000
    assert "touch the-tail" in text


def test_markup_in_a_question_is_text(kernel: Kernel) -> None:
    command = "touch '<img src=x onerror=alert(1)>```'"
    run = kernel.start_cell(shard(f"Go. @@shell {command}"), allow_stdin=True, metadata=NOTEBOOK)
    kernel.finish(run, on_stdin=lambda *_: "n")
    asking = [d["data"] for d in displays(run) if "asks:" in d["data"]["text/plain"]]
    assert asking
    for bundle in asking:
        assert "<img" not in bundle["text/html"]
        assert "&lt;img" in bundle["text/html"]
    assert "asks:" not in final_bundle(run)["text/plain"]


def test_a_rule_or_yes_asks_nobody(kernel: Kernel) -> None:
    for ask in ("yes", "rules --no-raise", "deny --no-raise"):
        run = kernel.execute(
            shard("Go. @@shell touch nobody", f"--ask {ask}"), allow_stdin=True, metadata=NOTEBOOK
        )
        assert (run.status, run.asked) == ("ok", [])


def test_a_turn_that_times_out_withdraws_its_question(kernel: Kernel) -> None:
    cell = kernel.start_cell(
        shard("Go. @@shell touch late", "--timeout 1"), allow_stdin=True, metadata=NOTEBOOK
    )
    kernel.client.get_stdin_msg(timeout=10)
    kernel.finish(cell)
    assert cell.error is not None
    assert cell.error["ename"] == "TurnFailed"
    run = kernel.execute("input('name? ')", allow_stdin=True, on_stdin=lambda *_: "Ada")
    assert run.result == "'Ada'"


def test_after_a_withdrawn_question_a_yes_names_its_own(kernel: Kernel) -> None:
    """The box of the old question is still on the screen, and a line says not which it answers."""
    cell = kernel.start_cell(
        shard("Go. @@shell touch one", "--timeout 1"), allow_stdin=True, metadata=NOTEBOOK
    )
    kernel.client.get_stdin_msg(timeout=10)
    kernel.finish(cell)
    lines: list[str] = []

    def answer(prompt: str, password: bool) -> str:
        lines.append(prompt)
        return "y" if len(lines) == 1 else say_yes(prompt, password)

    run = kernel.execute(
        shard("Go. @@shell touch two"), allow_stdin=True, metadata=NOTEBOOK, on_stdin=answer
    )
    assert run.status == "ok", run.error
    assert "A yes must say #" in lines[1]
    assert len(lines) == 2
    assert exists(kernel, "two")
