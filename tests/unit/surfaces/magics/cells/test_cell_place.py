"""What the kernel knows of a request decides what is shown and whether anybody is asked."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from shard_jupyter.surfaces.magics.cells.cell_place import (
    CellPlace,
    find_place,
    name_default_agent,
)

pytestmark = pytest.mark.proves("D09")


def shell_with(request: object) -> Any:
    return SimpleNamespace(kernel=object(), get_parent=lambda: request)


def requested(allow_stdin: object, **metadata: object) -> dict[str, object]:
    return {"content": {"allow_stdin": allow_stdin}, "metadata": metadata}


@pytest.mark.parametrize(
    ("request_message", "place"),
    [
        (requested(False), CellPlace("headless", can_ask=False)),
        (requested(False, cellId="c"), CellPlace("headless", can_ask=False)),
        (requested(True, cellId="c"), CellPlace("notebook", can_ask=True)),
        (requested(True), CellPlace("console", can_ask=True)),
        (requested(True, cellId=""), CellPlace("console", can_ask=True)),
        ({}, CellPlace("headless", can_ask=False)),
        ({"content": None, "metadata": None}, CellPlace("headless", can_ask=False)),
        (None, CellPlace("headless", can_ask=False)),
    ],
)
def test_the_request_says_where_a_cell_runs(request_message: object, place: CellPlace) -> None:
    assert find_place(shell_with(request_message)) == place


def test_a_kernel_without_parents_is_headless() -> None:
    shell: Any = SimpleNamespace(kernel=object())
    assert find_place(shell) == CellPlace("headless", can_ask=False)


def test_a_shell_without_kernel_is_a_terminal_where_nobody_is_asked_through_a_pipe() -> None:
    shell: Any = SimpleNamespace()
    assert find_place(shell) == CellPlace("terminal", can_ask=False)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/home/ada/sales-forecast.ipynb", "sales-forecast"),
        ("notes.v2.ipynb", "notes.v2"),
        ("/", "agent"),
        ("", "agent"),
        (f"/x/{'n' * 300}.ipynb", "n" * 200),
    ],
)
def test_the_agent_is_named_after_its_notebook(path: str, name: str) -> None:
    place = CellPlace("notebook", can_ask=True)
    assert name_default_agent(place, {"JPY_SESSION_NAME": path}) == name
    assert name_default_agent(place, {}) == "agent"


def test_a_headless_run_has_the_same_name_wherever_it_was_started() -> None:
    place = CellPlace("headless", can_ask=False)
    assert name_default_agent(place, {"JPY_SESSION_NAME": "/a/b.ipynb"}) == "agent"
