"""The way of one tool call: check, show, judge, ask, judge again, run (Shard §5).

All calls of a message are prepared before the first runs, so that a person sees every question at
once. Each is judged a second time when its turn comes, and only that second judgement counts: a
rule, a grant, a mode or a file may have changed in between.
"""

from __future__ import annotations

import json
from dataclasses import replace

from shard_jupyter.contracts.permission_gate import GateRequest
from shard_jupyter.contracts.tool_context import ToolContext
from shard_jupyter.core.calls.call_permission import (
    ask_early,
    decide,
    find_late_denial,
    withdraw_question,
)
from shard_jupyter.core.calls.ready_call import MessageCalls, PreparedCall, ReadyCall
from shard_jupyter.core.calls.tool_boundary import (
    FAULT,
    changed_paths,
    execute_call,
    mend_result,
    read_call,
    show_call,
)
from shard_jupyter.core.permissions.headless_policy import counts_allow_rules, is_headless
from shard_jupyter.core.sandbox.sandboxed_run import CHANGES
from shard_jupyter.core.turn import Turn
from shard_jupyter.errors import ModelVisibleError, ToolInputError
from shard_jupyter.store.surrogates import clean_text
from shard_jupyter.types.content import TextBlock, ToolCallBlock
from shard_jupyter.types.decisions import Deny
from shard_jupyter.types.events import (
    FilesChanged,
    Notice,
    ToolCallEvent,
    ToolProgress,
    ToolResultEvent,
)
from shard_jupyter.types.render_descriptors import RenderDescriptor
from shard_jupyter.types.tool_results import ToolResult, error_result

PARTIAL_OUTPUT_CHARS = 4_000


async def prepare(turn: Turn, call: ToolCallBlock, message: MessageCalls) -> PreparedCall:
    """Check the arguments, show what is about to happen, and ask if that will be needed."""
    prepared: PreparedCall
    try:
        prepared = await _lock_in(turn, _check(turn, call, message))
    except ModelVisibleError as error:
        prepared = _take_failure(turn, error)
    render: tuple[RenderDescriptor, ...] = ()
    if isinstance(prepared, ReadyCall):
        render = prepared.render = await _show(turn, prepared)
    turn.emit(
        ToolCallEvent,
        call_id=call.call_id,
        tool=call.name,
        arguments=call.arguments,
        render=render,
        recovered=call.recovered,
    )
    if isinstance(prepared, ReadyCall):
        message.ready.append(prepared)
        try:
            await ask_early(turn, prepared)
        except ModelVisibleError as error:
            prepared = _take_failure(turn, error)
    return prepared


def _check(turn: Turn, call: ToolCallBlock, message: MessageCalls) -> ReadyCall:
    """Find the tool and read the arguments; what does not fit is told to the model."""
    if call.arguments_error:
        raise ToolInputError(
            f"Not run: the arguments could not be read ({call.arguments_error}).",
            next_step="Send them again.",
        )
    tool = turn.parts.registry.find(call.name)
    if tool is None:
        offered = turn.parts.registry.offered(turn.parts.modes.current)
        names = ", ".join(tool.spec.name for tool in offered)
        raise ToolInputError(f"There is no tool {call.name!r}.", next_step=f"Tools: {names}.")
    arguments, reach = read_call(tool, call.arguments)
    request = GateRequest(
        call_id=call.call_id,
        tool=call.name,
        arguments=dict(arguments),
        reach=reach,
        read_only=tool.is_read_only,
        cwd=turn.parts.cwd,
        mode=turn.parts.modes.current.name,
        use_allow_rules=counts_allow_rules(turn.ask),
        use_mode_allowance=not turn.provider.route.asks_every_call,
        is_recovered=call.recovered,
    )
    return ReadyCall(call, tool, make_context(turn, call), arguments, request, message)


async def _lock_in(turn: Turn, ready: ReadyCall) -> ReadyCall:
    """Find the sandbox in which a command runs, and say once what it lacks.

    Raises:
        ToolFailed: one is required, and there is none.
    """
    if ready.request.reach.command is None:
        return ready
    sandbox = turn.parts.sandbox
    try:
        active = await sandbox.find()
    finally:
        problem = sandbox.take_problem()
        if problem is not None:
            turn.emit(Notice, code=problem.code, message=problem.message, tone="warn")
    ready.context = replace(ready.context, sandbox=active)
    return ready


async def _show(turn: Turn, ready: ReadyCall) -> tuple[RenderDescriptor, ...]:
    """Without a view the arguments themselves are shown: that is no reason not to ask."""
    try:
        return await show_call(ready.tool, ready.arguments, ready.context)
    except ModelVisibleError as error:
        _take_failure(turn, error)
        return ()


async def run(turn: Turn, prepared: PreparedCall) -> ToolResult:
    """Decide for good, then run. The result is not recorded here.

    Cancellation passes through; the tool has then left nothing running.
    """
    if isinstance(prepared, ToolResult):
        return prepared
    try:
        verdict = await decide(turn, prepared)
        if isinstance(verdict, Deny):
            return _refuse(turn, prepared, verdict)
        if prepared.request.may_change_things:
            # Tier A: on disk before the effect, so that a crash leaves a trace (DESIGN §6).
            await turn.parts.transcript.record_intent(turn.turn_id, prepared.call).wait()
            denial = await find_late_denial(turn, prepared)
            if denial is not None:
                return _refuse(turn, prepared, denial)
            prepared.has_started = True
        result = await execute_call(prepared.tool, prepared.arguments, prepared.context_to_run())
    except ModelVisibleError as error:
        withdraw_question(turn, prepared, "The call cannot run.")
        result = _take_failure(turn, error)
    return _tell_edit(prepared, result) if prepared.is_edited else result


def _tell_edit(ready: ReadyCall, result: ToolResult) -> ToolResult:
    """The model must not take the result for that of its own arguments."""
    arguments = json.dumps(dict(ready.arguments), ensure_ascii=False)
    note = TextBlock(text=f"[A person changed the arguments before it ran: {arguments}]")
    return result.model_copy(update={"content": (*result.content, note)})


def _take_failure(turn: Turn, error: ModelVisibleError) -> ToolResult:
    """Tell the model; a fault of the tool itself is also for a person to know."""
    if error.code == FAULT:
        message = clean_text(error.message)
        turn.emit(Notice, code=FAULT, message=message, tone="error")
    return error_result(str(error))


def _refuse(turn: Turn, ready: ReadyCall, denial: Deny) -> ToolResult:
    """Tell the model; note what must fail a headless run."""
    headless = is_headless(turn.ask)
    if denial.by in ("headless", "expired") or (denial.by == "rule" and headless):
        turn.note_denial(ready.call, denial.reason, denial.would_allow)
    note = f" Note: {denial.note}" if denial.note else ""
    return error_result(f"Denied: {denial.reason}{note}", status="denied")


def make_context(turn: Turn, call: ToolCallBlock) -> ToolContext:
    parts = turn.parts

    def report(text: str) -> None:
        text = clean_text(text)
        kept = turn.partial_output.get(call.call_id, "") + text
        turn.partial_output[call.call_id] = kept[-PARTIAL_OUTPUT_CHARS:]
        turn.emit(ToolProgress, call_id=call.call_id, text=text)

    return ToolContext(
        agent_id=parts.agent_id,
        turn_id=turn.turn_id,
        call_id=call.call_id,
        cwd=parts.cwd,
        environment=parts.environment,
        processes=parts.processes,
        locks=parts.locks,
        blobs=parts.blobs,
        scratch=parts.scratch,
        report=report,
        output_limit_bytes=parts.settings.output_limit_bytes,
        bash_timeout_seconds=parts.settings.bash_timeout_seconds,
    )


def record(turn: Turn, call: ToolCallBlock, result: ToolResult) -> None:
    """Write a result and tell the clients. Not a point of cancellation."""
    parts = turn.parts
    result = mend_result(result)
    entry_id, _ = parts.transcript.record_result(turn.turn_id, call, result)
    turn.partial_output.pop(call.call_id, None)
    turn.emit(
        ToolResultEvent,
        entry_id=entry_id,
        call_id=call.call_id,
        tool=call.name,
        status=result.status,
        is_error=result.is_error,
        content=result.content,
        render=result.render,
        details=result.details,
    )
    if isinstance(changes := result.details.get(CHANGES), str):
        message = f"A command has {changes}. Other programs run or obey that: look at it."
        turn.emit(Notice, code="protected.changed", message=message, tone="warn")
    paths = changed_paths(result.details)
    if paths:
        turn.changed_paths.update(dict.fromkeys(paths))
        turn.emit(FilesChanged, call_id=call.call_id, paths=paths)
