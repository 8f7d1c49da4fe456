"""Cells that fail, one for each thing that can go wrong, and what a person has to be told."""

from __future__ import annotations

from dataclasses import dataclass

from tests.jupyter.headless import shard

NOBODY = "http://127.0.0.1:1/v1"
SETTINGS = {
    "retry": {"max_attempts": 1},
    "providers": {"openai": {"timeout_seconds": 0.5}},
}


@dataclass(frozen=True)
class Failing:
    """`told` are parts of the message, the last one says what to do.

    Attributes:
        before: a cell that has to run first.
        has_turn: False where nothing was sent; then there is no record of it either.
    """

    name: str
    cell: str
    error: str
    told: tuple[str, ...]
    before: str = "pass"
    has_turn: bool = True

    def without_raising(self) -> str:
        first, _, body = self.cell.partition("\n")
        return f"{first} --no-raise\n{body}"


def _turn(
    name: str, directive: str, *told: str, options: str = "", before: str = "pass"
) -> Failing:
    cell = shard(f"Go. {directive}", *options.split())
    return Failing(name, cell, "TurnFailed", told, before)


FAILURES = (
    Failing(
        "unknown model",
        shard("Go.", model="nonsense:model"),
        "UnknownModel",
        ("There is no model 'nonsense:model'.", "`shard models` lists"),
        has_turn=False,
    ),
    Failing(
        "unknown option",
        shard("Go.", "--modle", "x"),
        "UsageError",
        ("no option", "Did you mean"),
        has_turn=False,
    ),
    Failing(
        "empty",
        "%%shard --ask yes\n",
        "UsageError",
        ("empty", "below"),
        has_turn=False,
    ),
    Failing(
        "comment above",
        f"# note\n{shard('Go.')}",
        "UsageError",
        ("The comment '# note' stands above %%shard", "Move the comment"),
        has_turn=False,
    ),
    Failing(
        "missing file",
        shard("Read @file:missing.csv."),
        "UsageError",
        ("@file: missing.csv does not exist.", "Name a text file"),
        has_turn=False,
    ),
    _turn("401", "@@status 401", "Incorrect API key provided", "Check the API key"),
    _turn("429 without end", "@@status 429", "mock: failed", "Wait until the limit resets"),
    _turn("cut stream", "@@quirk drop_mid @@tries 99", "was cut off each time; try again"),
    _turn("silent stream", "@@quirk hang @@text 400", "nothing came for 0.5 s", "try again"),
    _turn("malformed stream", "@@quirk json_200 @@tries 99", "overloaded", "try again later"),
    _turn("web page", "@@quirk html_error @@tries 99", "HTTP 502, with a web page", "try again"),
    _turn("time-out", "@@quirk hang @@text 400", "after 0.3 s.", "Raise --timeout",
          options="--timeout 0.3"),
    _turn("budget", "@@shell true @@times 9", "budget", "Raise",
          options="--ask yes --budget 10"),
    _turn("nobody to ask", "@@shell touch MARK", "denied", "would allow it: {"),
    _turn("connection refused", "", "Check the connection and the base URL",
          before=f"%env OPENAI_BASE_URL={NOBODY}"),
)  # fmt: skip
