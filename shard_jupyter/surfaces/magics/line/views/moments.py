"""When something was, as people say it: 12 min ago. Pure."""

from __future__ import annotations

from datetime import UTC, datetime

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_DATE_AFTER = 30 * _DAY


def say_when(timestamp: str, now: datetime) -> str:
    """Put a timestamp of a log (RFC 3339) into words; one that cannot be read is shown as it is."""
    try:
        moment = datetime.fromisoformat(timestamp)
    except ValueError:
        return timestamp
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    seconds = (now - moment).total_seconds()
    if seconds < -_MINUTE:  # another machine's clock
        return moment.astimezone().strftime("%Y-%m-%d %H:%M")
    if seconds < _MINUTE:
        return "just now"
    if seconds >= _DATE_AFTER:
        return moment.astimezone().strftime("%Y-%m-%d")
    for size, unit in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    raise AssertionError(seconds)
