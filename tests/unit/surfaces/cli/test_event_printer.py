"""The printing thread: order, holding, and an output that cannot be written."""

from __future__ import annotations

import threading

import pytest

from shard_jupyter.errors import UserError
from shard_jupyter.surfaces.cli.event_printer import MAX_WAITING, EventPrinter
from shard_jupyter.types.events import AgentEvent, MessageDelta, Notice
from shard_jupyter.types.turns import TurnResult

pytestmark = pytest.mark.proves("B12")
DONE = TurnResult(turn_id="t", outcome="completed")


class ListView:
    """Keeps what it is shown; `fault` is raised instead when it is set."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.shown: list[str] = []
        self.fault = fault

    def show(self, event: AgentEvent) -> None:
        if self.fault:
            raise self.fault
        self.shown.append(getattr(event, "message", ""))

    def finish(self, result: TurnResult) -> None:
        self.shown.append(result.outcome)

    def flush(self) -> None:
        pass


def notice(text: str) -> Notice:
    return Notice(agent_id="a", code="c", message=text)


def test_everything_is_shown_in_order_before_close_returns() -> None:
    view = ListView()
    printer = EventPrinter(view, lambda: None)
    for number in range(500):
        printer.put(notice(str(number)))
    printer.close(DONE)
    assert view.shown == [*map(str, range(500)), "completed"]


def test_a_hold_shows_what_came_before_and_nothing_after() -> None:
    view = ListView()
    printer = EventPrinter(view, lambda: None)
    printer.put(notice("before"))
    released = printer.hold()
    printer.put(notice("after"))
    assert view.shown == ["before"]
    released.set()
    printer.close(None)
    assert view.shown == ["before", "after"]


def test_behind_an_output_that_stands_still_only_deltas_are_dropped() -> None:
    view = ListView()
    printer = EventPrinter(view, lambda: None)
    released = printer.hold()
    piece = MessageDelta(agent_id="a", item_id="m", offset=0, text="x")
    for _ in range(MAX_WAITING + 5):
        printer.put(piece)
    printer.put(notice("durable"))
    released.set()
    printer.close(DONE)
    assert len(view.shown) == MAX_WAITING + 2
    assert view.shown[-2:] == ["durable", "completed"]


def test_a_closed_pipe_stops_the_run_once_and_is_no_error() -> None:
    broken = threading.Semaphore(0)
    printer = EventPrinter(ListView(BrokenPipeError()), broken.release)
    for _ in range(3):
        printer.put(notice("x"))
    printer.hold().set()
    printer.close(DONE)
    assert broken.acquire(blocking=False)
    assert not broken.acquire(blocking=False)


def test_a_full_disk_is_told() -> None:
    printer = EventPrinter(ListView(OSError(28, "No space left on device")), lambda: None)
    printer.put(notice("x"))
    with pytest.raises(UserError, match="No space left"):
        printer.close(DONE)


def test_a_fault_of_the_view_is_raised_where_somebody_sees_it() -> None:
    printer = EventPrinter(ListView(KeyError("our fault")), lambda: None)
    printer.put(notice("x"))
    with pytest.raises(KeyError, match="our fault"):
        printer.close(DONE)
