"""The closed set of things that can be shown, told apart by `kind` (Shard §4.5).

A tool returns data; every client draws it in its own way. Names, paths and texts are data: no
renderer may take them for markup. A new kind is additive: old clients get `Unknown` and show
`fallback`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from shard_jupyter.types.wire_model import KeptModel, Unknown, open_union

Tone = Literal["info", "success", "warn", "error"]


class TextDescriptor(KeptModel):
    kind: Literal["text"] = "text"
    text: str
    language: str = ""
    """A lexer name for code, empty for prose and output."""


class KvPair(KeptModel):
    k: str
    v: str


class KvDescriptor(KeptModel):
    kind: Literal["kv"] = "kv"
    pairs: tuple[KvPair, ...]


class Hunk(KeptModel):
    """A run of lines. Each starts with a space, plus or minus.

    A line without a final line end is followed by one that starts with a backslash, as in every
    unified diff.
    """

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: tuple[str, ...]


class DiffDescriptor(KeptModel):
    kind: Literal["diff"] = "diff"
    path: str
    hunks: tuple[Hunk, ...]
    added: int = 0
    removed: int = 0
    cut_lines: int = 0
    """Lines of the diff left out because it was too long."""


class TreeNode(KeptModel):
    label: str
    detail: str = ""
    children: tuple[TreeNode, ...] = ()


class TreeDescriptor(KeptModel):
    kind: Literal["tree"] = "tree"
    root: TreeNode


class ProgressDescriptor(KeptModel):
    kind: Literal["progress"] = "progress"
    label: str
    current: float
    total: float | None = None


class StatusDescriptor(KeptModel):
    kind: Literal["status"] = "status"
    label: str
    tone: Tone = "info"


if TYPE_CHECKING:
    RenderDescriptor = (
        TextDescriptor
        | KvDescriptor
        | DiffDescriptor
        | TreeDescriptor
        | ProgressDescriptor
        | StatusDescriptor
        | Unknown
    )
else:
    RenderDescriptor = open_union(
        "kind",
        TextDescriptor,
        KvDescriptor,
        DiffDescriptor,
        TreeDescriptor,
        ProgressDescriptor,
        StatusDescriptor,
    )
