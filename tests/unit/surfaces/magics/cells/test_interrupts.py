"""The handler of SIGINT is ours for the life of a cell, and the old one's ever after."""

from __future__ import annotations

import itertools
import signal
import threading

import pytest

from shard_jupyter.surfaces.magics.cells.interrupts import InterruptGuard

pytestmark = pytest.mark.proves("D02", "J3.3")


def test_a_press_is_counted_and_raises_nothing() -> None:
    before = signal.getsignal(signal.SIGINT)
    presses: list[str] = []
    with InterruptGuard(lambda: presses.append("press")):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
    assert presses == ["press", "press"]
    assert signal.getsignal(signal.SIGINT) is before


def test_the_old_handler_comes_back_after_an_error() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError), InterruptGuard(lambda: None):
        1 / 0  # noqa: B018
    assert signal.getsignal(signal.SIGINT) is before
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_guards_that_end_in_any_order_leave_the_old_handler(order: tuple[int, ...]) -> None:
    before = signal.getsignal(signal.SIGINT)
    pressed: list[int] = []
    guards = [InterruptGuard(lambda number=number: pressed.append(number)) for number in range(3)]
    for guard in guards:
        guard.__enter__()
    left = set(range(3))
    for number in order:
        pressed.clear()
        signal.raise_signal(signal.SIGINT)
        assert set(pressed) == left
        guards[number].__exit__(None, None, None)
        left.remove(number)
    assert signal.getsignal(signal.SIGINT) is before


def test_in_another_thread_nothing_is_installed() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen: list[object] = []

    def run() -> None:
        with InterruptGuard(lambda: None):
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [before]
