"""A long text in little room: its start, its end, and how much is missing between. Pure."""

from __future__ import annotations


def keep_ends(text: str, limit: int) -> str:
    """Keep about `limit` characters, a third of them from the start; cut at line ends near by."""
    if len(text) <= limit:
        return text
    head, tail = text[: limit // 3], text[len(text) - (limit - limit // 3) :]
    head_end, tail_start = head.rfind("\n"), tail.find("\n")
    if head_end > len(head) // 2:
        head = head[:head_end]
    if 0 <= tail_start < len(tail) // 2:
        tail = tail[tail_start + 1 :]
    left_out = len(text) - len(head) - len(tail)
    return f"{head}\n[… {left_out:,} characters left out …]\n{tail}".strip("\n")
