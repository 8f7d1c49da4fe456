"""`%shard history --sessions`: the stored conversations of this folder."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from shard_jupyter.store.session_summary import SessionSummary
from shard_jupyter.surfaces.magics.line.views.descriptors import make_table
from shard_jupyter.surfaces.magics.line.views.history_view import SHOWN_TURNS, shorten_prompt
from shard_jupyter.surfaces.magics.line.views.line_view import LineView
from shard_jupyter.surfaces.magics.line.views.moments import say_when
from shard_jupyter.types.render_descriptors import RenderDescriptor, StatusDescriptor


@dataclass(frozen=True, repr=False)
class SessionsView(LineView):
    """The conversations of one folder.

    Attributes:
        sessions: all of the folder, the last used first.
    """

    cwd: str
    sessions: tuple[SessionSummary, ...]
    taken: datetime

    def describe(self) -> tuple[RenderDescriptor, ...]:
        if not self.sessions:
            return (StatusDescriptor(label=f"No conversation is stored for {self.cwd}."),)
        head = ("Session", "Last used", "Messages", "First prompt")
        rows = map(self._row, self.sessions[:SHOWN_TURNS])
        table = make_table(head, rows, total=len(self.sessions))
        newest = self.sessions[0].session_id
        return table, StatusDescriptor(label=f"Go on with one: %%shard --session {newest}")

    def _row(self, summary: SessionSummary) -> tuple[str, ...]:
        count = "" if summary.message_count is None else str(summary.message_count)
        prompt = summary.note or shorten_prompt(summary.first_prompt)
        return summary.session_id, say_when(summary.last_activity, self.taken), count, prompt
