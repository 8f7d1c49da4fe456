"""`%shard doctor`: what `shard doctor` finds in the folder and environment of this kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import TypeAdapter

from shard_jupyter.surfaces.magics.line.command_child import ask_command_line
from shard_jupyter.surfaces.magics.line.line_arguments import LineArguments
from shard_jupyter.surfaces.magics.line.views.descriptors import make_table
from shard_jupyter.surfaces.magics.line.views.line_view import LineView
from shard_jupyter.types.render_descriptors import RenderDescriptor, StatusDescriptor

if TYPE_CHECKING:
    from shard_jupyter.surfaces.magics.kernel_agents import KernelAgents

_FOUND_PROBLEMS = 1


@dataclass(frozen=True)
class Check:
    """One line of the report."""

    name: str
    status: Literal["ok", "warn", "problem"]
    message: str
    next_step: str = ""


@dataclass(frozen=True, repr=False)
class DoctorView(LineView):
    """The whole report.

    Attributes:
        ok: no check found a problem; warnings do not count.
    """

    ok: bool
    checks: tuple[Check, ...]

    def describe(self) -> tuple[RenderDescriptor, ...]:
        rows = ((check.status, check.name, _sentence(check)) for check in self.checks)
        return self._verdict(), make_table(("Result", "Check", "Found"), rows)

    def _verdict(self) -> StatusDescriptor:
        problems = sum(check.status == "problem" for check in self.checks)
        warnings = sum(check.status == "warn" for check in self.checks)
        if problems:
            label = f"{problems} to mend before agents can work."
            return StatusDescriptor(label=label, tone="error")
        if warnings:
            label = f"Nothing stands in the way; {warnings} to look at."
            return StatusDescriptor(label=label, tone="warn")
        return StatusDescriptor(label="All is well.", tone="success")


def _sentence(check: Check) -> str:
    return f"{check.message} → {check.next_step}" if check.next_step else check.message


def run_command(agents: KernelAgents, given: LineArguments) -> DoctorView:
    del agents, given
    report = ask_command_line("doctor", codes=(0, _FOUND_PROBLEMS))
    return TypeAdapter(DoctorView).validate_python(report)
