"""From the gate to the effect: what was not allowed as it is when it runs does not run."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from shard_jupyter.errors import CommandError
from shard_jupyter.testing.fake_clock import FakeClock
from shard_jupyter.testing.scripted_provider import Step, call, calls, say
from shard_jupyter.types.decisions import CommandPattern, Rule
from shard_jupyter.types.events import AgentEvent, PermissionRequest
from tests.agent_rig import AgentRig, open_agent
from tests.faulty_tool import FaultyTool
from tests.turn_checks import check_order

pytestmark = pytest.mark.proves("A06", "A07", "B11")

OnQuestion = Callable[[AgentRig, PermissionRequest], None]
WRITE = call("write", path="a.txt", content="model's\n")


def answer(rig: AgentRig, request: PermissionRequest, decision: Any = "allow", **more: Any) -> bool:
    return rig.session.answer_permission(request.request_id, decision, by="person", **more)


async def run(
    folder: Path,
    step: Step,
    *on_questions: OnQuestion,
    ask: str = "inline",
    on_event: Callable[[AgentRig, AgentEvent], None] = lambda rig, event: None,
    **options: Any,
) -> AgentRig:
    """Prompt once; the n-th question is given to the n-th function, in a task of its own."""
    left = list(on_questions)
    with anyio.fail_after(15):
        async with open_agent(folder, step, say("ok"), ask=ask, **options) as rig:

            def pass_on(event: AgentEvent) -> None:
                if isinstance(event, PermissionRequest):
                    asyncio.get_running_loop().call_soon(left.pop(0), rig, event)
                on_event(rig, event)

            rig.session.subscribe(pass_on)
            rig.result = await rig.session.prompt("go")
            check_order(rig)
            rig.stored = rig.log()
    assert left == []
    return rig


@pytest.mark.proves("T79")
async def test_the_first_answer_counts_and_a_later_one_is_dropped_without_error(
    tmp_path: Path,
) -> None:
    later: list[bool] = []

    def twice(rig: AgentRig, request: PermissionRequest) -> None:
        assert answer(rig, request, "deny")
        later.append(answer(rig, request, "allow"))

    rig = await run(tmp_path, WRITE, twice)
    assert later == [False]
    assert not (rig.cwd / "a.txt").exists()


async def test_an_answer_that_comes_with_the_interrupt_runs_nothing(tmp_path: Path) -> None:
    late: list[bool] = []

    def interrupt_then_answer(rig: AgentRig, request: PermissionRequest) -> None:
        rig.session._turn.interrupt()
        late.append(answer(rig, request))

    rig = await run(tmp_path, WRITE, interrupt_then_answer)
    assert rig.result.outcome == "interrupted"
    # It was in time, but nothing begins any more.
    assert late == [True]
    assert not (rig.cwd / "a.txt").exists()
    assert [status for status, _ in rig.results()] == ["interrupted"]


@pytest.mark.proves("T79")
@pytest.mark.parametrize(
    "widened",
    [
        {"effect": "allow", "tool": "*"},
        {"effect": "allow", "tool": "write"},
        {"effect": "allow", "tool": "write", "path": "**", "source": "run"},
        {"effect": "allow", "tool": "write", "path": "a.txt", "source": "run", "extra": 1},
        None,
    ],
)
async def test_always_with_a_rule_that_was_not_offered_is_refused_and_leaves_the_question(
    tmp_path: Path, widened: Any
) -> None:
    def widen(rig: AgentRig, request: PermissionRequest) -> None:
        rule = None if widened is None else Rule.model_validate(widened)
        with pytest.raises(CommandError, match="offers"):
            answer(rig, request, "allow_always", rule=rule)
        assert answer(rig, request, "deny")

    rig = await run(tmp_path, WRITE, widen)
    assert not (rig.cwd / "a.txt").exists()
    assert [entry for entry in rig.stored if entry["type"] == "grant"] == []


async def test_a_person_may_change_what_is_written_and_it_is_all_on_record(tmp_path: Path) -> None:
    edited = {"path": "a.txt", "content": "person's\n"}
    rig = await run(tmp_path, WRITE, lambda rig, q: answer(rig, q, arguments=edited))
    assert (rig.cwd / "a.txt").read_text(encoding="utf-8") == "person's\n"
    [(status, text)] = rig.results()
    assert status == "ok"
    assert "A person changed the arguments" in text
    assert "person's" in text
    [entry] = [e for e in rig.stored if e["type"] == "permission" and e["by"] == "person"]
    assert entry["arguments"] == edited
    shown = rig.seen("tool_call")
    assert [event.arguments["content"] for event in shown] == ["model's\n", "person's\n"]
    assert "+person's" in shown[1].render[0].hunks[0].lines


async def test_an_edit_that_reaches_elsewhere_is_shown_and_asked_again(tmp_path: Path) -> None:
    elsewhere = {"path": "b.txt", "content": "x"}
    rig = await run(
        tmp_path,
        WRITE,
        lambda rig, q: answer(rig, q, arguments=elsewhere),
        lambda rig, q: answer(rig, q, "deny"),
    )
    first, second = rig.seen("permission_request")
    assert (first.arguments["path"], second.arguments["path"]) == ("a.txt", "b.txt")
    assert second.render != first.render
    assert sorted(path.name for path in rig.cwd.iterdir()) == []


async def test_an_edit_of_a_command_is_shown_and_asked_again_and_then_runs(tmp_path: Path) -> None:
    rig = await run(
        tmp_path,
        call("bash", command="echo 1 > one"),
        lambda rig, q: answer(rig, q, arguments={"command": "echo 2 > two"}),
        answer,
    )
    assert [path.name for path in rig.cwd.iterdir()] == ["two"]
    commands = [question.arguments["command"] for question in rig.seen("permission_request")]
    assert commands == ["echo 1 > one", "echo 2 > two"]


async def test_an_edit_goes_before_no_deny_rule(tmp_path: Path) -> None:
    deny = Rule(effect="deny", tool="write", path="secret/**")
    edited = {"path": "secret/x", "content": "x"}
    rig = await run(tmp_path, WRITE, lambda rig, q: answer(rig, q, arguments=edited), rules=[deny])
    assert [status for status, _ in rig.results()] == ["denied"]
    assert not (rig.cwd / "secret").exists()


@pytest.mark.parametrize("edited", [{}, {"path": "a.txt"}, {"path": "a.txt", "content": 3}])
async def test_an_edit_that_is_no_call_runs_nothing(tmp_path: Path, edited: Any) -> None:
    rig = await run(tmp_path, WRITE, lambda rig, q: answer(rig, q, arguments=edited))
    assert [status for status, _ in rig.results()] == ["error"]
    assert not (rig.cwd / "a.txt").exists()


@pytest.mark.parametrize("value", ["\ud800", float("nan"), 2**60, object()])
async def test_an_edit_that_nothing_can_carry_is_refused_and_leaves_the_question(
    tmp_path: Path, value: Any
) -> None:
    def edit(rig: AgentRig, request: PermissionRequest) -> None:
        with pytest.raises(CommandError, match="cannot be used"):
            answer(rig, request, arguments={"path": "a.txt", "content": value})
        assert answer(rig, request, "deny", note="half \ud800")

    rig = await run(tmp_path, WRITE, edit)
    assert [status for status, _ in rig.results()] == ["denied"]
    for event in rig.events:
        event.model_dump_json()


@pytest.mark.parametrize("way", ["before", "after"])
async def test_an_answer_that_an_interrupt_overtakes_is_still_kept(
    tmp_path: Path, way: str
) -> None:
    """Clients were told that it is allowed for always; so it is, whatever became of the call."""

    def answer_and_stop(rig: AgentRig, request: PermissionRequest) -> None:
        if way == "before":
            rig.session._turn.interrupt()
        rule = request.offered_rules[0]
        assert answer(rig, request, "allow_always", rule=rule, keep="agent")
        if way == "after":
            rig.session._turn.interrupt()

    rig = await run(tmp_path, WRITE, answer_and_stop)
    assert rig.result.outcome == "interrupted"
    assert [entry["grant"]["given_by"] for entry in rig.stored if entry["type"] == "grant"] == [
        "person"
    ]
    async with open_agent(tmp_path, WRITE, say("ok"), ask="inline") as again:
        await again.session.prompt("go on")
        assert again.seen("permission_request") == []
    assert (again.cwd / "a.txt").exists()


async def test_what_was_allowed_for_this_session_is_asked_again_in_the_next(tmp_path: Path) -> None:
    def keep(rig: AgentRig, request: PermissionRequest) -> None:
        assert answer(rig, request, "allow_always", rule=request.offered_rules[0])

    rig = await run(tmp_path, WRITE, keep)
    assert [entry["grant"]["scope"] for entry in rig.stored if entry["type"] == "grant"] == [
        "session"
    ]
    async with open_agent(tmp_path, WRITE, say("ok"), ask="rules") as again:
        await again.session.prompt("go on")
    assert [status for status, _ in again.results()] == ["ok", "denied"]


async def test_a_change_to_plan_mode_stops_what_a_person_then_allows(tmp_path: Path) -> None:
    def change_then_allow(rig: AgentRig, request: PermissionRequest) -> None:
        rig.session.set_mode("plan")
        answer(rig, request)

    rig = await run(tmp_path, WRITE, change_then_allow)
    assert [status for status, _ in rig.results()] == ["denied"]
    assert not (rig.cwd / "a.txt").exists()


async def test_a_change_of_mode_lets_nothing_through_that_waits(tmp_path: Path) -> None:
    """Allowed by the new mode's own rules, but asked for in the old one."""
    tool = FaultyTool(kind="network")
    everything = Rule(effect="allow", tool="*")

    def loosen(rig: AgentRig, request: PermissionRequest) -> None:
        modes = rig.session.parts.modes.modes
        modes["loose"] = modes["build"].model_copy(update={"name": "loose", "rules": (everything,)})
        rig.session.set_mode("loose")
        answer(rig, request, "deny")

    rig = await run(tmp_path, call("odd"), loosen, tools=[tool])
    assert [status for status, _ in rig.results()] == ["denied"]
    assert tool.ran == []


async def test_what_was_granted_and_is_no_more_is_asked_for(tmp_path: Path) -> None:
    grant = Rule(effect="allow", tool="write", path="a.txt")
    with anyio.fail_after(10):
        async with open_agent(tmp_path, WRITE, say("ok"), ask="inline") as rig:
            grants = rig.session.parts.grants
            grants.give(grant, by="person", timestamp="")

            def revoke(event: AgentEvent) -> None:
                if event.type == "usage":  # the message is there; its calls were not looked at
                    asyncio.get_running_loop().call_soon(later)

            def later() -> None:
                if rig.seen("tool_call"):
                    grants._grants.clear()
                else:
                    asyncio.get_running_loop().call_soon(later)

            def deny(event: AgentEvent) -> None:
                if isinstance(event, PermissionRequest):
                    answer(rig, event, "deny")

            rig.session.subscribe(revoke)
            rig.session.subscribe(deny)
            await rig.session.prompt("go")
            check_order(rig)
    assert len(rig.seen("permission_request")) == 1
    assert not (rig.cwd / "a.txt").exists()


async def test_a_path_that_leads_elsewhere_since_it_was_shown_is_asked_again(
    tmp_path: Path,
) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("mine\n", encoding="utf-8")

    def swap(rig: AgentRig, request: PermissionRequest) -> None:
        (rig.cwd / "a.txt").symlink_to(outside)
        answer(rig, request)

    rig = await run(tmp_path, WRITE, swap, lambda rig, q: answer(rig, q, "deny"))
    assert outside.read_text(encoding="utf-8") == "mine\n"
    assert [status for status, _ in rig.results()] == ["denied"]


@pytest.mark.proves("T63")
@pytest.mark.parametrize("ask", ["yes", "rules", "deny", "inline"])
async def test_a_deny_rule_holds_whoever_would_allow(tmp_path: Path, ask: str) -> None:
    rules = [Rule(effect="allow", tool="*"), Rule(effect="deny", tool="write", path="*.txt")]
    rig = await run(tmp_path, WRITE, ask=ask, rules=rules)
    assert not (rig.cwd / "a.txt").exists()
    assert len(rig.result.denials) == (0 if ask == "inline" else 1)


async def test_an_ask_rule_is_asked_every_time_and_offers_nothing(tmp_path: Path) -> None:
    rule = Rule(effect="ask", tool="bash", command=CommandPattern(program="touch"))
    step = calls(call("bash", command="touch made"), call("bash", command="touch other"))
    rig = await run(tmp_path, step, answer, answer, rules=[rule])
    assert [question.offered_rules for question in rig.seen("permission_request")] == [(), ()]
    assert {question.why for question in rig.seen("permission_request")} == {
        "a rule asks: ask bash touch …"
    }


@pytest.mark.parametrize(
    ("ask", "rules", "named"),
    [
        ("rules", [], True),
        ("deny", [], True),
        ("rules", [Rule(effect="ask", tool="write")], False),
    ],
)
async def test_a_headless_denial_names_a_rule_only_where_one_would_help(
    tmp_path: Path, ask: str, rules: list[Rule], named: bool
) -> None:
    rig = await run(tmp_path, WRITE, ask=ask, rules=rules)
    [denial] = rig.result.denials
    assert bool(denial.would_allow) is named
    if named:
        allowed = Rule.model_validate(json.loads(denial.would_allow))
        again = await run(tmp_path / "again", WRITE, ask="rules", rules=[allowed])
        assert (again.cwd / "a.txt").exists()


@pytest.mark.proves("H4a.14")
async def test_a_question_that_nobody_answers_ends_on_time_and_names_the_rule(
    tmp_path: Path,
) -> None:
    clock = FakeClock()
    with anyio.fail_after(10):
        async with open_agent(
            tmp_path, WRITE, say("ok"), ask="inline", clock=clock, ask_timeout_seconds=30
        ) as rig:
            results = []

            async def prompt() -> None:
                results.append(await rig.session.prompt("go"))

            async with anyio.create_task_group() as group:
                group.start_soon(prompt)
                await clock.wait_for_sleeps(1)
                clock.advance(30)
            check_order(rig)
    question = rig.seen("permission_request")[0]
    assert question.expires_at == "2030-01-01T00:00:30.000+00:00"
    [denial] = results[0].denials
    assert "a.txt" in denial.would_allow


async def test_every_decision_is_in_the_log_once(tmp_path: Path) -> None:
    step = calls(WRITE, call("bash", command="touch made"), call("read", path="a.txt"))
    rig = await run(tmp_path, step, answer, lambda rig, q: answer(rig, q, "deny"))
    entries = [entry for entry in rig.stored if entry["type"] == "permission"]
    told = [(entry["decision"]["kind"], entry["by"]) for entry in entries]
    assert sorted(told) == [
        ("allow", "person"),
        ("ask", "gate"),
        ("ask", "gate"),
        ("deny", "person"),
    ]


@pytest.mark.skipif(sys.platform == "darwin", reason="fdatasync is what is slowed down")
@pytest.mark.parametrize(("change", "status"), [("mode", "denied"), ("link", "error")])
async def test_what_changes_while_the_disk_takes_its_time_still_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, status: str
) -> None:
    loop, sync = asyncio.get_running_loop(), os.fdatasync
    outside = tmp_path / "outside.txt"
    changed = threading.Event()

    def make_change(rig: AgentRig) -> None:
        if change == "mode":
            rig.session.set_mode("plan")
        changed.set()

    def slow_sync(descriptor: int) -> None:
        log = (tmp_path / "session" / "session.jsonl").read_bytes()
        if b'"tool_intent"' in log and not changed.is_set():
            if change == "link":
                (rig.cwd / "a.txt").symlink_to(outside)
            loop.call_soon_threadsafe(make_change, rig)
            changed.wait(5)
        sync(descriptor)

    with anyio.fail_after(10):
        async with open_agent(tmp_path, WRITE, say("ok"), ask="yes") as rig:
            monkeypatch.setattr(os, "fdatasync", slow_sync)
            await rig.session.prompt("go")
            check_order(rig)
            assert [found for found, _ in rig.results()] == [status]
    assert changed.is_set()
    assert not outside.exists()
