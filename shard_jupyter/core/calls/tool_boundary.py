"""The fault boundary around tools: whatever a tool does wrong is a result, not the end of the turn.

Tools come from anywhere. Each call into one goes through here, and gives what was asked for or
`ModelVisibleError`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from shard_jupyter.contracts.tool import Arguments, Reach, Tool
from shard_jupyter.contracts.tool_context import ToolContext
from shard_jupyter.core.calls.wire_fitness import fit_for_wire
from shard_jupyter.core.cancellation import is_cancelled
from shard_jupyter.errors import Bug, ModelVisibleError, StorageError, ToolFailed
from shard_jupyter.types.render_descriptors import RenderDescriptor
from shard_jupyter.types.tool_results import ToolResult, error_result

FAULT = "tool_fault"
"""Code of a `ToolFailed` that stands for a fault in the tool: a person should know of it."""


def read_call(tool: Tool, arguments: Arguments) -> tuple[Arguments, Reach]:
    """Check the arguments and say where the call reaches.

    Raises:
        ModelVisibleError: they do not fit, or the tool is at fault.
    """
    with _boundary(tool):
        parsed = tool.parse(arguments)
        return parsed, tool.reach(parsed)


async def show_call(
    tool: Tool, arguments: Arguments, context: ToolContext
) -> tuple[RenderDescriptor, ...]:
    """Return the *before* view.

    Raises:
        ModelVisibleError: the tool is at fault.
    """
    with _boundary(tool):
        # Through a result, so that it is checked like one.
        shown = ToolResult(render=await tool.preview(arguments, context))
        return fit_for_wire(shown).render


async def execute_call(tool: Tool, arguments: Arguments, context: ToolContext) -> ToolResult:
    """Run the call.

    Raises:
        ModelVisibleError: it failed, or the tool is at fault.
    """
    with _boundary(tool):
        result: object = await tool.execute(arguments, context)
        if not isinstance(result, ToolResult):
            raise TypeError(f"it returned {type(result).__name__}, not a ToolResult")
        return result


def mend_result(result: ToolResult) -> ToolResult:
    """Make it fit for the log and every client; views and details that nobody can carry go first."""
    try:
        return fit_for_wire(result)
    except ValueError as error:
        bare = result.model_copy(update={"render": (), "details": {}})
        reason = error
    try:
        return fit_for_wire(bare)
    except ValueError:
        return error_result(f"The tool ran, but its result is lost: {reason}.")


def changed_paths(details: dict[str, Any]) -> tuple[str, ...]:
    paths = details.get("changed_paths")
    return tuple(map(str, paths)) if isinstance(paths, list | tuple) else ()


@contextmanager
def _boundary(tool: Tool) -> Iterator[None]:
    try:
        yield
    except asyncio.CancelledError as error:
        if is_cancelled():
            raise
        # A tool whose own inner task was cancelled must not end the turn of somebody else.
        raise _fault(tool, error) from error
    except Exception as error:  # noqa: BLE001 - the fault boundary around a tool
        _raise_visible(tool, error)


def _raise_visible(tool: Tool, error: Exception) -> NoReturn:
    """Look into groups: a task group of the tool must not hide what is meant for the model."""
    leaves = list(_leaves(error))
    for leaf in leaves:
        if isinstance(leaf, Bug | StorageError):
            raise leaf
    if len(leaves) == 1 and isinstance(leaves[0], ModelVisibleError):
        raise leaves[0]
    raise _fault(tool, leaves[0] if len(leaves) == 1 else error) from error


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _fault(tool: Tool, error: BaseException) -> ToolFailed:
    message = f"The tool {tool.spec.name!r} failed: {type(error).__name__}: {error}"
    return ToolFailed(message, code=FAULT)
