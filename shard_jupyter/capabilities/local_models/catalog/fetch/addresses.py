"""Addresses: where a request may go, and who may see a secret. Pure."""

from __future__ import annotations

import base64
import ipaddress
import re
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urljoin, urlsplit, urlunsplit

from shard_jupyter.capabilities.local_models.catalog.fetch.source_failed import SourceFailed

_PORTS = {"http": 80, "https": 443}
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


@dataclass(frozen=True)
class Site:
    """A server that was configured.

    Attributes:
        url: without a user name or password.
        authorization: value of the header, for this server alone; empty for none.
    """

    url: str
    authorization: str = field(default="", repr=False)

    @property
    def title(self) -> str:
        parts = urlsplit(self.url)
        return parts.netloc or self.url


def parse_site(url: str, token: str = "") -> Site:
    """Take user and password out of an address. A token is kept from a server it could be read to.

    Raises:
        SourceFailed: it is no http(s) address, or the token cannot be one.
    """
    if not all("!" <= character <= "~" for character in token):
        # The HTTP library would refuse it too, and show it.
        raise SourceFailed("the token (HF_TOKEN) has blanks or other characters that none has")
    parts = _split(url)
    if parts is None:
        raise SourceFailed(f"{hide_secrets(url)} is no http:// or https:// address")
    bare = urlunsplit((parts.scheme, _bare_netloc(parts), parts.path, parts.query, ""))
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        return Site(bare, f"Basic {base64.b64encode(pair.encode()).decode()}")
    if token and (parts.scheme == "https" or is_loopback(parts.hostname or "")):
        return Site(bare, f"Bearer {token}")
    return Site(bare)


def follow(site: Site, base: str, link: str) -> str:
    """Return the address that `link` on the page `base` means.

    It may lead to any https server. Without encryption only the configured server itself is asked,
    because whoever configured it has chosen that.

    Raises:
        SourceFailed: it leads elsewhere.
    """
    try:
        url = urljoin(base, link.strip())
    except ValueError:
        url = ""
    parts = _split(url)
    if parts is None:
        raise SourceFailed(f"{site.title} leads to something that is no http(s) address")
    if parts.scheme != "https" and origin(url) != origin(site.url):
        raise SourceFailed(f"{site.title} leads to {_bare_netloc(parts)} without encryption")
    return urlunsplit((parts.scheme, _bare_netloc(parts), parts.path, parts.query, ""))


def origin(url: str) -> tuple[str, str, int]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def hide_secrets(url: str) -> str:
    """Show an address without user, password and query; also one that is mistyped.

    A password with a slash in it ends up in the path, so no path with an @ is shown either.
    """
    parts = _split(url)
    if parts is not None:
        path = "/…" if "@" in parts.path else parts.path
        query = "?…" if parts.query else ""
        return f"{parts.scheme}://{_bare_netloc(parts)}{path}{query}"
    scheme = _SCHEME.match(url)
    start = scheme[0] if scheme else ""
    bare, mark, _ = url[len(start) :].rpartition("@")[2].partition("?")
    return f"{start}{bare}{mark and '?…'}"


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in _PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    # Half a character (a lone surrogate) cannot be sent, and the HTTP library fails over it.
    usable = usable and not any(char.isspace() or "\ud800" <= char <= "\udfff" for char in url)
    return parts if usable else None


def _bare_netloc(parts: SplitResult) -> str:
    return parts.netloc.rpartition("@")[2]
