"""The bash tool: one command, run to its end or its deadline, and nothing of it left running."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Annotated

import anyio.to_thread
from pydantic import Field, field_validator
from pydantic.json_schema import SkipJsonSchema

from shard_jupyter.contracts.process_runner import ProcessOutcome, ProcessSpec
from shard_jupyter.contracts.tool import Reach
from shard_jupyter.contracts.tool_context import ToolContext
from shard_jupyter.core.children.confined_environment import confined_environment
from shard_jupyter.core.children.git_call import harden_git
from shard_jupyter.core.permissions.shell.parse_command import parse_command
from shard_jupyter.core.permissions.shell.parsed_command import NotUnderstood, simple_commands
from shard_jupyter.core.sandbox.sandboxed_run import (
    CHANGES,
    SandboxedOutcome,
    run_sandboxed,
)
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
NOT_FOUND = 127
"""What bash exits with when it does not find a program."""
NOTE_BYTES = 2000
"""Room for what is said below the output."""


class BashInput(ToolInput):
    command: str = Field(min_length=1)
    timeout_seconds: Annotated[float, Field(gt=0, le=MAX_SECONDS)] | SkipJsonSchema[None] = None
    network: bool = Field(default=False, description="needs the network")
    unconfined: bool = Field(
        default=False, description="needs files or devices outside the workspace"
    )

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
        return Reach(
            kind="execute",
            command=call.command,
            obeys_context=True,
            summary=summary,
            asks_network=call.network,
            asks_unconfined=call.unconfined,
        )

    async def show(self, call: BashInput, context: ToolContext) -> tuple[RenderDescriptor, ...]:
        command = TextDescriptor(text=call.command, language="bash")
        where = [KvPair(k="folder", v=str(context.cwd))]
        if call.timeout_seconds is not None:
            where.append(KvPair(k="time limit", v=f"{call.timeout_seconds:g} s"))
        if context.sandbox is not None and (call.network or call.unconfined):
            lifted = "none, as the call asks" if call.unconfined else "with the network"
            where.append(KvPair(k="sandbox", v=lifted))
        return (command, KvDescriptor(pairs=tuple(where)))

    async def run(self, call: BashInput, context: ToolContext) -> ToolResult:
        kept_bytes = context.output_limit_bytes - NOTE_BYTES
        head_bytes = kept_bytes // 3
        seconds = call.timeout_seconds or context.bash_timeout_seconds
        spec = ProcessSpec(
            argv=("bash", "-c", context.command or call.command),
            cwd=context.cwd,
            env=await _environment(context),
            timeout_seconds=seconds,
            head_bytes=head_bytes,
            tail_bytes=kept_bytes - head_bytes,
            spill_path=context.scratch / f"output-{secrets.token_hex(8)}.txt",
        )
        sandbox = None if call.unconfined else context.sandbox
        with OutputProgress(context.report) as progress:
            if sandbox is None:
                done = SandboxedOutcome(await context.processes.run(spec, progress.feed))
            else:
                network = call.network or context.has_network
                done = await run_sandboxed(
                    spec, sandbox, context.processes, progress.feed, network=network
                )
        notes = [*_notes(seconds, done.outcome), *done.notes]
        if context.is_confined and done.outcome.exit_code == NOT_FOUND:
            notes.append(f"[it only reads, so it ran unasked with PATH={spec.env['PATH']}]")
        return _result(done, notes, context.output_limit_bytes)


async def _environment(context: ToolContext) -> Mapping[str, str]:
    if not context.is_confined:
        return context.environment
    made = await anyio.to_thread.run_sync(confined_environment, context.environment, context.cwd)
    if not _uses_git(context.command):
        return made
    return await harden_git(context.processes, context.cwd, made)


def _uses_git(command: str) -> bool:
    parsed = parse_command(command)
    if isinstance(parsed, NotUnderstood):
        return True
    return any(one.words[0].text == "git" for one in simple_commands(parsed))


def _result(done: SandboxedOutcome, notes: list[str], limit_bytes: int) -> ToolResult:
    outcome = done.outcome
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
    if done.changes:
        details[CHANGES] = done.changes.in_words()
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
