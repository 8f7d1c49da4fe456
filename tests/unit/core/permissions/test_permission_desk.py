from __future__ import annotations

from datetime import UTC, datetime

import anyio
import pytest

from shard_jupyter.core.permissions.pending_requests import Discarded, Resolved, RuleRefused
from shard_jupyter.core.permissions.permission_desk import PermissionDesk
from shard_jupyter.types.decisions import Allow
from tests.unit.core.permissions.test_pending_requests import NARROW, ask

pytestmark = pytest.mark.proves("A06")


class HandClock:
    """Time passes when the test says so."""

    def __init__(self) -> None:
        self.time = 0.0
        self.sleeping = anyio.Event()
        self._moved = anyio.Event()

    def monotonic(self) -> float:
        return self.time

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.time, UTC)

    async def sleep(self, seconds: float) -> None:
        until = self.time + seconds
        self.sleeping.set()
        while self.time < until:
            await self._moved.wait()

    def advance(self, seconds: float) -> None:
        self.time += seconds
        self._moved.set()
        self._moved = anyio.Event()


class Wait:
    """A wait that runs in a task of its own."""

    def __init__(self, desk: PermissionDesk, request_id: str) -> None:
        self._desk, self._request_id = desk, request_id
        self.result: Resolved | None = None
        self.scope = anyio.CancelScope()

    async def __call__(self) -> None:
        with self.scope:
            self.result = await self._desk.wait(self._request_id)


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def announced() -> list[Resolved]:
    return []


@pytest.fixture
def desk(clock: HandClock, announced: list[Resolved]) -> PermissionDesk:
    return PermissionDesk(clock, announced.append)


async def test_waiter_gets_the_first_answer(
    desk: PermissionDesk, announced: list[Resolved]
) -> None:
    desk.open(ask())
    wait = Wait(desk, "r")
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await anyio.lowlevel.checkpoint()
            assert desk.answer("a", "r", "allow_always", {"tool": "*"}, "eve") == RuleRefused("r")
            assert desk.answer("b", "r", "deny", None, "eve") == Discarded("r")
            desk.answer("a", "r", "allow_always", NARROW, "ada")
            desk.answer("a", "r", "deny", None, "bob")
    assert wait.result is not None
    assert (wait.result.by, wait.result.decision.kind) == ("ada", "allow_always")
    assert announced == [wait.result]


async def test_answer_may_come_before_anybody_waits(desk: PermissionDesk) -> None:
    desk.open(ask(), timeout_seconds=60)
    desk.answer("a", "r", "allow", None, "ada")
    with anyio.fail_after(5):
        assert (await desk.wait("r")).by == "ada"


async def test_unanswered_request_is_denied_at_its_deadline(
    desk: PermissionDesk, clock: HandClock, announced: list[Resolved]
) -> None:
    desk.open(ask(), timeout_seconds=60)
    wait = Wait(desk, "r")
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await clock.sleeping.wait()
            clock.advance(59)
            assert desk.pending("a") == (ask(),)
            clock.advance(1)
    assert wait.result is not None
    assert (wait.result.state, wait.result.decision.kind) == ("expired", "deny")
    assert announced == [wait.result]


async def test_policy_can_decide_for_a_waiter(desk: PermissionDesk) -> None:
    desk.open(ask())
    desk.settle("r", Allow(why="headless rule"), "headless")
    with anyio.fail_after(5):
        assert (await desk.wait("r")).state == "settled"


async def test_cancelled_wait_withdraws_the_request_and_tells_the_clients(
    desk: PermissionDesk, announced: list[Resolved]
) -> None:
    desk.open(ask(), timeout_seconds=60)
    wait = Wait(desk, "r")
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await anyio.lowlevel.checkpoint()
            wait.scope.cancel()
    assert wait.result is None
    assert [one.state for one in announced] == ["withdrawn"]
    assert desk.pending() == ()
    assert desk.answer("a", "r", "allow", None, "ada") == Discarded("r")


async def test_wait_cancelled_after_the_answer_announces_the_answer_once(
    desk: PermissionDesk, announced: list[Resolved]
) -> None:
    desk.open(ask())
    wait = Wait(desk, "r")
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await anyio.lowlevel.checkpoint()
            desk.answer("a", "r", "allow", None, "ada")
            wait.scope.cancel()
    assert [one.state for one in announced] == ["answered"]


async def test_one_of_many_waiters_is_woken_by_its_own_answer_only(desk: PermissionDesk) -> None:
    waits = {name: Wait(desk, name) for name in ("r1", "r2", "r3")}
    for name in waits:
        desk.open(ask(name))
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            for wait in waits.values():
                group.start_soon(wait)
            await anyio.lowlevel.checkpoint()
            desk.answer("a", "r2", "allow", None, "ada")
            await anyio.wait_all_tasks_blocked()
            assert [name for name, wait in waits.items() if wait.result] == ["r2"]
            group.cancel_scope.cancel()


@pytest.mark.parametrize("seed", range(20))
async def test_two_answers_at_once_give_one_winner(
    desk: PermissionDesk, announced: list[Resolved], seed: int
) -> None:
    desk.open(ask())
    start = anyio.Event()
    outcomes = []

    async def answer(by: str, turns: int) -> None:
        await start.wait()
        for _ in range(turns):
            await anyio.lowlevel.checkpoint()
        outcomes.append(desk.answer("a", "r", "allow", None, by))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(answer, "ada", seed % 5)
            group.start_soon(answer, "bob", seed // 5)
            start.set()
        ended = await desk.wait("r")
    assert sorted(type(one).__name__ for one in outcomes) == ["Discarded", "Resolved"]
    assert announced == [ended]


async def test_a_request_for_which_nobody_will_wait_leaves_nothing_behind(
    desk: PermissionDesk, announced: list[Resolved]
) -> None:
    for name, answered in (("open", False), ("answered", True)):
        desk.open(ask(name), timeout_seconds=60)
        if answered:
            desk.answer("a", name, "allow", None, "ada")
        desk.forget(name, "the turn has ended")
        desk.forget(name, "twice")
    assert [(one.request.request_id, one.state) for one in announced] == [
        ("open", "withdrawn"),
        ("answered", "answered"),
    ]
    assert desk._slots == {}


async def test_a_request_is_open_until_the_first_answer(desk: PermissionDesk) -> None:
    desk.open(ask())
    assert desk.is_open("r")
    desk.answer("a", "r", "deny", None, "ada")
    assert not desk.is_open("r")
    assert (await desk.wait("r")).by == "ada"
