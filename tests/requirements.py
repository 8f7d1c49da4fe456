"""Compare the manifest with the tests: `python -m tests.requirements [--json]`.

Prints what is built, partly built and missing. Exits with 1 when manifest and tests disagree.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeGuard

from tests.manifest import FEATURES, Requirement, Status
from tests.manifest_harness import MANIFEST

TESTS = Path(__file__).parent
HEADINGS: dict[Status, str] = {"built": "Built", "part": "Partly built", "missing": "Missing"}


@dataclass
class Claims:
    """Which tests say that they prove what.

    Attributes:
        places: by id, `path:line` of every mark with it.
        unreadable: `path:line` of marks whose ids are no plain strings.
    """

    places: dict[str, list[str]] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)


def collect_claims(folder: Path) -> Claims:
    """Read every `pytest.mark.proves(…)` below a folder, wherever in a file it stands."""
    claims = Claims()
    for path in sorted(folder.rglob("*.py")):
        read_claims(path.read_text(encoding="utf-8"), path.relative_to(folder).as_posix(), claims)
    return claims


def read_claims(source: str, name: str, claims: Claims) -> None:
    for node in ast.walk(ast.parse(source)):
        if not _is_mark(node):
            continue
        place = f"{name}:{node.lineno}"
        ids = [text for text in map(_as_text, node.args) if text is not None]
        for row_id in ids:
            claims.places.setdefault(row_id, []).append(place)
        if not ids or len(ids) < len(node.args) or node.keywords:
            claims.unreadable.append(place)


def _is_mark(node: ast.AST) -> TypeGuard[ast.Call]:
    """Whether it is a call of `….mark.proves`, or of a `mark.proves` that was imported."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    owner = node.func.value
    name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
    return node.func.attr == "proves" and name == "mark"


def _as_text(argument: ast.expr) -> str | None:
    text = argument.value if isinstance(argument, ast.Constant) else None
    return text if isinstance(text, str) else None


def find_problems(manifest: Iterable[Requirement], claims: Claims) -> list[str]:
    """Say where manifest and tests disagree; empty when they agree."""
    rows: dict[str, Requirement] = {}
    problems = []
    for row in manifest:
        if row.id in rows:
            problems.append(f"{row.id} is in the manifest twice")
        if (row.status == "part") != bool(row.gap):
            problems.append(f"{row.id}: a gap goes with status part, and only with it")
        rows[row.id] = row
    for place in claims.unreadable:
        problems.append(f"{place}: proves() takes plain strings")
    for row_id, places in claims.places.items():
        if row_id not in rows:
            problems.append(f"{places[0]} proves {row_id}, which is not in the manifest")
    for row in rows.values():
        tested = row.id in claims.places
        if row.status == "missing" and tested:
            problems.append(f"{row.id} is missing, but {claims.places[row.id][0]} proves it")
        elif row.status != "missing" and not tested:
            problems.append(f"{row.id} is {row.status}, but no test proves it")
    return problems


def format_report(rows: Sequence[Requirement], claims: Claims) -> str:
    lines = []
    for status, heading in HEADINGS.items():
        chosen = [row for row in rows if row.status == status]
        lines.append(f"{heading} ({len(chosen)} of {len(rows)})")
        for row in chosen:
            gap = f" — lacks {row.gap}" if row.gap else ""
            marks = len(claims.places.get(row.id, ()))
            tests = f" [{marks}]" if marks else ""
            lines.append(f"  {row.id}  {row.text}{gap}{tests}")
        lines.append("")
    return "\n".join(lines)


def format_json(rows: Sequence[Requirement], claims: Claims) -> str:
    table = [
        {
            "id": row.id,
            "text": row.text,
            "status": row.status,
            "gap": row.gap,
            "tests": claims.places.get(row.id, []),
        }
        for row in rows
    ]
    return json.dumps(table, indent=1, ensure_ascii=False)


def main(arguments: Sequence[str]) -> int:
    claims = collect_claims(TESTS)
    problems = find_problems(MANIFEST, claims)
    if "--json" in arguments:
        print(format_json(MANIFEST, claims))
    else:
        print(format_report(FEATURES, claims))
        others = [row for row in MANIFEST if row not in FEATURES]
        tested = sum(row.id in claims.places for row in others)
        print(f"Faults, quirks and frames: {tested} of {len(others)} have a test.")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
