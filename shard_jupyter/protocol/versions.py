"""Which versions of the protocol this package speaks, and how two peers agree on one.

`v` stands in every record. It grows only when an old peer would misread a record; a new type, a
new optional field or a new descriptor kind is no new version.
"""

from __future__ import annotations

from shard_jupyter.errors import CommandError
from shard_jupyter.types.events import PROTOCOL_VERSION

MIN_VERSION = 1
MAX_VERSION = PROTOCOL_VERSION


def choose_version(lowest: int, highest: int) -> int:
    """Pick the highest version that both sides speak.

    Raises:
        CommandError: `version`, there is none.
    """
    chosen = min(highest, MAX_VERSION)
    if chosen < max(lowest, MIN_VERSION):
        raise version_refused(f"{lowest} to {highest}")
    return chosen


def version_refused(asked: str, command_id: str | None = None) -> CommandError:
    spoken = f"{MIN_VERSION}" if MIN_VERSION == MAX_VERSION else f"{MIN_VERSION} to {MAX_VERSION}"
    return CommandError(
        f"protocol version {asked} is not spoken here; this is version {spoken}",
        code="version",
        command_id=command_id,
    )
