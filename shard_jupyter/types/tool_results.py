"""What a tool gives back."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from shard_jupyter.types.content import ResultPart, TextBlock
from shard_jupyter.types.render_descriptors import RenderDescriptor
from shard_jupyter.types.wire_model import KeptModel

ResultStatus = Literal["ok", "error", "denied", "interrupted", "uncertain"]
"""`uncertain`: the call was started, its outcome is not known, and it is never run again."""


class ToolResult(KeptModel):
    """`content` is for the model, `render` for people, `details` for programs.

    `details` never goes to a model. Known keys: `exit_code` (int), `changed_paths` (list of str,
    absolute), `spill_path` (str).
    """

    content: tuple[ResultPart, ...] = ()
    is_error: bool = False
    status: ResultStatus = "ok"
    render: tuple[RenderDescriptor, ...] = ()
    details: dict[str, Any] = Field(default_factory=dict)


def text_result(text: str, *render: RenderDescriptor, **details: Any) -> ToolResult:  # noqa: ANN401
    return ToolResult(content=(TextBlock(text=text),), render=render, details=details)


def error_result(text: str, status: ResultStatus = "error", **details: Any) -> ToolResult:  # noqa: ANN401
    return ToolResult(
        content=(TextBlock(text=text),), is_error=True, status=status, details=details
    )
