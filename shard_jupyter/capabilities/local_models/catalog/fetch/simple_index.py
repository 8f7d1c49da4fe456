"""Find one wheel on a page of a package index (PEP 691 JSON, PEP 503 HTML)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from urllib.parse import unquote, urljoin, urlsplit

import anyio.to_thread

from shard_jupyter.capabilities.local_models.catalog.fetch.addresses import Site, follow
from shard_jupyter.capabilities.local_models.catalog.fetch.source_failed import SourceFailed
from shard_jupyter.capabilities.local_models.catalog.fetch.web import Web

JSON_TYPE = "application/vnd.pypi.simple.v1+json"
HTML_TYPES = ("application/vnd.pypi.simple.v1+html", "text/html", "application/xhtml+xml")
ACCEPT = f"{JSON_TYPE}, {HTML_TYPES[0]};q=0.2, text/html;q=0.01"
_SHA256 = re.compile("[0-9a-f]{64}")
_TAG = re.compile(
    r"""<(a|base)(?=\s)((?:[^<>"']++|"[^"]{0,2000}+"|'[^']{0,2000}+'){1,40}+)>""", re.IGNORECASE
)
"""With bounds, so that no page takes long."""
_HREF = re.compile(r"""\shref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)


@dataclass(frozen=True)
class IndexedFile:
    """A file that an index offers. `sha256` is empty where the index does not say."""

    name: str
    url: str
    sha256: str


async def find_wheel(web: Web, site: Site, package: str, version: str) -> IndexedFile:
    """Ask the index for the wheel of exactly this version.

    Raises:
        SourceFailed: it does not have it, or its page cannot be read.
    """
    page = f"{site.url.rstrip('/')}/{normalize(package)}/"
    address, kind, data = await web.read_page(site, page, ACCEPT)
    for found in await anyio.to_thread.run_sync(lambda: list(read_page(kind, data, address))):
        if is_wheel_of(found.name, package, version):
            return IndexedFile(found.name, follow(site, address, found.url), found.sha256)
    raise SourceFailed(f"{site.title} has no wheel of {package} {version}")


def read_page(kind: str, data: bytes, address: str) -> Iterator[IndexedFile]:
    """Read the files that a page names; pure.

    Raises:
        SourceFailed: it is no page of an index.
    """
    try:
        text = data.decode("utf-8")
        if kind in (JSON_TYPE, "application/json"):
            yield from _read_json(json.loads(text))
            return
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise SourceFailed("the index sent a page that cannot be read") from error
    if kind not in HTML_TYPES:
        raise SourceFailed(f"the index sent a page of another kind ({kind or 'none named'})")
    yield from _read_html(text, address)


def _read_json(page: dict[str, object]) -> list[IndexedFile]:
    files = page["files"]
    if not isinstance(files, list):
        raise TypeError
    found = []
    for file in files:
        hashes = file.get("hashes") or {}
        found.append(
            IndexedFile(str(file["filename"]), str(file["url"]), _clean(str(hashes.get("sha256"))))
        )
    return found


def _read_html(text: str, address: str) -> Iterator[IndexedFile]:
    """Read the links. Not by html.parser: a broken page takes it hours, or makes it fail."""
    base = ""
    for tag in _TAG.finditer(text):
        found = _HREF.search(tag[2])
        link = unescape(found[1] or found[2] or found[3] or "") if found else ""
        if not link:
            continue
        if tag[1].lower() == "base":
            base = base or link
            continue
        try:
            url = urljoin(urljoin(address, base), link)
            parts = urlsplit(url)
        except ValueError:
            continue  # one bad link of many; the file is then not found
        name = unquote(parts.path.rpartition("/")[2])
        yield IndexedFile(name, url, _clean(parts.fragment.removeprefix("sha256=")))


def _clean(digest: str) -> str:
    lowered = digest.lower()
    return lowered if _SHA256.fullmatch(lowered) else ""


def is_wheel_of(file_name: str, package: str, version: str) -> bool:
    """Compare by PEP 427; the version must be spelt as the catalogue spells it."""
    parts = file_name.removesuffix(".whl").split("-")
    if not file_name.endswith(".whl") or len(parts) not in (5, 6):
        return False
    return normalize(parts[0]) == normalize(package) and parts[1] == version


def normalize(package: str) -> str:
    return re.sub(r"[-_.]+", "-", package).lower()
