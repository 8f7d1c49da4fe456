"""Which headers go to which host; the transport stands in for hosts that no test may reach."""

from __future__ import annotations

import anyio
import httpx2
import pytest

from shard_jupyter.capabilities.local_models.catalog.fetch.addresses import Site, parse_site
from shard_jupyter.capabilities.local_models.catalog.fetch.source_failed import SourceFailed
from shard_jupyter.capabilities.local_models.catalog.fetch.web import Patience, Web

pytestmark = pytest.mark.proves("C10")
HUB = "https://hub.example/model"


class Hosts:
    def __init__(self, **locations: str) -> None:
        self.seen: dict[str, str | None] = {}
        self._locations = locations

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        host = request.url.host.removesuffix(".example")
        self.seen[f"{request.url.scheme}://{host}:{request.url.port}"] = request.headers.get(
            "authorization"
        )
        location = self._locations.get(host)
        if location:
            return httpx2.Response(302, headers={"location": location})
        return httpx2.Response(200, content=b"model")

    async def ask(self, site: Site) -> bytes:
        with anyio.fail_after(5):
            async with httpx2.AsyncClient(transport=httpx2.MockTransport(self.answer)) as client:
                web = Web(client, Patience())
                async with web.open(site, site.url, {}) as response:
                    return await response.aread()


async def test_a_redirect_to_another_host_takes_no_login_along() -> None:
    hosts = Hosts(hub="https://cdn.example/blob?signed=1")
    assert await hosts.ask(parse_site(HUB, "hf_secret")) == b"model"
    assert hosts.seen == {"https://hub:None": "Bearer hf_secret", "https://cdn:None": None}


async def test_another_port_is_another_host() -> None:
    hosts = Hosts(hub="https://cdn.example:8443/", cdn="https://other.example:8443/")
    await hosts.ask(parse_site("https://cdn.example/", "hf_secret"))
    assert hosts.seen == {"https://cdn:None": "Bearer hf_secret", "https://other:8443": None}


async def test_a_password_of_an_index_stays_with_it() -> None:
    hosts = Hosts(hub="https://cdn.example/blob")
    await hosts.ask(parse_site("https://me:pw@hub.example/simple"))
    assert hosts.seen == {"https://hub:None": "Basic bWU6cHc=", "https://cdn:None": None}


async def test_encryption_is_not_given_up_on_the_way() -> None:
    hosts = Hosts(hub="http://hub.example/model")
    with pytest.raises(SourceFailed, match="without encryption"):
        await hosts.ask(parse_site(HUB, "hf_secret"))
    assert list(hosts.seen) == ["https://hub:None"]
