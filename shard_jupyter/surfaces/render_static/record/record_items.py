"""What happened in a turn, item by item, as the record keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from shard_jupyter.types.render_descriptors import ApprovalDescriptor, RenderDescriptor, Tone
from shard_jupyter.types.tool_results import ResultStatus
from shard_jupyter.types.wire_model import KeptModel, Unknown, open_union

OpenState = Literal["queued", "running", "waiting"]
StepState = Literal[OpenState, ResultStatus]


class ProseItem(KeptModel):
    """What the model wrote before it went on working."""

    kind: Literal["prose"] = "prose"
    text: str
    is_open: bool = False
    """It is being written: more may come, or it may be taken back."""


class StepItem(KeptModel):
    """A tool call.

    `render` is the view of its result; of a call that has none, of what it was going to do.
    """

    kind: Literal["step"] = "step"
    number: int
    """Counts the steps of the turn from 1; `ChangedFile.steps` refers to it."""
    tool: str
    verb: str
    target: str = ""
    state: StepState = "queued"
    result: str = ""
    """What came of it, in a few words: `212 lines`, `exit 1`."""
    render: tuple[RenderDescriptor, ...] = ()
    approvals: tuple[ApprovalDescriptor, ...] = ()
    output_tail: str = ""
    """Of a running tool: the end of what it has printed so far."""
    seconds: float | None = None
    recovered: bool = Field(default=False, exclude_if=lambda value: not value)
    """The call was read from the model's text. Only there when true: other records stay as they
    were."""


class NoticeItem(KeptModel):
    """A retry, a change of model or mode, a compaction, a remark."""

    kind: Literal["notice"] = "notice"
    message: str
    tone: Tone = "info"


class SteerItem(KeptModel):
    """What the person said while the turn ran."""

    kind: Literal["steer"] = "steer"
    text: str


class ChangedFile(KeptModel):
    path: str
    added: int = 0
    removed: int = 0
    steps: tuple[int, ...] = ()
    """Numbers of the steps whose diffs of `path` make up the change, oldest first."""


class DeniedCall(KeptModel):
    tool: str
    target: str = ""
    reason: str
    would_allow: str = ""
    """The rule, as JSON, that would have allowed it; empty when none can."""


if TYPE_CHECKING:
    RecordItem = ProseItem | StepItem | NoticeItem | SteerItem | Unknown
else:
    RecordItem = open_union("kind", ProseItem, StepItem, NoticeItem, SteerItem)
