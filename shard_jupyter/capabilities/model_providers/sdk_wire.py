"""The only module that touches the SDKs: send a body, read the events of the answer.

The SDKs build the request, sign it and raise their typed errors; events are read as plain
objects, because the typed streaming classes drop what compatible servers send beside the schema
and cost six times as much for each delta. Retries are ours alone (`max_retries=0`).
"""

from __future__ import annotations

import json
import platform
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import anyio
from pydantic_core import from_json

from shard_jupyter.capabilities.model_providers.failures import (
    broken_connection,
    event_failure,
    status_failure,
    unstreamed_failure,
)
from shard_jupyter.capabilities.model_providers.routes import PLACEHOLDER_KEY, Package, is_loopback
from shard_jupyter.contracts.provider import ProviderFailure, ProviderSettings

if TYPE_CHECKING:
    import httpx2

MAX_EVENT_BYTES = 16 * 1024 * 1024
CONNECT_SECONDS = 30.0
KEEP_ALIVE_SECONDS = 60.0
DRAIN_SECONDS = 0.1
"""How long the end of a finished answer is waited for, so that its connection can be used again."""
DONE = "[DONE]"

WireEvent = dict[str, Any]


class SdkWire:
    """One SDK client and the connection pool under it. Owned and closed by its provider."""

    def __init__(self, package: Package, base_url: str, settings: ProviderSettings) -> None:
        # Inside: the SDKs cost half a second and 90 MB, and only agent processes may pay that.
        import httpx2  # noqa: PLC0415 - see above

        _start_no_uname()
        key = (settings.api_key or "").strip()
        self._secret = key
        self._silence = settings.timeout_seconds
        loopback = is_loopback(base_url)
        self._http = httpx2.AsyncClient(
            timeout=httpx2.Timeout(self._silence, connect=min(self._silence, CONNECT_SECONDS)),
            limits=httpx2.Limits(max_connections=None, keepalive_expiry=KEEP_ALIVE_SECONDS),
            # A proxy must not get what is meant for this machine; certificates are read from disk
            # only where there are any, and a redirect is an error, so http cannot become https.
            trust_env=not loopback,
            verify=base_url.lower().startswith("https:"),
            follow_redirects=False,
        )
        self._sdk, self._client = _make_client(
            package,
            api_key=key or PLACEHOLDER_KEY,
            base_url=base_url,
            max_retries=0,
            timeout=self._http.timeout,
            http_client=self._http,
        )

    async def aclose(self) -> None:
        await self._http.aclose()

    async def ask(
        self, path: str, content: bytes
    ) -> AsyncGenerator[WireEvent | ProviderFailure, None]:
        """Post `content`, a JSON object, and yield the events of the answer; a failure is the last item.

        Ends without a failure when the connection closed in good order. Closing this iterator
        closes the connection.
        """
        import httpx2  # noqa: PLC0415 - loaded by the constructor already

        opened = await self._open(path, content)
        if isinstance(opened, ProviderFailure):
            yield opened
            return
        try:
            if (refused := await self._refuse_other_types(opened)) is not None:
                yield refused
                return
            async for event in httpx2.EventSource(opened, max_event_size=MAX_EVENT_BYTES):
                value = _read_event(event.event, event.data)
                if value is not None:
                    yield value
        except (httpx2.HTTPError, ValueError, RecursionError) as error:
            yield self._broken(error)
        finally:
            await opened.aclose()

    async def _open(self, path: str, content: bytes) -> httpx2.Response | ProviderFailure:
        import httpx2  # noqa: PLC0415 - loaded by the constructor already

        sdk = self._sdk
        try:
            response: httpx2.Response = await self._client.post(
                path,
                cast_to=httpx2.Response,
                content=content,
                stream=True,
                stream_cls=sdk.AsyncStream[object],
            )
        except sdk.APIStatusError as error:
            return status_failure(
                error.status_code,
                error.response.headers,
                error.response.text,
                secret=self._secret,
                now=datetime.now(UTC),
            )
        except sdk.APITimeoutError:
            why = f"no answer within {self._silence:g} s"
            return broken_connection(why, secret=self._secret, began=False)
        except (sdk.APIError, httpx2.HTTPError) as error:
            why = str(error.__cause__ or error) or "the connection failed"
            return broken_connection(why, secret=self._secret, began=False)
        return response

    async def _refuse_other_types(self, response: httpx2.Response) -> ProviderFailure | None:
        """Let an event stream pass, whatever it is called, but no JSON or web page."""
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in ("application/json", "text/html"):
            # The reader insists on the type and decodes by its charset; events are always UTF-8.
            response.headers["content-type"] = "text/event-stream; charset=utf-8"
            return None
        text = (await response.aread()).decode("utf-8", "replace")
        return unstreamed_failure(kind, text, secret=self._secret)

    def _broken(self, error: Exception) -> ProviderFailure:
        """Say what ended a stream that had begun."""
        import httpx2  # noqa: PLC0415 - loaded by the constructor already

        if isinstance(error, httpx2.ReadTimeout):
            why = f"the answer stopped: nothing came for {self._silence:g} s"
        elif isinstance(error, httpx2.HTTPError):
            why = str(error) or "the connection was cut"
        else:
            why = "the server sent an event that is no JSON"
        return broken_connection(why, secret=self._secret, began=True)

    def read_error(self, error: object) -> ProviderFailure:
        return event_failure(error, secret=self._secret)


def _read_event(name: str, data: str) -> WireEvent | None:
    """Decode one event; None for what is no object.

    Raises:
        ValueError, RecursionError: it is no JSON.
    """
    if data == DONE:
        return {"type": DONE}
    if not data:
        return None
    try:
        value = from_json(data)
    except ValueError:  # half a surrogate pair; the standard decoder lets it through to be mended
        value = json.loads(data)
    if not isinstance(value, dict):
        return None
    value.setdefault("type", name)
    return value


async def drain(events: AsyncGenerator[WireEvent | ProviderFailure, None]) -> None:
    """Read on to the end of a finished answer, for a moment at most."""
    with anyio.move_on_after(DRAIN_SECONDS):
        async for _ in events:
            pass


def _start_no_uname() -> None:
    """Tell `platform` the processor: else it starts `uname -p`, found on the PATH, with our keys.

    The SDKs ask for it to write a header.
    """
    vars(platform.uname()).setdefault("processor", platform.machine())


def _make_client(package: Package, **options: Any) -> tuple[Any, Any]:  # noqa: ANN401
    """Import an SDK and make its asynchronous client."""
    if package == "openai":
        import openai  # noqa: PLC0415 - half a second; see SdkWire

        return openai, openai.AsyncOpenAI(**options)
    import anthropic  # noqa: PLC0415 - nearly a second; see SdkWire

    return anthropic, anthropic.AsyncAnthropic(**options)
