"""What a kernel shows becomes the outputs that are stored in a notebook, as in JupyterLab. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import output_from_msg

SHOWN = frozenset({"stream", "display_data", "execute_result", "error"})


class NotebookOutputs:
    """The outputs of one run of a notebook. Cells are changed in place."""

    def __init__(self) -> None:
        self._displays: dict[str, list[NotebookNode]] = {}
        self._cell: NotebookNode = NotebookNode()
        self._clear_next = False

    def start(self, cell: NotebookNode) -> None:
        """From now on outputs are those of `cell`, which loses the ones it had."""
        self._cell = cell
        self._clear_next = False
        cell.outputs = []
        cell.execution_count = None

    def take(self, kind: str, content: Mapping[str, Any], message: Mapping[str, Any]) -> bool:
        """Take in a message of the cell's; True when the outputs have changed."""
        if "execution_count" in content:
            self._cell.execution_count = content["execution_count"]
        if kind == "clear_output":
            return self._clear(wait=bool(content.get("wait")))
        if kind == "update_display_data":
            return self._update(content)
        if kind not in SHOWN:
            return False
        if self._clear_next:
            self._clear(wait=False)
        if kind == "stream" and self._extend_stream(content):
            return True
        output = output_from_msg(dict(message))
        if display_id := find_display_id(content):
            self._update(content)
            self._displays.setdefault(display_id, []).append(output)
        self._cell.outputs.append(output)
        return True

    def _clear(self, *, wait: bool) -> bool:
        self._clear_next = wait
        if wait:
            return False
        gone = {id(output) for output in self._cell.outputs}
        for display_id, outputs in self._displays.items():
            kept = [output for output in outputs if id(output) not in gone]
            self._displays[display_id] = kept
        self._cell.outputs = []
        return True

    def _update(self, content: Mapping[str, Any]) -> bool:
        """Replace what shows this display, in whatever cell it stands."""
        outputs = self._displays.get(find_display_id(content) or "", [])
        for output in outputs:
            output["data"] = NotebookNode(content["data"])
            output["metadata"] = NotebookNode(content["metadata"])
        return bool(outputs)

    def _extend_stream(self, content: Mapping[str, Any]) -> bool:
        last = self._cell.outputs[-1] if self._cell.outputs else None
        if last is None or last.output_type != "stream" or last.name != content["name"]:
            return False
        last.text += content["text"]
        return True


def find_display_id(content: Mapping[str, Any]) -> str | None:
    found = (content.get("transient") or {}).get("display_id")
    return found if isinstance(found, str) else None
