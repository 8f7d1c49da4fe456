"""What a model says in the notebooks: one list of steps for each `%%shard` cell, in their order."""

from __future__ import annotations

from pathlib import Path

import nbformat

from shard_jupyter.testing.scripted_provider import Step, call, calls, say

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
CHECK = "python3 -B check_report.py"
NOTE = "February has no amount"
WHAT_IT_DOES = """\
It sums up the sales of two shops by month. `report.py` reads `sales.csv` and returns pairs of month \
and total, and `check_report.py` says what they must be. There is nothing to install."""
WHAT_IS_WRONG = """\
It fails at once: the sale of 2026-02-17 has no amount, and `report.py:17` makes a number of the empty text. \
There is a second fault behind it: `report.py:18` sorts months as text, so that October comes before February."""
MENDED = """\
`check_report.py` passes now. Both faults were in `report.py`:

- a sale without an amount counts as nothing (`report.py:17`);
- months are sorted as numbers, so that October comes last (`report.py:18`)."""


def look() -> list[Step]:
    return [
        say("I look at the files first.") + call("ls", path="."),
        calls(call("read", path="report.py"), call("read", path="check_report.py")),
        say(WHAT_IT_DOES),
    ]


def check() -> Step:
    return call("bash", command=CHECK)


def mend() -> list[Step]:
    return [
        say("A sale without an amount stops it, and months are sorted as text.")
        + calls(
            call(
                "edit",
                path="report.py",
                old='float(sale["amount"])',
                new='float(sale["amount"] or 0)',
            ),
            call(
                "edit",
                path="report.py",
                old="sorted(totals.items(), key=lambda pair: str(pair[0]))",
                new="sorted(totals.items())",
            ),
            check(),
        ),
        say(MENDED),
    ]


QUICKSTART: list[list[Step]] = [
    [call("read", path="sales.csv"), say("Eight sales of two shops; one has no amount.")],
    [call("bash", command="python3 check_report.py"), say(WHAT_IS_WRONG)],
    [call("bash", command="wc -l sales.csv"), say("9")],
    [call("write", path="notes.md", content=NOTE), say("It is written.")],
    [say("It counts lines, words and bytes.")],
    [call("read", path="notes.md"), say(NOTE)],
]
REPLAY: list[list[Step]] = [
    look(),
    [say("First the check itself.") + check(), *mend()],
    [say('{"month": 10, "total": 285.25}')],
]


def shard_cells(name: str) -> list[tuple[str, str]]:
    """Return the option line and the prompt of each `%%shard` cell of a notebook."""
    notebook = nbformat.read(NOTEBOOKS / name, as_version=4)
    sources = [cell.source for cell in notebook.cells if cell.source.startswith("%%shard")]
    parted = [source.partition("\n") for source in sources]
    return [(first.removeprefix("%%shard").strip(), body) for first, _, body in parted]
