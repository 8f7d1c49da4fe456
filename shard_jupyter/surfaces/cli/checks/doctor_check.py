"""What `shard doctor` finds, line by line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "warn", "problem"]


@dataclass(frozen=True)
class Check:
    """One line of the report."""

    name: str
    status: Status
    message: str
    next_step: str = ""
