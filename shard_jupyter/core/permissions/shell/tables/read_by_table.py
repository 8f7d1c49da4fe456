"""What a table says of one command line."""

from __future__ import annotations

from collections.abc import Sequence

from shard_jupyter.core.permissions.shell.shell_verdict import ArgvReading
from shard_jupyter.core.permissions.shell.tables.command_table import CommandTable
from shard_jupyter.core.permissions.shell.tables.scan_words import Scan, fits, scan_words


def read_by_table(
    table: CommandTable, argv: Sequence[str], has_glob: frozenset[int]
) -> ArgvReading:
    scan = scan_words(table, argv, has_glob)
    if scan.why_not:
        return ArgvReading(why_not=scan.why_not, writes=tuple(scan.writes))
    paths, why_not = _read_operands(table, argv[0], scan)
    if why_not:
        return ArgvReading(why_not=why_not)
    goes_below = table.below == "always" or scan.has(table.below.split())
    if not paths:
        default = table.default_below if goes_below else table.default
        paths = [default] if default else []
    return ArgvReading(
        reads=(*scan.paths, *paths),
        reads_below=tuple(paths) if goes_below else (),
        run_as=(argv[0], *table.adds, *argv[1:]) if table.adds else (),
    )


def _read_operands(table: CommandTable, program: str, scan: Scan) -> tuple[list[str], str]:
    """Return the operands that are files, and why they cannot be taken."""
    fixed, rest = table.roles
    if fixed and scan.has(table.instead.split()):
        fixed = fixed[1:]
    paths = []
    for at, word in enumerate(scan.operands):
        role = fixed[at] if at < len(fixed) else rest
        if role is None:
            return [], f"{program} takes {word} for something that is not known to be harmless"
        if not fits(role, word):
            return [], f"{word} is not a {role} for {program}"
        if role == "path":
            paths.append(word)
    return paths, ""
