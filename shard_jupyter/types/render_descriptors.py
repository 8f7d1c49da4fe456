"""The closed set of things that can be shown, told apart by `kind` (Shard §4.5).

A tool returns data; every client draws it in its own way. Names, paths and texts are data: no
renderer may take them for markup. A new kind is additive: old clients get `Unknown` and show
`fallback`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from shard_jupyter.types.plans import PlanStep
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


class MarkdownDescriptor(KeptModel):
    """Prose. Raw HTML, images and all but web and mail links in it are shown, never obeyed."""

    kind: Literal["markdown"] = "markdown"
    text: str


class TableDescriptor(KeptModel):
    """Cells are plain text. A row may be shorter or longer than `columns`."""

    kind: Literal["table"] = "table"
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    total_rows: int | None = None
    """How many rows there are, where `rows` is not all of them."""


class ImageDescriptor(KeptModel):
    """An image by hash, as in `ImageBlock`; a record never holds its bytes."""

    kind: Literal["image"] = "image"
    media_type: str
    sha256: str
    size_bytes: int
    alt: str = ""
    width: int | None = None
    height: int | None = None


class PlanDescriptor(KeptModel):
    kind: Literal["plan"] = "plan"
    title: str = ""
    steps: tuple[PlanStep, ...]


class ApprovalFacts(KeptModel):
    """What a person has to know before saying yes; an empty field is not shown.

    The texts are as they are: whoever draws them makes invisible characters visible.
    """

    command: str = ""
    """Exactly what would run: the canonical form, or the given bytes where there is none."""
    written: str = ""
    """What the model wrote, where that is not what would run."""
    runs_in: str = ""
    writes: tuple[str, ...] = ()
    """Files and folders that it changes, as far as the text tells."""
    reads_outside: tuple[str, ...] = ()
    """What it reads outside the workspace, and secrets inside of it."""
    network: tuple[str, ...] = ()
    """Hosts, or `any` where it may talk to whatever it likes."""
    is_known: bool = True
    """False: what else it may do cannot be told from its text."""
    undo: str = ""
    """In words: whether it can be taken back, and how."""
    rule: str = ""
    """The rule that "always" would store, in words; empty: it is not offered."""
    also_covers: tuple[str, ...] = ()
    """Real examples of other calls that the rule would cover."""
    not_covered: tuple[str, ...] = ()
    no_always: str = ""
    """Why "always" is not offered, in words."""


ApprovalState = Literal["waiting", "allowed", "denied", "expired", "withdrawn"]


class ApprovalDescriptor(KeptModel):
    """A request for permission, and how it ended."""

    kind: Literal["approval"] = "approval"
    question: str
    state: ApprovalState
    by: str = ""
    """Who decided: `you`, `rule`, `mode`, `nobody` (no one to ask), else a name to show."""
    covers: Literal["once", "session", "always"] = "once"
    rule: str = ""
    """The rule that decided or was stored, in words."""
    note: str = ""
    """What the person told the agent, or why it expired."""
    edited: bool = False
    """A person changed the arguments first."""
    why: str = ""
    """Why it is asked, in words: the rule or policy that decided."""
    facts: ApprovalFacts | None = None


class UsageDescriptor(KeptModel):
    """What it took. None is unknown, and never shown as 0."""

    kind: Literal["usage"] = "usage"
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    at_least: bool = False
    """Some calls told nothing, so that the sums are lower bounds."""
    context_tokens: int | None = None
    context_window: int | None = None


if TYPE_CHECKING:
    RenderDescriptor = (
        TextDescriptor
        | KvDescriptor
        | DiffDescriptor
        | TreeDescriptor
        | ProgressDescriptor
        | StatusDescriptor
        | MarkdownDescriptor
        | TableDescriptor
        | ImageDescriptor
        | PlanDescriptor
        | ApprovalDescriptor
        | UsageDescriptor
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
        MarkdownDescriptor,
        TableDescriptor,
        ImageDescriptor,
        PlanDescriptor,
        ApprovalDescriptor,
        UsageDescriptor,
    )
