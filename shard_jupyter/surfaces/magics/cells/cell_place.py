"""Where a cell runs: what its client can show, and whether anybody can be asked.

Decided from the request itself, never from environment variables: the same kernel may serve a
notebook, a console and a headless run one after the other.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TextIO

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

OutputMode = Literal["headless", "notebook", "console", "terminal"]
"""`headless`: stdin is not allowed (nbclient, papermill, nbval). `notebook`: the request names its
cell, so displays are shown and can be replaced. `console`: a client that shows text alone.
`terminal`: IPython without a kernel."""
DEFAULT_NAME = "agent"


@dataclass(frozen=True)
class CellPlace:
    """`can_ask`: somebody can answer a question by typing."""

    mode: OutputMode
    can_ask: bool


def find_place(shell: InteractiveShell) -> CellPlace:
    """Look at the request that is being executed."""
    if getattr(shell, "kernel", None) is None:
        return CellPlace("terminal", can_ask=_is_terminal(sys.stdin) and _is_terminal(sys.stdout))
    request = _read_request(shell)
    if not _part(request, "content").get("allow_stdin"):
        return CellPlace("headless", can_ask=False)
    in_notebook = _part(request, "metadata").get("cellId")
    return CellPlace("notebook" if in_notebook else "console", can_ask=True)


def _read_request(shell: InteractiveShell) -> Mapping[str, object]:
    read = getattr(shell, "get_parent", None)  # a kernel that is not ipykernel may have none
    request = read() if read is not None else None
    return request if isinstance(request, Mapping) else {}


def _part(request: Mapping[str, object], name: str) -> Mapping[str, object]:
    part = request.get(name)
    return part if isinstance(part, Mapping) else {}


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and not stream.closed and stream.isatty()


def name_default_agent(place: CellPlace, environ: Mapping[str, str]) -> str:
    """Name the agent of this kernel after its notebook; always the same where nobody looks on.

    Jupyter Server tells a kernel the path of its notebook at the start. A headless run that was
    started from a notebook inherits that, and it means nothing there.
    """
    path = environ.get("JPY_SESSION_NAME", "")
    stem = os.path.splitext(os.path.basename(path))[0].strip()  # noqa: PTH119, PTH122 - any text
    return stem[:200] if stem and place.mode != "headless" else DEFAULT_NAME
