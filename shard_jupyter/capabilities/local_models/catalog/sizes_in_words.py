"""Sizes as people are told them, in decimal units as download pages use them. Pure."""

from __future__ import annotations


def show_size(size: int) -> str:
    if size >= 1_000_000:
        return f"{size / 1_000_000:,.0f} MB"
    if size >= 1_000:
        return f"{size / 1_000:.0f} kB"
    return f"{size} bytes"
