"""A model server that says, one after the other, what a test wrote down: chat completions, streamed.

Where the mock model reads its directives from the prompt, this one plays steps of
`ScriptedProvider`, so that prompts can be what a person would write. `chunk` and `delay_seconds`
say how an answer is cut into pieces, `cut_first` how many answers break off before one is whole;
nobody may see them in a result.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from shard_jupyter.testing.scripted_provider import Step
from shard_jupyter.types.content import TextBlock, ToolCallBlock


class ScriptedServer(ThreadingHTTPServer):
    """`requests` are the bodies that came; without a step left the answer is status 400."""

    daemon_threads = True

    def __init__(
        self,
        steps: Sequence[Step],
        *,
        chunk: int = 16,
        delay_seconds: float = 0.0,
        cut_first: int = 0,
    ) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.steps = list(steps)
        self.requests: list[dict[str, Any]] = []
        self.chunk = chunk
        self.delay_seconds = delay_seconds
        self.left_to_cut = cut_first
        self.lock = threading.Lock()

    def next_step(self, *, keep: bool) -> Step | None:
        step = self.steps[0] if self.steps else None
        if step is not None and not keep:
            del self.steps[0]
        return step

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: ScriptedServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.requests.append(body)
            is_cut, self.server.left_to_cut = (
                self.server.left_to_cut > 0,
                self.server.left_to_cut - 1,
            )
            step = self.server.next_step(keep=is_cut)
        if step is None:
            self.send_error(400, "the script is at its end")
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for event in _events(step, self.server.chunk):
            if is_cut and event["choices"][0]["finish_reason"]:
                return
            self.wfile.write(b"data: " + json.dumps(event).encode() + b"\n\n")
            self.wfile.flush()
            if self.server.delay_seconds:
                time.sleep(self.server.delay_seconds)
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _events(step: Step, chunk: int) -> Iterator[dict[str, Any]]:
    index = 0
    for block in step.blocks:
        if isinstance(block, TextBlock):
            for start in range(0, len(block.text), chunk):
                yield _delta({"content": block.text[start : start + chunk]})
        elif isinstance(block, ToolCallBlock):
            told = json.dumps(block.arguments)
            function = {"name": block.name, "arguments": ""}
            yield _delta({"tool_calls": [{"index": index, "id": f"c{index}", "type": "function",
                                          "function": function}]})  # fmt: skip
            for start in range(0, len(told), chunk):
                piece = {"arguments": told[start : start + chunk]}
                yield _delta({"tool_calls": [{"index": index, "function": piece}]})
            index += 1
    yield _delta({}, finish_reason="tool_calls" if index else "stop")


def _delta(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {"id": "chat", "object": "chat.completion.chunk", "created": 0, "model": "scripted",
            "choices": [choice]}  # fmt: skip


@contextmanager
def scripted_server(
    steps: Sequence[Step], *, chunk: int = 16, delay_seconds: float = 0.0, cut_first: int = 0
) -> Iterator[ScriptedServer]:
    """Serve on a free port of the loopback until the block ends."""
    server = ScriptedServer(steps, chunk=chunk, delay_seconds=delay_seconds, cut_first=cut_first)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
