"""The links between entries. Pure.

Every entry names its parent, so a log is a forest and a branch is a walk from a leaf to a root.
A link can be broken: a damaged line takes an entry away, and a foreign file can hold a ring.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from shard_jupyter.store.entry_codec import entry_id, entry_parent
from shard_jupyter.types.session_entries import SessionEntry


@dataclass(frozen=True)
class BrokenLink:
    """A link that could not be followed.

    Attributes:
        entry_id: the entry whose parent is missing, or where the ring closes.
        continued_at: the entry before it in the file, where the walk went on; None at an end.
    """

    kind: Literal["missing_parent", "parent_cycle"]
    entry_id: str
    parent_id: str
    continued_at: str | None = None


@dataclass(frozen=True)
class Walk:
    """A branch, oldest entry first, and the links on it that were broken."""

    entries: tuple[SessionEntry, ...]
    broken: tuple[BrokenLink, ...] = ()


def index_entries(entries: Sequence[SessionEntry]) -> dict[str, int]:
    """Map each id to its place; the first of two equal ids counts."""
    places: dict[str, int] = {}
    for place, entry in enumerate(entries):
        places.setdefault(entry_id(entry), place)
    return places


def walk_branch(entries: Sequence[SessionEntry], leaf: int) -> Walk:
    """Walk from the entry at place `leaf` to its root.

    Where a parent is missing the walk goes on at the entry before it in the file, which is where
    the missing one stood or its neighbour. A ring ends the walk.
    """
    places = index_entries(entries)
    seen: set[int] = set()
    branch: list[SessionEntry] = []
    broken: list[BrokenLink] = []
    place: int | None = leaf
    while place is not None:
        seen.add(place)
        branch.append(entries[place])
        place, problem = _step(entries, places, place, seen)
        if problem is not None:
            broken.append(problem)
    return Walk(tuple(reversed(branch)), tuple(reversed(broken)))


def _step(
    entries: Sequence[SessionEntry], places: dict[str, int], place: int, seen: set[int]
) -> tuple[int | None, BrokenLink | None]:
    own, parent = entry_id(entries[place]), entry_parent(entries[place])
    if parent is None:
        return None, None
    after = places.get(parent)
    if after is None:
        before = place - 1 if place > 0 and place - 1 not in seen else None
        continued = None if before is None else entry_id(entries[before])
        return before, BrokenLink("missing_parent", own, parent, continued)
    if after in seen:
        return None, BrokenLink("parent_cycle", own, parent)
    return after, None


def find_broken_links(entries: Sequence[SessionEntry]) -> list[tuple[int, BrokenLink]]:
    """Find every missing parent and one entry of every ring, with the entry's place."""
    places = index_entries(entries)
    parents: list[int | None] = []
    broken: list[tuple[int, BrokenLink]] = []
    for place, entry in enumerate(entries):
        parent = entry_parent(entry)
        parents.append(None if parent is None else places.get(parent))
        if parent is not None and parents[-1] is None:
            broken.append((place, BrokenLink("missing_parent", entry_id(entry), parent)))
    for place in _ring_places(parents):
        parent = entry_parent(entries[place])
        link = BrokenLink("parent_cycle", entry_id(entries[place]), parent or "")
        broken.append((place, link))
    return broken


def _ring_places(parents: Sequence[int | None]) -> list[int]:
    """Return one place of each ring. Visits every place once."""
    visited_by: list[int | None] = [None] * len(parents)
    rings: list[int] = []
    for start in range(len(parents)):
        place: int | None = start
        while place is not None and visited_by[place] is None:
            visited_by[place] = start
            place = parents[place]
        if place is not None and visited_by[place] == start:
            rings.append(place)
    return rings
