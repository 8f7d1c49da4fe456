"""Questions are asked and answered inside the running cell, through the kernel's stdin."""

from __future__ import annotations

import ast
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
    """Two answers: that it is for more than this call, and for how long."""
    return say_yes(prompt, password, "t" if prompt.startswith("Always allow") else "a")


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
    first, second = run.asked
    assert first == "bash: y, s, a, e, n, ?> "
    assert second.startswith("Always allow\n  touch always\n")
    assert "Allowed by you, always" in final_bundle(run)["text/plain"]


@pytest.mark.proves("A06")
@pytest.mark.parametrize("how", ["its id", "all"])
def test_what_is_allowed_for_the_session_is_listed_and_taken_back(kernel: Kernel, how: str) -> None:
    """In the notebook whose agent has it: it stands in no file that a command line could read."""

    def asked(name: str, line: str = "%%shard") -> int:
        cell = f"{line}\nGo. @@shell touch {name}"
        run = kernel.execute(cell, allow_stdin=True, metadata=NOTEBOOK, on_stdin=say_for_session)
        assert run.status == "ok", run.error
        return len(run.asked)

    def say_for_session(prompt: str, password: bool) -> str:
        return say_yes(prompt, password, "s")

    name = f"kept-{len(how)}"
    assert (asked(name, shard("").strip()), asked(name)) == (1, 0)
    found = kernel.execute("g = %shard grants\ng").outputs[0]["content"]["data"]["text/plain"]
    assert f"allow bash touch {name}" in found
    assert "until it is closed" in found
    told = kernel.execute(f"[(r.id, r.scope) for r in g.grants if {name!r} in r.words]")
    [(grant_id, scope)] = ast.literal_eval(told.result)
    assert scope == "session"
    which = "all" if how == "all" else grant_id
    gone = kernel.execute(f"%shard grants revoke {which}").outputs[0]["content"]["data"]
    assert f"Revoked: allow bash touch {name}" in gone["text/plain"]
    assert asked(name) == 1


@pytest.mark.proves("T81")
@pytest.mark.parametrize(("how", "count"), [("@@par 3", 1), ("@@times 3", 3)])
def test_equal_questions_of_a_message_are_one_and_others_come_one_by_one(
    kernel: Kernel, how: str, count: int
) -> None:
    run = kernel.execute(
        shard(f"Go. @@shell touch several {how}"),
        allow_stdin=True,
        metadata=NOTEBOOK,
        on_stdin=say_yes,
    )
    assert run.status == "ok", run.error
    assert len(run.asked) == count


@pytest.mark.proves("A08", "T74")
def test_the_facts_of_a_call_are_shown_and_an_edit_is_asked_again(kernel: Kernel) -> None:
    answers = ["?", "e", "touch   'edited-by-hand'", "y"]
    shown: list[str] = []
    cell = kernel.start_cell(
        shard("Go. @@shell touch as-it-was > /dev/null"), allow_stdin=True, metadata=NOTEBOOK
    )

    def on_screen() -> str:
        seen = displays(cell)
        return str(seen[-1]["data"]["text/html"]) if seen else ""

    def answer(prompt: str, password: bool) -> str:
        told = "Edited by you." if answers == ["y"] else "asks:"
        kernel.wait_until(cell, lambda _: told in on_screen(), timeout=10)
        shown.append(on_screen() + prompt)
        return answers.pop(0)

    run = kernel.finish(cell, on_stdin=answer)
    assert run.status == "ok", run.error
    assert "<strong>Undo</strong>: Yes: what it makes is new" in shown[0]
    assert "Why asked" in shown[1]
    assert "Edited by you." in shown[3]
    assert "touch edited-by-hand" in shown[3]
    assert exists(kernel, "edited-by-hand")
    assert not exists(kernel, "as-it-was")
    assert "Allowed by you, edited" in final_bundle(run)["text/plain"]


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
