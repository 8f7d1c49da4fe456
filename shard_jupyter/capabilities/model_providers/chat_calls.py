"""Which call a chat-completions delta belongs to. Pure.

Compatible servers leave out the index or the id, send a wrong index, or give every call the same
id. The order of trust (harness §4d, rows 36 to 38): an id that is known wins over the index; an id
that is new never joins a call; without id a new name starts a call; without any, it is the current.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shard_jupyter.capabilities.model_providers.answer_assembly import AnswerAssembly, OpenCall
from shard_jupyter.capabilities.model_providers.arguments import is_whole_object
from shard_jupyter.contracts.provider import ArgumentsDelta


class ChatCalls:
    """The calls of one answer, by what the server says of them."""

    def __init__(self, assembly: AnswerAssembly) -> None:
        self._assembly = assembly
        self._by_id: dict[str, OpenCall] = {}
        self._by_index: dict[int, OpenCall] = {}
        self._current: OpenCall | None = None

    def take(self, delta: Mapping[str, Any]) -> ArgumentsDelta | None:
        """Put one member of `tool_calls` where it belongs."""
        function = delta.get("function")
        function = function if isinstance(function, dict) else {}
        vendor_id, name = _text(delta.get("id")), _text(function.get("name"))
        index = delta.get("index")
        index = index if isinstance(index, int) else None
        call = self._pick(vendor_id, name, index)
        call.name = call.name or name
        call.vendor_id = call.vendor_id or vendor_id
        self._current = call
        if index is not None:
            self._by_index[index] = call
        if vendor_id:
            self._by_id[vendor_id] = call
        return call.add(function.get("arguments"))

    def _pick(self, vendor_id: str, name: str, index: int | None) -> OpenCall:
        known = self._known(vendor_id, index) if vendor_id else self._unnamed(name, index)
        if known is None or (name and _starts_again(known, name)):
            return self._assembly.open_call(name, vendor_id)
        return known

    def _known(self, vendor_id: str, index: int | None) -> OpenCall | None:
        """Find the call with this id; the index decides only between calls that share one."""
        if index is not None:
            call = self._by_index.get(index)
            if call is not None and call.vendor_id == vendor_id:
                return call
        return self._by_id.get(vendor_id)

    def _unnamed(self, name: str, index: int | None) -> OpenCall | None:
        if index is None:
            return self._current
        # A tail with an index that nobody has is the current call's, with a wrong index.
        return self._by_index.get(index, None if name else self._current)


def _starts_again(known: OpenCall, name: str) -> bool:
    """Whether a delta with a name is the head of one more call that looks like `known`.

    Nothing can follow a whole object, so a server that gives all calls one id is seen by that.
    Where it cannot be known the pieces are joined: they fail to parse and nothing is run.
    """
    if known.name and known.name != name:
        return True
    return known.has_whole or is_whole_object(known.written)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
