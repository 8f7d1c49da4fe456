"""Messages of a kernel become outputs: replaced, cleared and put together as a notebook shows them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nbformat import NotebookNode

from shard_jupyter.surfaces.notebook_runs.cell_outputs import NotebookOutputs

pytestmark = pytest.mark.proves("D12")


def cell() -> NotebookNode:
    return nbformat.v4.new_code_cell("x")


def take(outputs: NotebookOutputs, kind: str, **content: Any) -> bool:
    message = {"header": {"msg_type": kind}, "msg_type": kind, "content": content}
    return outputs.take(kind, content, message)


def display(outputs: NotebookOutputs, text: str, display_id: str | None, kind: str) -> bool:
    transient = {} if display_id is None else {"display_id": display_id}
    return take(outputs, kind, data={"text/plain": text}, metadata={}, transient=transient)


def texts(found: NotebookNode) -> list[str]:
    return [
        output.text if output.output_type == "stream" else output["data"]["text/plain"]
        for output in found.outputs
    ]


def test_a_display_is_replaced_in_every_cell_that_shows_it() -> None:
    outputs, first, second = NotebookOutputs(), cell(), cell()
    outputs.start(first)
    display(outputs, "1", "d", "display_data")
    display(outputs, "other", "e", "display_data")
    outputs.start(second)
    display(outputs, "2", "d", "display_data")
    assert texts(first) == ["2", "other"]
    assert display(outputs, "3", "d", "update_display_data")
    assert (texts(first), texts(second)) == (["3", "other"], ["3"])


def test_an_update_of_what_nobody_shows_changes_nothing() -> None:
    outputs, found = NotebookOutputs(), cell()
    outputs.start(found)
    assert not display(outputs, "1", "unknown", "update_display_data")
    assert not display(outputs, "1", None, "update_display_data")
    assert texts(found) == []


def test_cleared_displays_are_not_replaced_any_more() -> None:
    outputs, found = NotebookOutputs(), cell()
    outputs.start(found)
    display(outputs, "1", "d", "display_data")
    take(outputs, "clear_output", wait=False)
    assert not display(outputs, "2", "d", "update_display_data")
    assert texts(found) == []


def test_a_clear_that_waits_happens_with_the_next_output() -> None:
    outputs, found = NotebookOutputs(), cell()
    outputs.start(found)
    take(outputs, "stream", name="stdout", text="old")
    take(outputs, "clear_output", wait=True)
    assert texts(found) == ["old"]
    take(outputs, "stream", name="stdout", text="new")
    assert texts(found) == ["new"]


def test_a_cell_that_runs_again_loses_what_it_had() -> None:
    outputs, found = NotebookOutputs(), cell()
    outputs.start(found)
    take(outputs, "execute_result", data={"text/plain": "1"}, metadata={}, execution_count=4)
    assert found.execution_count == 4
    outputs.start(found)
    assert (texts(found), found.execution_count) == ([], None)


def test_what_is_no_output_is_left_out() -> None:
    outputs, found = NotebookOutputs(), cell()
    outputs.start(found)
    assert not take(outputs, "status", execution_state="busy")
    assert not take(outputs, "comm_open", comm_id="c", data={})
    assert not take(outputs, "execute_input", code="x", execution_count=7)
    assert (texts(found), found.execution_count) == ([], 7)


@given(st.lists(st.tuples(st.sampled_from(["stdout", "stderr"]), st.text(max_size=3)), max_size=12))
def test_however_a_stream_is_cut_neighbours_of_one_name_are_one_output(
    pieces: list[tuple[str, str]],
) -> None:
    outputs, found = NotebookOutputs(), cell()
    outputs.start(found)
    for name, text in pieces:
        take(outputs, "stream", name=name, text=text)
    names = [output.name for output in found.outputs]
    assert all(a != b for a, b in pairwise(names))
    for name in ("stdout", "stderr"):
        written = "".join(text for of, text in pieces if of == name)
        assert "".join(o.text for o in found.outputs if o.name == name) == written
