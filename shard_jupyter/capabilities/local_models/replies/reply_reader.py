"""Reads a reply of a small model, `{"tool": …, "args": {…}}`, while it is being written. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from shard_jupyter.capabilities.local_models.replies.call_check import (
    CheckedCall,
    check_call,
    read_object,
)
from shard_jupyter.capabilities.local_models.replies.string_reader import StringReader
from shard_jupyter.contracts.tool import ToolSpec

ANSWER = "answer"
"""The tool that is none: what the model says."""
_HEAD = re.compile(r'\s*\{\s*"tool"\s*:\s*("(?:[^"\\]|\\.)*")\s*,\s*"args"\s*:\s*(?=\{)', re.DOTALL)
_TEXT_HEAD = re.compile(r'\{\s*"text"\s*:\s*"')
_LONGEST_HEAD = 400


@dataclass(frozen=True)
class Piece:
    """What is new: of the text of an answer, or of the arguments of a call, as they are written."""

    text: str = ""
    arguments: str = ""


class ReplyReader:
    """One reply. `tool` is None until its name is known."""

    def __init__(self) -> None:
        self.tool: str | None = None
        self.written = ""
        self._place = 0
        self._depth = 0
        self._is_done = False
        self._in_string = False
        self._is_escaped = False
        self._text: StringReader | None = None

    def feed(self, piece: str) -> Piece:
        self.written += piece
        if self.tool is None and not self._read_head():
            return Piece()
        if self.tool == ANSWER:
            return Piece(text=self._read_text())
        return Piece(arguments=self._read_arguments())

    def _read_head(self) -> bool:
        head = _HEAD.match(self.written[:_LONGEST_HEAD])
        if head is None:
            return False
        try:
            self.tool = json.loads(head[1])
        except ValueError:
            return False
        self._place = head.end()
        return True

    def _read_text(self) -> str:
        if self._text is None:
            head = _TEXT_HEAD.match(self.written, self._place)
            if head is None:
                return ""
            self._text, self._place = StringReader(), head.end()
        new, self._place = self.written[self._place :], len(self.written)
        return self._text.feed(new)

    def _read_arguments(self) -> str:
        """Return what belongs to the arguments; the brace after them does not."""
        start = self._place
        while self._place < len(self.written) and not self._is_done:
            self._take(self.written[self._place])
            self._place += 1
            self._is_done = not self._depth
        return self.written[start : self._place]

    def _take(self, char: str) -> None:
        if self._in_string:
            if self._is_escaped:
                self._is_escaped = False
            elif char == "\\":
                self._is_escaped = True
            elif char == '"':
                self._in_string = False
        elif char == '"':
            self._in_string = True
        elif char in "{[":
            self._depth += 1
        elif char in "}]":
            self._depth -= 1


def read_reply(text: str, tools: Sequence[ToolSpec]) -> CheckedCall | str:
    """Return the whole reply as a checked call, or what is wrong with it. No answer comes here."""
    value = read_object(text)
    if value is None:
        return "it is no JSON object"
    return check_call(value.get("tool"), value.get("args"), tools)
