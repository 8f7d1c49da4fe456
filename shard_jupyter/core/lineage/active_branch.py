"""Which entries are the conversation: the chain of parents from the active leaf (Shard §10).

Pure. An off-branch entry never leaks in; a broken link never cuts off the history before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shard_jupyter.errors import UsageError
from shard_jupyter.store.entry_chain import BrokenLink, index_entries, walk_branch
from shard_jupyter.types.session_entries import SessionEntry, SessionHeader


@dataclass(frozen=True)
class Repair:
    """Something that was put right for this view, in words for a person. No file changes.

    `about` is the id of the entry or the call.
    """

    code: str
    about: str
    message: str


@dataclass(frozen=True)
class BranchView:
    """A branch, oldest entry first, without the header."""

    entries: tuple[SessionEntry, ...]
    repairs: tuple[Repair, ...] = ()


def active_branch(entries: Sequence[SessionEntry], leaf_id: str | None = None) -> BranchView:
    """Walk from `leaf_id`, or from the newest entry, to the root.

    Where a parent is missing the walk goes on at the entry before it in the file, and a repair
    says so. A ring of parents ends the walk.

    Raises:
        UsageError: there is no entry `leaf_id`.
    """
    leaf = len(entries) - 1 if leaf_id is None else index_entries(entries).get(leaf_id)
    if leaf is None:
        raise UsageError(f"There is no entry {leaf_id} in the session.")
    if leaf < 0:
        return BranchView(())
    walk = walk_branch(entries, leaf)
    branch = tuple(entry for entry in walk.entries if not isinstance(entry, SessionHeader))
    return BranchView(branch, tuple(_in_words(link) for link in walk.broken))


def _in_words(link: BrokenLink) -> Repair:
    if link.kind == "parent_cycle":
        text = f"The parents of entry {link.entry_id} form a ring; what is before it is unknown."
    elif link.continued_at is None:
        text = f"The history before entry {link.entry_id} is lost: {link.parent_id} is missing."
    else:
        text = (
            f"Entry {link.parent_id}, before {link.entry_id}, is lost;"
            f" the history goes on at {link.continued_at}, the entry before it in the file."
        )
    return Repair(link.kind, link.entry_id, text)
