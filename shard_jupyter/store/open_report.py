"""What was found wrong in a session log, in words that a client can show."""

from __future__ import annotations

from typing import Literal

from shard_jupyter.types.wire_model import WireModel

FindingKind = Literal[
    "torn_tail",
    "missing_newline",
    "damaged_line",
    "oversized_line",
    "duplicate_id",
    "missing_parent",
    "parent_cycle",
    "missing_header",
    "extra_header",
    "unfit_entry",
    "half_characters",
    "newer_version",
]
LOST: frozenset[FindingKind] = frozenset({"torn_tail", "damaged_line", "oversized_line"})
MAX_FINDINGS = 500


class Finding(WireModel):
    """One thing, and the bytes of the file it is about: from `start` up to, without, `end`."""

    kind: FindingKind
    start: int
    end: int
    message: str


class OpenReport(WireModel):
    """What reading a log came to.

    `findings` is in file order, and at most `MAX_FINDINGS` long: `left_out` counts the rest.
    """

    findings: tuple[Finding, ...] = ()
    left_out: int = 0
    skipped_lines: int = 0
    """Lines that hold no entry any more, the torn tail included."""
    side_file: str = ""
    """Name of the file beside the log that took the torn tail; empty when nothing was moved."""

    @property
    def is_clean(self) -> bool:
        return not self.findings

    def of_kind(self, *kinds: FindingKind) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.kind in kinds)


class Findings:
    """Collects findings while a file is read; neighbouring damage becomes one finding."""

    def __init__(self) -> None:
        self._findings: list[Finding] = []
        self._left_out = 0
        self._skipped = 0

    def add(self, kind: FindingKind, start: int, end: int, message: str) -> None:
        finding = Finding(kind=kind, start=start, end=end, message=message)
        if kind in LOST:
            self._skipped += 1
            if self._joins_last(finding):
                start = self._findings[-1].start
                text = f"Bytes {start} to {end} hold several lines that cannot be read."
                finding = finding.model_copy(update={"start": start, "message": text})
                self._findings[-1] = finding
                return
        if len(self._findings) < MAX_FINDINGS:
            self._findings.append(finding)
        else:
            self._left_out += 1

    def _joins_last(self, finding: Finding) -> bool:
        if finding.kind != "damaged_line" or not self._findings:
            return False
        last = self._findings[-1]
        return last.kind == "damaged_line" and last.end == finding.start

    def report(self, side_file: str = "") -> OpenReport:
        return OpenReport(
            findings=tuple(sorted(self._findings, key=lambda finding: finding.start)),
            left_out=self._left_out,
            skipped_lines=self._skipped,
            side_file=side_file,
        )
