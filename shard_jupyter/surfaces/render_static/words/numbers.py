"""Numbers as people read them: 950, 48.2k, 1.2M; $0.21; 0.2 s; 12 kB. Pure."""

from __future__ import annotations


def show_count(number: int) -> str:
    for limit, unit in ((999_950, "M"), (1_000, "k")):
        if number >= limit:
            size = 1_000_000 if unit == "M" else 1_000
            return f"{number / size:.1f}{unit}"
    return str(number)


def show_cost(usd: float | None) -> str:
    if usd is None:
        return "cost unknown"
    return "<$0.01" if 0 < usd < 0.005 else f"${usd:.2f}"


def show_seconds(seconds: float) -> str:
    if seconds < 0.05:
        return "<0.1 s"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def show_clock(seconds: float) -> str:
    """How long something has been running: 0:42, 1:02:10."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def show_bytes(size: int) -> str:
    for limit, unit in ((1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")):
        if size >= limit:
            return f"{size / limit:.{0 if size >= 10 * limit else 1}f} {unit}"
    return f"{size} B"
