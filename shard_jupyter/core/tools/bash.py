"""The bash tool: one command, run to its end or its deadline, and nothing of it left running."""

from __future__ import annotations

import secrets
from typing import Annotated

from pydantic import Field, field_validator
from pydantic.json_schema import SkipJsonSchema

from shard_jupyter.contracts.process_runner import ProcessOutcome, ProcessSpec
from shard_jupyter.contracts.tool import Reach
from shard_jupyter.contracts.tool_context import ToolContext
from shard_jupyter.core.text.truncation import (
    clean_text,
    cut_line,
    decode_head,
    decode_tail,
    fit_text,
    strip_escapes,
)
from shard_jupyter.core.tools.output_progress import OutputProgress
from shard_jupyter.core.tools.tool_input import InputTool, ToolInput
from shard_jupyter.types.content import TextBlock
from shard_jupyter.types.render_descriptors import (
    KvDescriptor,
    KvPair,
    RenderDescriptor,
    StatusDescriptor,
    TextDescriptor,
)
from shard_jupyter.types.tool_results import ToolResult

MAX_SECONDS = 600
MAX_COMMAND_BYTES = 120_000
"""The kernel takes no argument of 128 KiB or more."""
MAX_NAMED_SURVIVORS = 5
NOTE_BYTES = 2000
"""Room for what is said below the output."""


class BashInput(ToolInput):
    command: str = Field(min_length=1)
    timeout_seconds: Annotated[float, Field(gt=0, le=MAX_SECONDS)] | SkipJsonSchema[None] = None

    @field_validator("command")
    @classmethod
    def check_command(cls, command: str) -> str:
        if "\0" in command:
            raise ValueError("a command cannot hold a zero byte")
        if len(command.encode()) > MAX_COMMAND_BYTES:
            raise ValueError("too long for one command; write it to a file and run that")
        return command


class BashTool(InputTool[BashInput]):
    name = "bash"
    description = (
        "Run a bash command in the workspace. cwd, environment and functions do not persist "
        "between calls. No terminal, no stdin; background processes are killed at the end."
    )
    input_model = BashInput

    def reach_of(self, call: BashInput) -> Reach:
        first, _, rest = call.command.strip().partition("\n")
        summary = f"{first[:100]}…" if rest or len(first) > 100 else first
        return Reach(kind="execute", command=call.command, summary=summary)

    async def show(self, call: BashInput, context: ToolContext) -> tuple[RenderDescriptor, ...]:
        command = TextDescriptor(text=call.command, language="bash")
        where = [KvPair(k="folder", v=str(context.cwd))]
        if call.timeout_seconds is not None:
            where.append(KvPair(k="time limit", v=f"{call.timeout_seconds:g} s"))
        return (command, KvDescriptor(pairs=tuple(where)))

    async def run(self, call: BashInput, context: ToolContext) -> ToolResult:
        kept_bytes = context.output_limit_bytes - NOTE_BYTES
        head_bytes = kept_bytes // 3
        seconds = call.timeout_seconds or context.bash_timeout_seconds
        spec = ProcessSpec(
            argv=("bash", "-c", call.command),
            cwd=context.cwd,
            env=context.environment,
            timeout_seconds=seconds,
            head_bytes=head_bytes,
            tail_bytes=kept_bytes - head_bytes,
            spill_path=context.scratch / f"output-{secrets.token_hex(8)}.txt",
        )
        with OutputProgress(context.report) as progress:
            outcome = await context.processes.run(spec, progress.feed)
        return _result(seconds, outcome, context.output_limit_bytes)


def _result(seconds: float, outcome: ProcessOutcome, limit_bytes: int) -> ToolResult:
    notes = _notes(seconds, outcome)
    # Bytes that are no text grow when they are made one, so the limit is looked at once more.
    output = fit_text(_output_text(outcome), limit_bytes - NOTE_BYTES)
    text = "\n".join(part for part in (output or "(no output)", *notes) if part)
    failed = outcome.timed_out or outcome.exit_code != 0
    label = "timed out" if outcome.timed_out else f"exit code {outcome.exit_code}"
    details: dict[str, object] = {}
    if outcome.exit_code is not None:
        details["exit_code"] = outcome.exit_code
    if outcome.output.spill_path is not None:
        details["spill_path"] = str(outcome.output.spill_path)
    return ToolResult(
        content=(TextBlock(text=text),),
        is_error=failed,
        status="error" if failed else "ok",
        render=(
            TextDescriptor(text=output),
            StatusDescriptor(label=label, tone="error" if failed else "success"),
        ),
        details=details,
    )


def _output_text(outcome: ProcessOutcome) -> str:
    captured = outcome.output
    if not captured.dropped_bytes:
        return _presentable((captured.head + captured.tail).decode("utf-8", "replace"))
    cut = f"\n[… {captured.dropped_bytes:,} bytes cut …]\n"
    return _presentable(decode_head(captured.head)) + cut + _presentable(decode_tail(captured.tail))


def _presentable(text: str) -> str:
    plain = clean_text(strip_escapes(text)).rstrip("\n")
    return "\n".join(map(cut_line, plain.split("\n")))


def _notes(seconds: float, outcome: ProcessOutcome) -> list[str]:
    notes = []
    captured = outcome.output
    if captured.spill_path is not None:
        what = "whole output" if captured.spill_complete else "start of the output"
        notes.append(f"[{what} in {captured.spill_path}: read it with offset, or grep it]")
    if outcome.timed_out:
        notes.append(
            f"[timed out after {seconds:g} s and was killed; above is what it had printed]"
        )
    elif outcome.killed:
        names = "; ".join(outcome.killed[:MAX_NAMED_SURVIVORS])
        notes.append(f"[still running in the background, killed: {clean_text(names)}]")
    if outcome.exit_code:
        notes.append(f"[exit code {outcome.exit_code}]")
    return notes
