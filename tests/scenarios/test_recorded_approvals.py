"""What a person answered is part of a recording: it plays again, and nothing else is allowed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest

from shard_jupyter import ApprovalAnswer, Shard
from shard_jupyter.errors import StorageError, TurnFailed, UserError
from shard_jupyter.testing.scripted_provider import ScriptedProvider, Step, call, calls, say
from shard_jupyter.types.events import AgentEvent, PermissionRequest, PermissionResolved
from shard_jupyter.types.turns import TurnResult

pytestmark = pytest.mark.proves("E04", "A06", "B11")
SECRET = "correct-horse-battery"
Answers = Iterable[ApprovalAnswer]
ALLOW = ApprovalAnswer(decision="allow")


def deny(note: str) -> ApprovalAnswer:
    return ApprovalAnswer(decision="deny", note=note)


def edit(**arguments: Any) -> ApprovalAnswer:
    return ApprovalAnswer(decision="allow", arguments=arguments)


@dataclass
class Run:
    """One run of some prompts in a workspace of its own, and all that can be seen of it."""

    folder: Path
    results: list[TurnResult] = field(default_factory=list)
    events: list[AgentEvent] = field(default_factory=list)
    log: list[dict[str, Any]] = field(default_factory=list)

    def questions(self) -> list[tuple[str, str, str]]:
        """Tool, decision and who gave it, of each question, in the order of their ends."""
        tools = {e.request_id: e.tool for e in self.events if isinstance(e, PermissionRequest)}
        return [
            (tools[event.request_id], event.decision.kind, event.by)
            for event in self.events
            if isinstance(event, PermissionResolved)
        ]

    def results_of_tools(self) -> list[tuple[str, str]]:
        return [
            (entry["status"], entry["content"][0]["text"].replace(str(self.folder), "FOLDER"))
            for entry in self.log
            if entry["type"] == "tool_result"
        ]

    def files(self) -> dict[str, str]:
        return {path.name: path.read_text(encoding="utf-8") for path in self.folder.iterdir()}

    def grants(self) -> list[dict[str, Any]]:
        return [entry["grant"]["rule"] for entry in self.log if entry["type"] == "grant"]

    def end(self) -> Any:
        return (
            [(r.outcome, r.text, len(r.denials)) for r in self.results],
            self.results_of_tools(),
            self.files(),
            self.grants(),
        )


async def run(
    folder: Path, *prompts: str, answers: Answers = (), check: bool = True, **options: Any
) -> Run:
    folder.mkdir()
    (folder / "old.txt").write_text("old\n", encoding="utf-8")
    done, left = Run(folder), list(answers)

    async def approve(request: PermissionRequest) -> ApprovalAnswer:
        answer = left.pop(0)
        if answer.decision == "allow_always":
            return answer.model_copy(update={"rule": request.offered_rules[0]})
        return answer

    environ = {**os.environ, "MY_API_KEY": SECRET}
    if left:
        options["on_approval"] = approve
    with anyio.fail_after(30):
        agent = Shard(cwd=folder, environ=environ, **options)
        agent.subscribe(done.events.append)
        async with agent:
            session = agent.session_id
            for prompt in prompts:
                done.results.append(await agent.prompt(prompt, check=check))
    log = await anyio.Path(environ["SHARD_HOME"], "sessions", session, "session.jsonl").read_bytes()
    done.log = [json.loads(line) for line in log.split(b"\n") if line]
    assert left == []
    return done


def write(name: str, content: str = "x\n") -> Step:
    return call("write", path=name, content=content)


ALWAYS = ApprovalAnswer(decision="allow_always")
TOUCH = call("bash", command="touch b.txt")
SCRIPT = [
    calls(write("a.txt"), TOUCH, write("c.txt")),
    calls(write("d.txt", "model's\n"), TOUCH),
    say("Done."),
    TOUCH,
    say("Again."),
]
ANSWERS = [ALLOW, ALWAYS, deny("no c, please"), edit(path="d.txt", content="person's\n")]
PROMPTS = ("make the files", "once more")


async def record(folder: Path, file: Path) -> Run:
    provider = ScriptedProvider(SCRIPT)
    return await run(folder, *PROMPTS, answers=ANSWERS, provider=provider, record=file)


async def test_every_answer_plays_again_to_the_same_end_twice(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    recorded = await record(tmp_path / "recorded", file)
    assert recorded.files() == {
        "old.txt": "old\n", "a.txt": "x\n", "b.txt": "", "d.txt": "person's\n",
    }  # fmt: skip
    for number in range(2):
        played = await run(tmp_path / f"played-{number}", *PROMPTS, model=f"replay:{file}")
        assert played.end() == recorded.end()
        by_person = [(tool, kind) for tool, kind, _ in recorded.questions()]
        assert played.questions() == [(tool, kind, "cassette") for tool, kind in by_person]
    assert recorded.results_of_tools()[2] == (
        "denied",
        "Denied: A person said no. Note: no c, please",
    )


async def test_a_recording_of_a_replay_is_the_same_and_so_is_one_of_that(tmp_path: Path) -> None:
    files = [tmp_path / f"{number}.jsonl" for number in range(3)]
    await record(tmp_path / "w0", files[0])
    for number in (1, 2):
        played = files[number - 1]
        await run(tmp_path / f"w{number}", *PROMPTS, model=f"replay:{played}", record=files[number])
        assert files[number].read_bytes() == files[0].read_bytes()
    await record(tmp_path / "w3", files[1])
    assert files[1].read_bytes() == files[0].read_bytes()


async def test_the_lines_can_be_read_and_tell_nothing_of_person_machine_or_moment(
    tmp_path: Path,
) -> None:
    folder, file = tmp_path / "work", tmp_path / "run.jsonl"
    home = os.environ["HOME"]
    command = f"echo {SECRET} > {folder}/out; ls {home}"
    script = [call("bash", command=command), write("a.txt"), say("ok")]
    answers = [edit(command=command.replace("out", "other")), ALLOW, ALWAYS]
    await run(folder, "go", answers=answers, provider=ScriptedProvider(script), record=file)
    data = file.read_text(encoding="utf-8")
    lines = [json.loads(line) for line in data.split("\n") if line]
    assert [line for line in lines if line["type"] == "approval"] == [
        {
            "type": "approval",
            "tool": "bash",
            "arguments": {"command": "echo {secret} > {cwd}/out; ls {home}"},
            "decision": "allow",
            "edited": {"command": "echo {secret} > {cwd}/other; ls {home}"},
        },
        {
            "type": "approval",
            "tool": "bash",
            "arguments": {"command": "echo {secret} > {cwd}/other; ls {home}"},
            "decision": "allow",
        },
        {
            "type": "approval",
            "tool": "write",
            "arguments": {"path": "a.txt", "content": "x\n"},
            "decision": "allow_always",
            "rule": {"effect": "allow", "tool": "write", "path": "a.txt", "source": "run"},
        },
    ]
    for told in (SECRET, str(folder), home, "sdk", "req-", "call-0"):
        assert told not in data


@pytest.mark.parametrize("answer", [ALLOW, ALWAYS], ids=lambda answer: answer.decision)
async def test_answers_that_came_at_once_for_calls_of_one_message_play_again(
    answer: ApprovalAnswer, tmp_path: Path
) -> None:
    """All are asked before the first grant counts, so a replay must find all three."""
    step = calls(write("a.txt", "1"), write("a.txt", "2"), write("a.txt", "1"))
    files = [tmp_path / "0.jsonl", tmp_path / "1.jsonl"]
    recorded = await record_quickly(tmp_path / "w0", files[0], step, answer)
    assert [line.count('"approval"') for line in lines_of(files[0])].count(1) == 3
    played = await run(tmp_path / "w1", "go", model=f"replay:{files[0]}", record=files[1])
    assert played.files() == recorded.files()
    assert files[1].read_bytes() == files[0].read_bytes()


async def record_quickly(folder: Path, file: Path, step: Step, answer: ApprovalAnswer) -> Run:
    """Answer when all three calls of the message are asked for, the last one first.

    What is asked anew, because the file is another by then, is answered at once.
    """
    folder.mkdir()
    (folder / "old.txt").write_text("old\n", encoding="utf-8")
    waiting: list[PermissionRequest] = []
    answered: list[bool] = []
    done = Run(folder)
    with anyio.fail_after(30):
        provider = ScriptedProvider([step, say("ok")])
        async with Shard(cwd=folder, provider=provider, record=file, ask="inline") as agent:

            def take(event: AgentEvent) -> None:
                if isinstance(event, PermissionRequest):
                    waiting.append(event)
                if not waiting or (len(waiting) < 3 and not answered):
                    return
                answered.append(True)
                for question in reversed(waiting):
                    rule = question.offered_rules[0] if answer is ALWAYS else None
                    agent.session.answer_permission(
                        question.request_id, answer.decision, by="quick", rule=rule
                    )
                waiting.clear()

            agent.subscribe(take)
            done.results.append(await agent.prompt("go"))
    return done


async def test_the_same_question_is_answered_in_recorded_order_and_then_no_more(
    tmp_path: Path,
) -> None:
    file = tmp_path / "run.jsonl"
    again = call("bash", command="echo x >> out.txt")
    script = [again, again, again, say("ok")]
    answers = [ALLOW, deny("wait"), ALLOW]
    provider = ScriptedProvider(script)
    first = await run(tmp_path / "a", "go", answers=answers, provider=provider, record=file)
    assert first.files()["out.txt"] == "x\nx\n"
    assert (await run(tmp_path / "b", "go", model=f"replay:{file}")).end() == first.end()
    cut = [line for line in lines_of(file) if '"allow"' not in line]
    file.write_text("".join(cut), encoding="utf-8")
    third = await run(tmp_path / "c", "go", model=f"replay:{file}", check=False)
    # The first question got the answer of the second, and the next one none.
    assert [kind for _, kind, _ in third.questions()] == ["deny"]
    assert "out.txt" not in third.files()


def lines_of(file: Path) -> list[str]:
    return [f"{line}\n" for line in file.read_text(encoding="utf-8").split("\n") if line]


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("a.txt", "other.txt", '"path": "other.txt"'),
        ('"x\\\\n"', '"y\\\\n"', '"path": "a.txt"'),
    ],
)
async def test_a_call_that_was_not_recorded_fails_the_run_and_the_rule_is_named(
    old: str, new: str, rule: str, tmp_path: Path
) -> None:
    """As after an edit of the cassette: what the person had seen is not what would run."""
    file = tmp_path / "run.jsonl"
    provider = ScriptedProvider([write("a.txt"), say("ok")])
    await run(tmp_path / "a", "go", answers=[ALLOW], provider=provider, record=file)
    changed = [
        line
        if '"approval"' in line
        else line.replace(old.replace("\\\\", "\\"), new.replace("\\\\", "\\"))
        for line in lines_of(file)
    ]
    assert changed != lines_of(file)
    file.write_text("".join(changed), encoding="utf-8")
    folder = tmp_path / "b"
    with pytest.raises(TurnFailed, match="The cassette holds no answer to this question") as caught:
        await run(folder, "go", model=f"replay:{file}")
    assert caught.value.code == "denied"
    assert rule in caught.value.next_step
    assert [path.name for path in folder.iterdir()] == ["old.txt"]
    allowed = json.loads(caught.value.result.denials[0].would_allow)
    overrides = {"permissions.rules": [allowed]}
    await run(tmp_path / "c", "go", model=f"replay:{file}", overrides=overrides, check=False)
    assert (tmp_path / "c" / json.loads(rule.partition(": ")[2])).exists()


async def test_a_deny_rule_goes_before_a_recorded_answer(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    provider = ScriptedProvider([write("a.txt"), say("ok")])
    await run(tmp_path / "a", "go", answers=[ALLOW], provider=provider, record=file)
    overrides = {"permissions.rules": [{"effect": "deny", "tool": "write"}]}
    played = await run(
        tmp_path / "b", "go", model=f"replay:{file}", overrides=overrides, check=False
    )
    assert played.results[0].denials
    assert "a.txt" not in played.files()


async def test_an_answer_whose_rule_is_not_offered_here_is_none(tmp_path: Path) -> None:
    """A cassette from elsewhere must not store what a person could not have stored."""
    file = tmp_path / "run.jsonl"
    provider = ScriptedProvider([write("a.txt"), say("ok")])
    await run(tmp_path / "a", "go", answers=[ALWAYS], provider=provider, record=file)
    text = file.read_text(encoding="utf-8")
    assert text.count('"path": "a.txt", "source"') == 1
    file.write_text(text.replace('"path": "a.txt", "source"', '"path": "**", "source"'), "utf-8")
    played = await run(tmp_path / "b", "go", model=f"replay:{file}", check=False)
    assert played.results[0].denials
    assert played.grants() == []
    assert "a.txt" not in played.files()


async def test_what_nobody_answered_is_no_answer(tmp_path: Path) -> None:
    """Neither a rule's decision nor that of a policy is a person's."""
    file = tmp_path / "run.jsonl"
    script = [calls(write("a.txt"), call("read", path="old.txt"), write("b.txt")), say("ok")]
    overrides = {"permissions.rules": [{"effect": "deny", "path": "b.txt"}]}
    provider = ScriptedProvider(script)
    folder = tmp_path / "a"
    await run(
        folder, "go", provider=provider, record=file, ask="yes", overrides=overrides, check=False
    )
    assert "approval" not in file.read_text(encoding="utf-8")


async def test_a_cassette_that_cannot_be_written_stops_the_call_that_was_allowed(
    tmp_path: Path,
) -> None:
    folder, place = tmp_path / "work", tmp_path / "place"
    place.mkdir()

    async def approve(request: PermissionRequest) -> ApprovalAnswer:
        await anyio.Path(place / "run.jsonl").unlink()
        await anyio.Path(place).rmdir()
        return ALLOW

    folder.mkdir()
    with anyio.fail_after(20):
        provider = ScriptedProvider([write("a.txt")])
        async with Shard(
            cwd=folder, provider=provider, record=place / "run.jsonl", on_approval=approve
        ) as agent:
            with pytest.raises(StorageError, match="cannot be written"):
                await agent.prompt("go")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "told"),
    [("none.jsonl", "No such file"), (".", "Is a directory"), ("bad.jsonl", "no cassette")],
)
async def test_a_cassette_that_is_none_is_refused_before_there_is_a_session(
    name: str, told: str, tmp_path: Path
) -> None:
    (tmp_path / "bad.jsonl").write_text("hello", encoding="utf-8")
    with anyio.fail_after(10), pytest.raises(UserError, match=told) as caught:
        async with Shard(cwd=tmp_path, model=f"replay:{tmp_path / name}"):
            pass
    assert caught.value.next_step
    assert str(tmp_path / name) in caught.value.message or name in caught.value.message
    assert not Path(os.environ["SHARD_HOME"]).exists()
