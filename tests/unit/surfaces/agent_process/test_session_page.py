from __future__ import annotations

import pytest

from shard_jupyter.errors import UsageError
from shard_jupyter.surfaces.agent_process import session_page
from shard_jupyter.surfaces.agent_process.session_page import make_page
from shard_jupyter.types.content import TextBlock
from shard_jupyter.types.session_entries import MessageEntry

pytestmark = pytest.mark.proves("B04")


def message(number: int, text: str = "hi") -> MessageEntry:
    return MessageEntry(
        id=f"entry-{number}",
        parent_id=f"entry-{number - 1}" if number else None,
        timestamp="2026-01-01T00:00:00+00:00",
        turn_id="turn-1",
        role="user",
        content=(TextBlock(text=text),),
    )


BRANCH = [message(number) for number in range(10)]


def numbers(*, before: str | None = None, limit: int = 150) -> tuple[list[int], bool]:
    page = make_page(BRANCH, before, limit)
    return [int(entry.id.split("-")[1]) for entry in page.entries], page.more  # type: ignore[union-attr]


def test_a_page_is_the_newest_part_newest_first() -> None:
    assert numbers(limit=3) == ([9, 8, 7], True)


def test_the_next_page_goes_on_before_the_last_entry_of_this_one() -> None:
    assert numbers(before="entry-7", limit=3) == ([6, 5, 4], True)


def test_the_last_page_says_that_it_is_the_last() -> None:
    assert numbers(before="entry-4") == ([3, 2, 1, 0], False)
    assert numbers(before="entry-2", limit=2) == ([1, 0], False)
    assert numbers(before="entry-0") == ([], False)


def test_an_empty_conversation_is_an_empty_page() -> None:
    assert make_page([], None, 10).entries == ()


def test_an_entry_that_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match="entry-99"):
        numbers(before="entry-99")


def test_a_page_ends_before_its_reply_would_be_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_page, "MAX_PAGE_BYTES", 30_000)
    branch = [message(number, "x" * 10_000) for number in range(10)]
    page = make_page(branch, None, 150)
    assert (len(page.entries), page.more) == (2, True)


def test_a_page_has_an_entry_however_large_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_page, "MAX_PAGE_BYTES", 10)
    page = make_page(BRANCH, None, 150)
    assert (len(page.entries), page.more) == (1, True)
