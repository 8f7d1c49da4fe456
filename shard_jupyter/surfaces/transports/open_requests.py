"""Requests that wait for their reply, and how each gets exactly one end."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import Future
from typing import Any

from pydantic import ValidationError

from shard_jupyter.errors import FrameError, ShardError
from shard_jupyter.protocol.decode_event import describe_invalid
from shard_jupyter.protocol.envelope import Reply
from shard_jupyter.protocol.remote_error import error_from_wire
from shard_jupyter.types.wire_model import WireModel


class OpenRequests:
    """Safe from any thread. After `fail_all` every new request fails at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._waiting: dict[str, tuple[type[WireModel], Future[Any]]] = {}
        self._end: ShardError | None = None

    def begin(self, result: type[WireModel]) -> tuple[str, Future[Any]]:
        """Return the command's id and the future; that one is done already after the end."""
        command_id = f"c{next(self._numbers)}"
        future: Future[Any] = Future()
        # A reply may come at any moment, so that it is too late to cancel.
        future.set_running_or_notify_cancel()
        with self._lock:
            end = self._end
            if end is None:
                self._waiting[command_id] = (result, future)
        if end is not None:
            future.set_exception(end)
        return command_id, future

    def settle(self, reply: Reply) -> None:
        """Complete the request that a reply answers; one to nobody is ignored."""
        waiting = self._pop(reply.re or "")
        if waiting is None:
            return
        result, future = waiting
        if reply.error is not None:
            future.set_exception(error_from_wire(reply.error))
            return
        try:
            made = result.model_validate(reply.result)
        except ValidationError as error:
            broken = FrameError(describe_invalid(error), code="schema")
        else:
            future.set_result(made)
            return
        # Outside the handler: pydantic's error holds the whole record.
        future.set_exception(broken)

    def fail(self, command_id: str, error: ShardError) -> None:
        """End one request that was never sent."""
        waiting = self._pop(command_id)
        if waiting is not None:
            waiting[1].set_exception(error)

    def fail_all(self, end: ShardError) -> None:
        with self._lock:
            self._end = end
            waiting, self._waiting = self._waiting, {}
        for _, future in waiting.values():
            future.set_exception(end)

    def _pop(self, command_id: str) -> tuple[type[WireModel], Future[Any]] | None:
        with self._lock:
            return self._waiting.pop(command_id, None)
