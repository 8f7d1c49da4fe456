"""Where a link leads, in words beside it: its text alone could say something else. Pure."""

from __future__ import annotations

from html import unescape
from urllib.parse import urlsplit

from shard_jupyter.surfaces.render_static.words.exact_text import show_exactly_on_line


def untold_host(text: str, url: str) -> str:
    """The host of a web link, the address of a mail link; empty where `text` says it itself."""
    plain = unescape(url)
    if plain.lower().startswith("mailto:"):
        address = plain[len("mailto:") :].partition("?")[0]
        return "" if text.strip() == address else show_exactly_on_line(address)
    try:
        parts = urlsplit(plain)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return show_exactly_on_line(plain)
    if text.strip() in (plain, url, host) or not host:
        return ""
    return show_exactly_on_line(host)
