"""Questions on a real terminal: all is shown, a whole line answers, waiting can be cancelled."""

from __future__ import annotations

import os
import pty
import threading
from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from shard_jupyter.surfaces.cli.event_printer import EventPrinter
from shard_jupyter.surfaces.cli.run_turn import Questioner
from shard_jupyter.surfaces.conversation.answer_dialog import AnswerDialog, Reply
from shard_jupyter.surfaces.conversation.question import (
    answer_words,
    find_standing_answer,
    prompt_again,
    short_prompt,
    show_question,
)
from shard_jupyter.surfaces.conversation.terminal_question import TerminalLines, ask_person
from shard_jupyter.types.decisions import CommandPattern, Rule
from shard_jupyter.types.events import PermissionRequest
from shard_jupyter.types.render_descriptors import DiffDescriptor, Hunk, TextDescriptor
from tests.unit.surfaces.cli.test_event_printer import ListView, notice

pytestmark = pytest.mark.proves("B12")
GIT = Rule(effect="allow", tool="bash", command=CommandPattern(program="git", args=("push",)))
WEB = Rule(effect="allow", tool="web")


def request(command: str = "git push", **more: Any) -> PermissionRequest:
    return PermissionRequest(
        agent_id="a",
        request_id="r",
        call_id="c",
        tool=more.pop("tool", "bash"),
        prompt=more.pop("prompt", "run a command?"),
        arguments=more.pop("arguments", {"command": command}),
        **more,
    )


def describe(rule: Rule) -> str:
    return f"{rule.effect} {rule.tool}"


@pytest.mark.proves("A06")
def test_a_question_about_a_call_read_from_text_says_so_and_offers_no_always() -> None:
    text = show_question(request(recovered=True, why="it was read"), describe)
    assert text == snapshot("""\

bash (recovered from text) asks: run a command?
  │ git push
  Why asked    it was read

  y  allow it once
  e  edit the command first
  n  deny it; words after the n are told to the model
  ?  explain
> \
""")


def test_a_question_shows_the_command_and_every_answer() -> None:
    text = show_question(request(offered_rules=(GIT,), why="no rule allows it"), describe)
    assert text == snapshot(
        """\

bash asks: run a command?
  │ git push
  Why asked    no rule allows it

  y  allow it once
  s  allow it for this session: allow bash
  a  allow it always: asks for how long
  e  edit the command first
  n  deny it; words after the n are told to the model
  ?  explain
> \
"""
    )


def test_a_preview_is_shown_whole() -> None:
    hunk = Hunk(old_start=0, old_lines=0, new_start=1, new_lines=300, lines=("+x",) * 300)
    diff = DiffDescriptor(path="a.py", hunks=(hunk,), added=300)
    text = show_question(
        request(tool="write", arguments={"path": "a.py"}, render=(diff,)), describe
    )
    assert text.count("│ +x\n") == 300


def test_the_command_is_shown_even_if_the_preview_leaves_it_out() -> None:
    preview = (TextDescriptor(text="harmless"),)
    assert "│ rm -rf ~" in show_question(request("rm -rf ~", render=preview), describe)
    exact = (TextDescriptor(text="rm -rf ~"),)
    assert show_question(request("rm -rf ~", render=exact), describe).count("rm -rf ~") == 1


def test_a_preview_that_only_mentions_the_command_does_not_stand_for_it() -> None:
    mention = (TextDescriptor(text="harmless"),)
    assert "│ harm\n" in show_question(request("harm", render=mention), describe)


def test_blank_lines_and_the_end_of_a_command_are_shown() -> None:
    text = show_question(request("cat <<E\n\nx\nE\n rm -rf ~"), describe)
    assert "  │ cat <<E⏎\n  │ ⏎\n  │ x⏎\n  │ E⏎\n  │  rm -rf ~\n\n  y" in text


def test_no_text_can_pass_for_a_line_of_the_question() -> None:
    evil = "x\n  y  allow it once\n> "
    text = show_question(
        request(
            evil,
            tool=evil,
            prompt=evil,
            why=f"because {evil}",
            arguments={"command": evil, "p": evil},
        ),
        describe,
    )
    assert text.count("\n  y  allow it once") == 1
    assert text.count("\n> ") == 1
    assert text.count("\nWhy asked") == 0


def test_other_arguments_are_shown_in_full() -> None:
    text = show_question(request(arguments={"command": "ls", "timeout": 5}), describe)
    assert "│ ls\n" in text
    assert '"timeout": 5' in text


@given(st.text(alphabet="\x1b\r\u202e\u200b\x9b\nab "))
def test_nothing_in_a_question_is_hidden(evil: str) -> None:
    asked = request(
        evil,
        tool=f"t{evil}",
        prompt=f"p{evil}",
        why=evil,
        offered_rules=(WEB.model_copy(update={"tool": evil}),),
        render=(TextDescriptor(text=evil),),
    )
    assert not set(show_question(asked, describe)) & set("\x1b\r\u202e\u200b\x9b")


class Person:
    """The other end of a terminal."""

    def __init__(self) -> None:
        self.end, self.descriptor = pty.openpty()
        self.terminal = TerminalLines(self.descriptor, owned=True)
        self.seen = b""
        self._more = threading.Condition()
        threading.Thread(target=self._read, args=(os.dup(self.end),), daemon=True).start()

    def _read(self, own: int) -> None:
        """Read a descriptor of its own: the number of a closed one may be that of the next test."""
        while True:
            try:
                data = os.read(own, 4096)
            except OSError:
                os.close(own)
                return
            with self._more:
                self.seen += data
                self._more.notify_all()

    def type(self, data: bytes) -> None:
        os.write(self.end, data)

    async def see(self, data: bytes, count: int = 1) -> None:
        def wait() -> None:
            with self._more:
                is_there = self._more.wait_for(lambda: self.seen.count(data) >= count, timeout=10)
                assert is_there, (data, self.seen)

        await anyio.to_thread.run_sync(wait)


@pytest.fixture
def person() -> Iterator[Person]:
    person = Person()
    yield person
    os.close(person.end)


async def test_an_answer_on_the_terminal_is_taken(person: Person) -> None:
    replies: list[Reply] = []

    async def ask() -> None:
        with person.terminal:
            replies.append(await ask_person(request(), person.terminal, describe))

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await person.see(b"> ")
            person.type(b"what?\n")
            await person.see(b"That is no answer")
            person.type("n nej, třeba později\n".encode())
    assert replies == [Reply("deny", note="nej, třeba později")]


async def test_keys_typed_before_the_question_allow_nothing(person: Person) -> None:
    person.type(b"y\ny\ny\n")
    replies: list[Reply] = []

    async def ask() -> None:
        with person.terminal:
            replies.append(await ask_person(request(), person.terminal, describe))

    with anyio.fail_after(10):
        await person.see(b"y\r\n", 3)
        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await person.see(b"> ")
            person.type(b"n\n")
    assert replies == [Reply("deny")]


@pytest.mark.proves("T81")
@pytest.mark.parametrize("pieces", [[b"a\nm\n"], [b"a\n", b"m\n"], [b"a\n", b"m", b"\n", b"m\n"]])
async def test_both_steps_of_always_in_one_paste_allow_nothing(
    person: Person, pieces: list[bytes]
) -> None:
    """However it arrives: a terminal hands a paste on in pieces."""
    replies: list[Reply] = []

    async def ask() -> None:
        with person.terminal:
            asked = request(offered_rules=(GIT,))
            replies.append(await ask_person(asked, person.terminal, describe))

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await person.see(b"\n> ")
            for piece in pieces:
                person.type(piece)
            await person.see(b"all my projects")
            await person.see(b"\n> ", 2)
            person.type(b"p\n")
    assert replies == [Reply("allow_always", rule=GIT, keep="project")]


async def test_a_command_is_edited_on_a_line_of_its_own(person: Person) -> None:
    replies: list[Reply] = []

    async def ask() -> None:
        with person.terminal:
            replies.append(await ask_person(request(), person.terminal, describe))

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await person.see(b"\n> ")
            person.type(b"e\n")
            await person.see(b"\n$ ")
            person.type(b"git push --dry-run\n")
    assert replies == [Reply("allow", arguments={"command": "git push --dry-run"})]


async def test_waiting_can_be_cancelled_and_the_terminal_used_again(person: Person) -> None:
    with anyio.fail_after(10), person.terminal as terminal:
        replies: list[Reply] = []

        async def wait_in_vain() -> None:
            replies.append(await ask_person(request(), terminal, describe))

        async with anyio.create_task_group() as group:
            group.start_soon(wait_in_vain)
            await person.see(b"> ")
            group.cancel_scope.cancel()
        assert replies == []
        await person.see(b"(No answer is needed any more.)")
        async with anyio.create_task_group() as group:

            async def again() -> None:
                assert await ask_person(request(), terminal, describe) == Reply("allow")

            group.start_soon(again)
            await person.see(b"> ", 2)
            person.type(b"y\n")


async def test_nothing_is_shown_while_a_question_is_open(person: Person) -> None:
    view = ListView()
    printer = EventPrinter(view, lambda: None)
    questioner = Questioner(printer, describe, lambda: person.terminal)
    replies: list[Reply] = []

    async def ask() -> None:
        replies.append(await questioner.ask(request()))

    with anyio.fail_after(10):
        printer.put(notice("before"))
        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await person.see(b"> ")
            printer.put(notice("while it is open"))
            assert view.shown == ["before"]
            person.type(b"y\n")
        await anyio.to_thread.run_sync(printer.close, None)
    assert replies == [Reply("allow")]
    assert view.shown == ["before", "while it is open"]


async def test_the_end_of_the_input_denies() -> None:
    read, write = os.pipe()
    os.write(write, b"what?\n")
    os.close(write)
    with anyio.fail_after(10), TerminalLines(read) as terminal:
        reply = await ask_person(request(), terminal, describe)
    os.close(read)
    assert reply.decision == "deny"


async def test_answers_can_come_through_a_pipe() -> None:
    read, write = os.pipe()
    os.write(write, b"y\nn later\n")
    with anyio.fail_after(10), TerminalLines(read) as terminal:
        assert await ask_person(request(), terminal, describe) == Reply("allow")
        assert await ask_person(request(), terminal, describe) == Reply("deny", note="later")
    os.close(read)
    os.close(write)


@pytest.mark.parametrize("mark", ["", "#1", "#12"])
@pytest.mark.parametrize("rules", [(), (GIT,), (GIT, WEB)])
@given(tool=st.text(max_size=20))
def test_every_short_prompt_says_which_answer_is_a_yes(
    mark: str, rules: tuple[Rule, ...], tool: str
) -> None:
    asked = request(offered_rules=rules, tool=tool)
    words = answer_words(asked, mark)
    for prompt in (
        short_prompt(asked, words),
        f"all of it\n{short_prompt(asked, words)}",
        prompt_again("That is no answer.", words),
        prompt_again("A yes must say #3: an earlier box may still be open.", words),
    ):
        yes = find_standing_answer(prompt)
        assert yes == words[0]
        reply = AnswerDialog(asked, describe, prompt, mark=mark).take(yes)
        assert reply is not None
        assert reply.decision == "allow"


@pytest.mark.proves("A06", "B11")
@pytest.mark.parametrize("mark", ["", "#1"])
def test_who_always_says_yes_denies_a_call_that_was_read_from_text(mark: str) -> None:
    asked = request(recovered=True)
    short = short_prompt(asked, answer_words(asked, mark))
    assert short.startswith("bash (recovered from text): y")
    for prompt in (short, f"{show_question(asked, describe).removesuffix('> ')}{short}"):
        answer = find_standing_answer(prompt)
        assert answer == "n"
        assert AnswerDialog(asked, describe, prompt, mark=mark).take(answer) == Reply("deny")


@pytest.mark.parametrize(
    "prompt", ["", "> ", "name? ", "Go on? y, n", "Go on? (y, n)> ", "y/n> ", "bash: a, n> "]
)
def test_what_is_no_question_about_a_call_has_no_yes(prompt: str) -> None:
    assert find_standing_answer(prompt) is None
