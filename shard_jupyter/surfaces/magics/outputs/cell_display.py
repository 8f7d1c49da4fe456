"""One display of a cell: made once, replaced from then on. Cheap to import."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shard_jupyter.surfaces.render_static.visible_text import make_visible_line

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


class CellDisplay:
    """Used from the cell's own task alone: only there the output gets the right cell.

    Args:
        shell: where the cell runs.
        display_id: names the display, so that it can be replaced; None: it is shown once.
    """

    def __init__(self, shell: InteractiveShell, display_id: str | None) -> None:
        # Taken now: what runs later in this kernel may put another one in its place.
        self._publisher: Any = shell.display_pub
        self._display_id = display_id
        self._is_there = False

    def show(self, bundle: Mapping[str, Any]) -> None:
        transient = {} if self._display_id is None else {"display_id": self._display_id}
        self._publisher.publish(
            data=dict(bundle), metadata={}, transient=transient, update=self._is_there
        )
        self._is_there = self._display_id is not None


def make_state_bundle(agent: str, state: str) -> dict[str, str]:
    """Say what an agent is doing, before its turn and without what makes a turn's bundle. Pure."""
    name = make_visible_line(agent)
    return {
        "text/plain": f"{name} · {state}",
        "text/html": f"<p><strong>{html.escape(name)}</strong> · {html.escape(state)}</p>",
    }
