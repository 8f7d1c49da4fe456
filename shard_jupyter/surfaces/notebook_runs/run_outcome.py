"""How the run of a notebook has ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

RunState = Literal["done", "failed", "interrupted"]


@dataclass(frozen=True)
class RunOutcome:
    """`failure` is one line: which error a cell ended with, empty without one.

    Attributes:
        cells_run: code cells that were started.
        cells: code cells that there are.
    """

    state: RunState
    cells_run: int
    cells: int
    seconds: float
    failure: str = ""
