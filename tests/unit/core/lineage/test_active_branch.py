from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.core.lineage.active_branch import BranchView, active_branch
from shard_jupyter.errors import UsageError
from shard_jupyter.store.entry_codec import entry_id
from shard_jupyter.types.wire_model import Unknown
from tests.entry_builders import header, user

pytestmark = pytest.mark.proves("A11")


def ids(view: BranchView) -> list[str]:
    return [entry_id(entry) for entry in view.entries]


def test_the_newest_entry_is_the_leaf_and_the_header_no_part_of_history() -> None:
    log = [header(), user("e1", "header-1"), user("e2", "e1"), user("x", "e1")]
    view = active_branch(log)
    assert ids(view) == ["e1", "x"]
    assert view.repairs == ()
    assert ids(active_branch(log, "e2")) == ["e1", "e2"]


@pytest.mark.parametrize("log", [[], [header()]])
def test_a_session_without_entries_has_an_empty_branch(log: list[object]) -> None:
    assert active_branch(log) == BranchView(())  # type: ignore[arg-type]


def test_a_branch_from_the_root_does_not_see_the_other_one() -> None:
    log = [header(), user("e1", None), user("e2", "e1"), user("again", None)]
    assert ids(active_branch(log)) == ["again"]


@pytest.mark.parametrize("leaf", ["gone", ""])
def test_a_leaf_that_is_not_there_is_refused(leaf: str) -> None:
    with pytest.raises(UsageError):
        active_branch([header(), user("e1", None)], leaf)


@pytest.mark.proves("H4b.19")
@pytest.mark.parametrize("lost", range(1, 50))
def test_one_lost_line_costs_one_entry_and_is_said_aloud(lost: int) -> None:
    whole = [user("e0", None)] + [user(f"e{n}", f"e{n - 1}") for n in range(1, 51)]
    log = [header(), *whole[:lost], *whole[lost + 1 :]]
    view = active_branch(log)
    assert ids(view) == [entry.id for entry in whole if entry.id != f"e{lost}"]
    (repair,) = view.repairs
    assert repair.code == "missing_parent"
    assert f"e{lost}" in repair.message
    assert f"e{lost - 1}" in repair.message


@pytest.mark.proves("H4b.19")
def test_a_lost_first_entry_is_said_aloud() -> None:
    view = active_branch([user("e1", "e0"), user("e2", "e1")])
    assert ids(view) == ["e1", "e2"]
    assert "is lost" in view.repairs[0].message


@pytest.mark.proves("fr094")
def test_a_ring_is_said_aloud_and_hangs_nobody() -> None:
    view = active_branch([user("a", "b"), user("b", "a")])
    assert ids(view) == ["a", "b"]
    assert [repair.code for repair in view.repairs] == ["parent_cycle"]


def test_entries_of_a_newer_version_stay_in_the_chain() -> None:
    newer = Unknown(tag="new", raw={"type": "new", "id": "n", "parentId": "e1"})
    assert ids(active_branch([user("e1", None), newer, user("e2", "n")])) == ["e1", "n", "e2"]


@given(
    st.lists(
        st.tuples(st.sampled_from("abcdef"), st.none() | st.sampled_from("abcdefz")), max_size=10
    )
)
def test_any_links_give_a_branch_that_ends_at_the_leaf(links: list[tuple[str, str | None]]) -> None:
    log = [user(own, parent) for own, parent in links]
    view = active_branch(log)
    assert len({id(entry) for entry in view.entries}) == len(view.entries)
    if log:
        assert view.entries[-1] is log[-1]
