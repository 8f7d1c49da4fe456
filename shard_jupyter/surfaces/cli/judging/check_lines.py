"""The lines of `shard rules check`: whatever a line holds, the next ones are still judged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

MAX_LINE_BYTES = 64 << 20
_OPS = ("read", "write")


@dataclass(frozen=True)
class CheckLine:
    """What one line asks. Either `command`, or `path` with `op`."""

    line_id: str | int
    command: str | None = None
    path: str = ""
    op: str = ""


@dataclass(frozen=True)
class BadLine:
    number: int
    why: str


def read_lines(file: BinaryIO) -> Iterator[CheckLine | BadLine]:
    """Yield every line that is not blank, as it comes."""
    number = 0
    while data := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(data) > MAX_LINE_BYTES:
            while data and not data.endswith(b"\n"):
                data = file.readline(MAX_LINE_BYTES)
            yield BadLine(number, f"it is longer than {MAX_LINE_BYTES >> 20} MiB")
        elif data.strip():
            yield _read_line(number, data)


def _read_line(number: int, data: bytes) -> CheckLine | BadLine:
    try:
        value = json.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        return BadLine(number, f"it is not UTF-8 at byte {error.start}")
    except RecursionError:
        return BadLine(number, "it is nested too deeply")
    except ValueError as error:
        return BadLine(number, f"it is no JSON: {error}")
    return _read_object(number, value)


def _read_object(number: int, value: Any) -> CheckLine | BadLine:  # noqa: ANN401 - any JSON value
    if not isinstance(value, dict):
        return BadLine(number, "it is no JSON object")
    line_id, command, path, op = (value.get(key) for key in ("id", "cmd", "path", "op"))
    if not isinstance(line_id, str | int) or isinstance(line_id, bool):
        return BadLine(number, "it has no id")
    if isinstance(command, str) and path is None:
        return CheckLine(line_id, command)
    if command is None and isinstance(path, str):
        if op in _OPS:
            return CheckLine(line_id, path=path, op=str(op))
        return BadLine(number, "its op is neither read nor write")
    return BadLine(number, "it has neither a text cmd nor a text path, or both")
