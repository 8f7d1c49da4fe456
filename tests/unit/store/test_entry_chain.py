from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.store.entry_chain import find_broken_links, walk_branch
from shard_jupyter.store.entry_codec import entry_id
from shard_jupyter.types.wire_model import Unknown
from tests.entry_builders import user

pytestmark = pytest.mark.proves("A11")

IDS = ["a", "b", "c", "d", "e"]
any_entries = st.lists(
    st.builds(
        lambda own, parent: user(own, parent),
        st.sampled_from(IDS),
        st.none() | st.sampled_from([*IDS, "gone"]),
    ),
    max_size=8,
)


def ids(entries: Any) -> list[str]:
    return [entry_id(entry) for entry in entries]


def test_a_branch_leaves_out_what_is_beside_it() -> None:
    log = [user("a", None), user("b", "a"), user("x", "a"), user("c", "b")]
    assert ids(walk_branch(log, 3).entries) == ["a", "b", "c"]
    assert ids(walk_branch(log, 2).entries) == ["a", "x"]


@pytest.mark.proves("H4b.19")
def test_a_missing_parent_does_not_end_the_history() -> None:
    log = [user("a", None), user("b", "a"), user("d", "c"), user("e", "d")]
    walk = walk_branch(log, 3)
    assert ids(walk.entries) == ["a", "b", "d", "e"]
    (link,) = walk.broken
    assert (link.kind, link.entry_id, link.parent_id) == ("missing_parent", "d", "c")
    assert link.continued_at == "b"


def test_a_ring_ends_the_walk_and_is_told() -> None:
    log = [user("a", "c"), user("b", "a"), user("c", "b")]
    walk = walk_branch(log, 2)
    assert ids(walk.entries) == ["a", "b", "c"]
    assert [link.kind for link in walk.broken] == ["parent_cycle"]


def test_an_entry_of_a_newer_version_is_part_of_the_chain() -> None:
    middle = Unknown(tag="new", raw={"type": "new", "id": "b", "parentId": "a"})
    walk = walk_branch([user("a", None), middle, user("c", "b")], 2)
    assert ids(walk.entries) == ["a", "b", "c"]
    assert walk.broken == ()


@given(any_entries, st.data())
def test_every_walk_ends_without_visiting_anything_twice(log: Any, data: st.DataObject) -> None:
    if not log:
        return
    leaf = data.draw(st.integers(0, len(log) - 1))
    walk = walk_branch(log, leaf)
    places = [next(n for n, entry in enumerate(log) if entry is each) for each in walk.entries]
    assert places[-1] == leaf
    assert len(set(places)) == len(places)


@given(any_entries)
def test_every_ring_is_found_once(log: Any) -> None:
    unique = list({entry.id: entry for entry in log}.values())
    parents = {entry.id: entry.parent_id for entry in unique}
    on_ring = set()
    for start in parents:
        seen: list[str] = []
        place: str | None = start
        while place is not None and place in parents and place not in seen:
            seen.append(place)
            place = parents[place]
        if place in seen:
            on_ring.add(frozenset(seen[seen.index(place) :]))
    found = [link for _, link in find_broken_links(unique) if link.kind == "parent_cycle"]
    assert len(found) == len(on_ring)
    assert all(any(link.entry_id in ring for ring in on_ring) for link in found)


@given(any_entries)
def test_every_missing_parent_is_found(log: Any) -> None:
    known = {entry.id for entry in log}
    missing = [entry.id for entry in log if entry.parent_id not in known | {None}]
    found = [link for _, link in find_broken_links(log) if link.kind == "missing_parent"]
    assert [link.entry_id for link in found] == missing
