"""A server with the routes of llama-server and with faults on demand; the standard library only.

It is the inside of a fake engine package (`engine_site`), and a program with llama-server's own
options. What is wrong with it stands in `FAKE_FAULT`, a JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

KEY = os.environ.get("LLAMA_API_KEY", "")
MEGABYTES = 3


class FakeServer:
    """Listens when made; faults of the start come before that."""

    def __init__(self, model: str, context: int) -> None:
        self.fault: dict[str, Any] = json.loads(os.environ.get("FAKE_FAULT", "{}"))
        self.model = model
        self.context = int(self.fault.get("context", context))
        self.deaf = False
        self._start()
        handler = type("Handler", (_Handler,), {"owner": self})
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.http.daemon_threads = True
        Thread(target=self.http.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.http.server_address[1]}"
        if "foreign" in self.fault:
            self.http.server_close()
            self.address = f"http://127.0.0.1:{self.fault['foreign']}"

    def _start(self) -> None:
        head = Path(self.model).read_bytes()[:4]
        if head not in (b"", b"GGUF"):
            print(f"gguf_init_from_file: invalid magic characters: {head!r}")
            sys.stdout.flush()
            os._exit(1)
        if self.fault.get("loud"):
            for number in range(MEGABYTES * 1024):
                print(f"line {number} ".ljust(1023, "x"))
            sys.stdout.flush()
        if "wait_for" in self.fault:  # a named pipe: opening it waits for the other end
            with Path(self.fault["wait_for"]).open("rb") as pipe:
                pipe.read()
        if "exit" in self.fault:
            text = self.fault.get("say", "").replace("KEY", KEY)
            sys.stderr.buffer.write(text.encode("latin-1"))
            sys.stderr.flush()
            os._exit(self.fault["exit"])
        if self.fault.get("hang"):
            print("still loading", flush=True)
            time.sleep(3600)
        if self.fault.get("mute"):
            sys.stdout.flush()
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(1, 2)


class _Handler(BaseHTTPRequestHandler):
    owner: FakeServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.owner.deaf:
            self.close_connection = True
            return None
        if self.path == "/health":
            return self._answer(200, {"status": "ok"})
        if not self._is_allowed():
            return None
        if self.owner.fault.get("loading"):
            return self._fail(503, "unavailable_error", "Loading model")
        model = self.owner.fault.get("model", self.owner.model)
        if self.path == "/props":
            return self._answer(200, {
                "default_generation_settings": {"n_ctx": self.owner.context},
                "model_path": model,
                "chat_template": "{{ messages }}",
                "chat_template_caps": {"supports_tools": True},
            })  # fmt: skip
        return self._fail(404, "not_found_error", "File Not Found")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self._is_allowed():
            return None
        if self.owner.fault.get("dies_when_asked"):
            os.kill(os.getpid(), signal.SIGKILL)
        if self.owner.fault.get("deaf_when_asked"):
            self.close_connection = True
            self.owner.deaf = True
            return None
        if self.path != "/completion":
            return self._fail(404, "not_found_error", "File Not Found")
        tokens = len(body["prompt"].split())
        if tokens >= self.owner.context:
            return self._answer(400, {"error": {
                "code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": tokens,
                "message": f"request ({tokens} tokens) exceeds the available context size"
                           f" ({self.owner.context} tokens), try increasing it",
                "n_ctx": self.owner.context,
            }})  # fmt: skip
        room = self.owner.context - tokens
        wanted = int(body.get("n_predict", -1))
        if "grammar" in body:
            return self._complete("yes", "eos", tokens, truncated=False)
        count = room if wanted < 0 else min(wanted, room)
        return self._complete("a " * count, "limit", tokens, truncated=count == room)

    def _complete(self, text: str, stop: str, tokens: int, *, truncated: bool) -> None:
        self._answer(200, {
            "content": text, "stop": True, "stop_type": stop, "truncated": truncated,
            "tokens_evaluated": tokens, "tokens_predicted": len(text.split()),
        })  # fmt: skip

    def _is_allowed(self) -> bool:
        given = self.headers.get("Authorization", "")
        if self.owner.fault.get("any_key") or given == f"Bearer {KEY}":
            return True
        self._fail(401, "authentication_error", "Invalid API Key")
        return False

    def _fail(self, status: int, kind: str, message: str) -> None:
        self._answer(status, {"error": {"code": status, "type": kind, "message": message}})

    def _answer(self, status: int, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet: what is in the log is up to the fault."""


def main() -> None:
    """Be llama-server: its own options, its port in its log, its own end."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", action="store_true")
    parser.add_argument("--model")
    parser.add_argument("--ctx-size", type=int)
    parser.add_argument("--port", type=int)
    options, _rest = parser.parse_known_args()
    fault = json.loads(os.environ.get("FAKE_FAULT", "{}"))
    if options.version:
        if fault.get("version_hangs"):
            time.sleep(3600)
        print("version: 1 (fake)")
        sys.exit(fault.get("version_exit", 0))
    assert options.port == 0
    server = FakeServer(options.model, options.ctx_size)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    if fault.get("log_first"):
        print(fault["log_first"])
    print(f"0.00.000.001 I srv  init: listening on {server.address}", flush=True)
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
