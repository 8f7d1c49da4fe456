"""The HTTP client: which certificates it trusts, where it follows to, what its failures mean."""

from __future__ import annotations

import contextlib
import re
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from shard_jupyter.capabilities.local_models.catalog.fetch.addresses import Site, follow, origin
from shard_jupyter.capabilities.local_models.catalog.fetch.source_failed import SourceFailed
from shard_jupyter.errors import UserError

if TYPE_CHECKING:
    import httpx2

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MAX_REDIRECTS = 10
_PAGE_BYTES = 4 << 20
_BUSY = frozenset({408, 425, 429})


@dataclass(frozen=True)
class Patience:
    """How long a server is waited for.

    Attributes:
        stall_seconds: silence after which a connection counts as cut.
        pauses: seconds before each further try of the same request.
    """

    connect_seconds: float = 10.0
    stall_seconds: float = 30.0
    pauses: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0)


class Web:
    """One client for all requests of a pull; made by `open_web`."""

    def __init__(self, client: httpx2.AsyncClient, patience: Patience) -> None:
        self._client = client
        self.patience = patience

    @contextlib.asynccontextmanager
    async def open(
        self, site: Site, url: str, headers: Mapping[str, str]
    ) -> AsyncIterator[httpx2.Response]:
        """Ask, follow redirects, and give the answer whose body is still to be read.

        What goes wrong while the body is read is translated too.

        Raises:
            SourceFailed: no answer, or a status of failure other than 416.
        """
        import httpx2  # noqa: PLC0415 - loaded by open_web already

        try:
            async with contextlib.AsyncExitStack() as stack:
                response = await self._follow(stack, site, url, headers)
                _refuse_status(response.status_code, site)
                yield response
        except httpx2.TimeoutException as error:
            slow = isinstance(error, httpx2.ConnectTimeout)
            raise SourceFailed(
                f"{site.title} did not answer in time"
                if slow
                else f"nothing came for {self.patience.stall_seconds:g} seconds",
                again=True,
                unreachable=slow,
            ) from error
        except (httpx2.ConnectError, httpx2.ProxyError) as error:
            raise SourceFailed(
                f"{site.title} cannot be reached: {_tell(error)}", again=True, unreachable=True
            ) from error
        except httpx2.TransportError as error:
            raise SourceFailed(f"the connection was cut: {_tell(error)}", again=True) from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise SourceFailed(f"{site.title} cannot be asked: {error}") from error

    async def _follow(
        self,
        stack: contextlib.AsyncExitStack,
        site: Site,
        url: str,
        headers: Mapping[str, str],
    ) -> httpx2.Response:
        for _ in range(_MAX_REDIRECTS + 1):
            sent = dict(headers)
            if site.authorization and origin(url) == origin(site.url):
                sent["Authorization"] = site.authorization
            hop = contextlib.AsyncExitStack()
            response = await hop.enter_async_context(
                self._client.stream("GET", url, headers=sent, follow_redirects=False)
            )
            if response.status_code not in _REDIRECTS:
                stack.push_async_exit(hop)
                return response
            # Its body is of no interest; the connection is closed with it.
            await hop.aclose()
            url = follow(site, url, response.headers.get("location", ""))
        raise SourceFailed(f"{site.title} leads around in circles")

    async def read_page(self, site: Site, url: str, accept: str) -> tuple[str, str, bytes]:
        """Read a page: its final address, its type, its bytes.

        Raises:
            SourceFailed: it did not come, or is longer than any page should be.
        """
        async with self.open(site, url, {"Accept": accept}) as response:
            parts, size = [], 0
            async for chunk in response.aiter_bytes():
                parts.append(chunk)
                size += len(chunk)
                if size > _PAGE_BYTES:
                    raise SourceFailed(f"{site.title} sent a page without an end")
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            return str(response.url), kind, b"".join(parts)


def _refuse_status(status: int, site: Site) -> None:
    if status in (200, 206, 416):
        return
    words = {401: "asks for a login", 403: "refuses it", 404: "does not have it"}
    what = words.get(status, "cannot give it")
    again = status >= 500 or status in _BUSY
    raise SourceFailed(f"{site.title} {what} (HTTP {status})", again=again)


@contextlib.asynccontextmanager
async def open_web(patience: Patience, certificates: str, proxy: str) -> AsyncIterator[Web]:
    """Make the client. Proxies of the environment hold, certificates are added to the system's.

    Raises:
        UserError: the certificates or the proxy cannot be used.
    """
    client = await anyio.to_thread.run_sync(_make_client, patience, certificates, proxy)
    try:
        yield Web(client, patience)
    finally:
        with anyio.CancelScope(shield=True):
            await client.aclose()


def _tell(error: Exception) -> str:
    """Leave the number of the error out, which says nothing to most people."""
    return re.sub(r"^\[Errno -?\d+\] ", "", str(error))


def _make_client(patience: Patience, certificates: str, proxy: str) -> httpx2.AsyncClient:
    import httpx2  # noqa: PLC0415 - costs time, and most commands need none

    try:
        context = httpx2.create_ssl_context()
        if certificates:
            folder = Path(certificates).is_dir()
            context.load_verify_locations(
                capath=certificates if folder else None, cafile=None if folder else certificates
            )
    except (OSError, ssl.SSLError) as error:
        raise UserError(
            f"The certificates cannot be read: {certificates or 'those of the system'}: {error}.",
            code="bad_certificates",
            next_step="Mend SSL_CERT_FILE, PIP_CERT or `cert` in pip's configuration.",
        ) from error
    try:
        return httpx2.AsyncClient(
            verify=context,
            proxy=_complete_proxy(proxy),
            headers={"User-Agent": "shard-jupyter"},
            timeout=httpx2.Timeout(patience.stall_seconds, connect=patience.connect_seconds),
        )
    except (ImportError, ValueError, httpx2.InvalidURL) as error:
        # The library's words may hold the address, and that a password.
        needs = isinstance(error, ImportError)
        why = "SOCKS needs the package socksio" if needs else "it is no address of a proxy"
        raise UserError(
            f"The proxy setting cannot be used: {why}.",
            code="bad_proxy",
            next_step="Mend HTTPS_PROXY, ALL_PROXY or `proxy` in pip's configuration.",
        ) from None


def _complete_proxy(proxy: str) -> str | None:
    """Write it with a scheme: pip takes `host:port` too."""
    if not proxy:
        return None
    return proxy if "://" in proxy else f"http://{proxy}"
