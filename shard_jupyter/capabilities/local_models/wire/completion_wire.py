"""Asks one server over HTTP and reads its stream of events."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

from shard_jupyter.capabilities.local_models.servers.server_spec import RunningServer
from shard_jupyter.capabilities.local_models.wire.completion import (
    CompletionPart,
    CompletionRequest,
    PartReader,
    completion_body,
    completion_path,
)
from shard_jupyter.capabilities.local_models.wire.local_failures import (
    context_full,
    event_failure,
    failure,
    status_failure,
)
from shard_jupyter.contracts.provider import ProviderFailure

if TYPE_CHECKING:
    import httpx2

MAX_LINE_BYTES = 1 << 20
CONNECT_SECONDS = 10.0
PROBE_SECONDS = 30.0
_DATA = b"data:"
_DONE = "[DONE]"


class CompletionWire:
    """An HTTP client for servers of ours. Owned and closed by its provider; requests may overlap.

    `silence_seconds`: without a byte for so long the server counts as stuck. Any byte counts, also
    what tells of a prompt's way through the model.
    """

    def __init__(self, silence_seconds: float) -> None:
        import httpx2  # noqa: PLC0415 - costs time; only who asks a model pays it

        self._silence = silence_seconds
        self._http = httpx2.AsyncClient(
            timeout=httpx2.Timeout(silence_seconds, connect=CONNECT_SECONDS),
            # No proxy gets what is meant for this machine, and no server sends us elsewhere.
            trust_env=False,
            verify=False,
            follow_redirects=False,
        )

    async def aclose(self) -> None:
        await self._http.aclose()

    async def complete(
        self, server: RunningServer, request: CompletionRequest
    ) -> AsyncGenerator[CompletionPart | ProviderFailure, None]:
        """As `Complete`."""
        import httpx2  # noqa: PLC0415 - loaded by the constructor already

        try:
            counted = await self._count(server, request)
            if isinstance(counted, ProviderFailure):
                yield counted
                return
            reader = PartReader(server.dialect, request.max_tokens, counted)
            body = completion_body(request, server.dialect)
            async with self._http.stream(
                "POST",
                server.base_url + completion_path(server.dialect),
                json=body,
                headers=_headers(server),
            ) as response:
                if response.status_code != 200:
                    text = (await response.aread()).decode("utf-8", "replace")
                    yield status_failure(response.status_code, text, secret=server.api_key)
                    return
                async for event in _read_events(response):
                    if event.get("error"):
                        yield event_failure(event, secret=server.api_key)
                        return
                    part = reader.read(event)
                    yield part
                    if part.is_last:
                        return
            yield failure(
                "cut", "The local server ended in the middle of its answer.",
                secret=server.api_key, retryable=True,
            )  # fmt: skip
        except httpx2.ReadTimeout:
            yield failure(
                "server", f"The local server was silent for {self._silence:g} s.",
                secret=server.api_key,
            )  # fmt: skip
        except (httpx2.HTTPError, ValueError, RecursionError) as error:
            yield failure(
                "server", f"The local server broke off: {type(error).__name__}.",
                secret=server.api_key, retryable=True,
            )  # fmt: skip

    async def _count(
        self, server: RunningServer, request: CompletionRequest
    ) -> int | ProviderFailure | None:
        """Count the prompt where the server would say nothing of one that is too long.

        In a stream, llama-cpp-python answers such a prompt with nothing at all.
        """
        if server.dialect != "llama-cpp-python":
            return None
        value = await self._post(server, "/extras/tokenize/count", {"input": request.prompt})
        count = value.get("count") if isinstance(value, dict) else None
        if not isinstance(count, int):
            return None
        if server.context_tokens and count >= server.context_tokens:
            told = (
                f"The request ({count} tokens) exceeds the available context size "
                f"({server.context_tokens} tokens)."
            )
            return context_full(told, secret=server.api_key)
        return count

    async def try_template(self, server: RunningServer, text: str) -> bool:
        """Whether the server's chat template can be used: what a user says comes through it."""
        import httpx2  # noqa: PLC0415 - loaded by the constructor already

        body = {
            "messages": [
                {"role": "system", "content": "system"},
                {"role": "user", "content": text},
            ]
        }
        try:
            value = await self._post(server, "/apply-template", body)
        except (httpx2.HTTPError, ValueError):
            return False
        prompt = value.get("prompt") if isinstance(value, dict) else None
        return isinstance(prompt, str) and text in prompt

    async def _post(self, server: RunningServer, path: str, body: dict[str, Any]) -> object:
        """Return the JSON of a 200, None for any other answer."""
        response = await self._http.post(
            server.base_url + path, json=body, headers=_headers(server), timeout=PROBE_SECONDS
        )
        value: object = json.loads(response.content) if response.status_code == 200 else None
        return value


def _headers(server: RunningServer) -> dict[str, str]:
    return {"Authorization": f"Bearer {server.api_key}"}


async def _read_events(response: httpx2.Response) -> AsyncGenerator[dict[str, Any], None]:
    """Yield the objects of an event stream; comments and `[DONE]` are left out.

    Raises:
        ValueError, RecursionError: a line is no JSON, no UTF-8, or too long.
    """
    held = b""
    async for chunk in response.aiter_bytes():
        held += chunk
        *lines, held = held.split(b"\n")
        if len(held) > MAX_LINE_BYTES:
            raise ValueError("a line is too long")
        for line in lines:
            if (event := _read_line(line)) is not None:
                yield event


def _read_line(line: bytes) -> dict[str, Any] | None:
    if not line.startswith(_DATA):
        return None
    text = line[len(_DATA) :].decode("utf-8").strip()
    if text in ("", _DONE):
        return None
    value = json.loads(text)
    return value if isinstance(value, dict) else None
