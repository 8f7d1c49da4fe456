"""The file: JSON Lines that a person can review, the same bytes each time the same is recorded.

A line is one object with a `type`:

- `cassette` is the first line and has the version;
- `system`, `tools` and `message` are told once and named by `ref`; a message says `after` which
  other it comes;
- `answer` is one model call: the three refs that were asked with, and the ref of the message that
  came back (or the failure);
- `approval` is what a person answered to the question about one call (`approvals.py`);
- any other type belongs to others and is kept as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from shard_jupyter.capabilities.cassettes.approvals import APPROVAL, key_of_entry
from shard_jupyter.capabilities.cassettes.canonical import (
    CanonicalRequest,
    Json,
    chained_ref,
)
from shard_jupyter.errors import ConfigError, StorageError

VERSION = 1
ASKS_EVERY_CALL = "asks_every_call"
"""Of an answer, written only when true: its model was one of which each call is asked."""
_OURS = frozenset({"cassette", "system", "tools", "message", "answer", APPROVAL})
# Characters that an editor hides, or takes for a line end, are written as escapes.
_INVISIBLE = re.compile("[\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


@dataclass
class Cassette:
    """What a file holds, by ref. `answers` and `approvals` are by key, in recorded order."""

    systems: dict[str, str] = field(default_factory=dict)
    tools: dict[str, list[Json]] = field(default_factory=dict)
    messages: dict[str, Json] = field(default_factory=dict)
    answers: dict[tuple[str, str, str], list[Json]] = field(default_factory=dict)
    approvals: dict[str, list[Json]] = field(default_factory=dict)
    others: list[Json] = field(default_factory=list)

    def chain_to(self, ref: str) -> list[Json]:
        """Return the messages that end with `ref`, the first one first."""
        out: list[Json] = []
        while ref in self.messages and len(out) < len(self.messages):
            message = self.messages[ref]
            out.append({"role": message["role"], "content": message["content"]})
            ref = message.get("after") or ""
        return out[::-1]


def entries_of(asked: CanonicalRequest, answer: Json | None, outcome: Json) -> Iterator[Json]:
    """Yield the lines of one model call. `outcome` is what the answer says beside its message."""
    system, tools, last = asked.key
    yield {"type": "system", "ref": system, "text": asked.system}
    yield {"type": "tools", "ref": tools, "tools": asked.tools}
    before = ""
    for ref, message in zip(asked.chain, asked.messages, strict=True):
        yield {"type": "message", "ref": ref, "after": before, **message}
        before = ref
    line: Json = {"type": "answer", "system": system, "tools": tools, "last": last}
    if answer is not None:
        line["message"] = chained_ref(before, answer)
        yield {"type": "message", "ref": line["message"], "after": before, **answer}
    yield {**line, **outcome}


class CassetteWriter:
    """Appends to one file. What was written before is not written again.

    `fresh` starts the file anew at the first line; else what it holds is continued. A file that
    was taken away is started anew in any case. Several providers of one event loop may share a
    writer.
    """

    def __init__(self, path: Path, *, fresh: bool = True) -> None:
        self.path = path
        self._fresh = fresh
        self._known: set[str] = set()
        self._began = False
        self._lock = anyio.Lock()

    async def add(self, entries: Iterable[Json]) -> None:
        """Append; in the file when it returns.

        Raises:
            StorageError: the file could not be written.
            ConfigError: the file to continue is no cassette.
        """
        async with self._lock:
            await anyio.to_thread.run_sync(self._append, list(entries))

    def _append(self, entries: list[Json]) -> None:
        try:
            if not self._began or not self.path.exists():
                self._begin()
            new = [entry for entry in entries if self._is_new(entry)]
            with self.path.open("ab") as file:
                file.write(b"".join(_line(entry) for entry in new))
        except OSError as error:
            raise StorageError(
                f"The cassette {self.path} cannot be written: {error.strerror}.",
                next_step="Choose another file to record to.",
            ) from error

    def _begin(self) -> None:
        if not self._fresh and self.path.exists():
            old = parse_cassette(self.path.read_bytes(), str(self.path))
            self._known = {*old.systems, *old.tools, *old.messages}
        else:
            self._known = set()
            self.path.write_bytes(_line({"type": "cassette", "version": VERSION}))
        self._began = True

    def _is_new(self, entry: Json) -> bool:
        ref = entry.get("ref")
        if ref is None or ref not in self._known:
            self._known.update([ref] if ref else [])
            return True
        return False


def parse_cassette(data: bytes, name: str) -> Cassette:
    """Read a file.

    Raises:
        ConfigError: it is no cassette, or one of a newer version.
    """
    cassette = Cassette()
    lines = [line for line in data.split(b"\n") if line.strip()]
    for number, line in enumerate(lines, 1):
        try:
            entry: Any = json.loads(line.decode("utf-8"))
            if number == 1:
                _check_header(entry, name)
            _take(cassette, entry)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise _damaged(name, number) from error
    if not lines:
        raise _damaged(name, 1)
    return cassette


def _check_header(entry: Json, name: str) -> None:
    if entry["type"] != "cassette":
        raise _damaged(name, 1)
    if entry["version"] > VERSION:
        raise ConfigError(
            f"The cassette {name} has version {entry['version']}.",
            next_step="It was made by a newer shard-jupyter: upgrade this one.",
        )


def _damaged(name: str, number: int) -> ConfigError:
    return ConfigError(
        f"{name} is no cassette: line {number} cannot be read.", next_step="Record it again."
    )


def _take(cassette: Cassette, entry: Json) -> None:
    kind = entry["type"]
    if kind == "system":
        cassette.systems[entry["ref"]] = entry["text"]
    elif kind == "tools":
        cassette.tools[entry["ref"]] = entry["tools"]
    elif kind == "message":
        cassette.messages[entry["ref"]] = entry
    elif kind == "answer":
        key = (entry["system"], entry["tools"], entry["last"])
        cassette.answers.setdefault(key, []).append(entry)
    elif kind == APPROVAL:
        cassette.approvals.setdefault(key_of_entry(entry), []).append(entry)
    elif kind not in _OURS:
        cassette.others.append(entry)


def _line(entry: Json) -> bytes:
    text = json.dumps(entry, ensure_ascii=False, separators=(", ", ": "))
    return _INVISIBLE.sub(lambda found: f"\\u{ord(found.group()):04x}", text).encode() + b"\n"
