from __future__ import annotations

import pytest

from shard_jupyter.capabilities.local_models.catalog.catalog_model import DEFAULT_MODEL
from shard_jupyter.capabilities.local_models.catalog.fetch.addresses import (
    Site,
    follow,
    hide_secrets,
    parse_site,
)
from shard_jupyter.capabilities.local_models.catalog.fetch.source_failed import SourceFailed
from shard_jupyter.capabilities.local_models.catalog.sources.hub_file import name_hub

pytestmark = pytest.mark.proves("C10")
HTTPS = Site("https://hub.example/base")
HTTP = Site("http://mirror.example:3141/base")


@pytest.mark.parametrize(
    ("site", "link", "expected"),
    [
        (HTTPS, "https://cdn.example/x?sig=1#part", "https://cdn.example/x?sig=1"),
        (HTTPS, "/y", "https://hub.example/y"),
        (HTTPS, "y", "https://hub.example/base/y"),
        (HTTPS, "//cdn.example/x", "https://cdn.example/x"),
        (HTTPS, "https://me:pw@cdn.example/x", "https://cdn.example/x"),
        (HTTP, "/y", "http://mirror.example:3141/y"),
        (HTTP, "https://cdn.example/x", "https://cdn.example/x"),
    ],
)
def test_where_a_link_may_lead(site: Site, link: str, expected: str) -> None:
    assert follow(site, f"{site.url}/page", link) == expected


@pytest.mark.parametrize(
    ("site", "link"),
    [
        (HTTPS, "http://hub.example/x"),
        (HTTPS, "http://cdn.example/x"),
        (HTTP, "http://mirror.example/x"),
        (HTTP, "http://other.example:3141/x"),
        (HTTPS, "file:///etc/passwd"),
        (HTTPS, "ftp://hub.example/x"),
        (HTTPS, "https://[::1/x"),
        (HTTPS, "https://hub.example:0/x"),
        (HTTPS, "https://hub.example:99999/x"),
        (HTTPS, "https://hub.example/a b"),
    ],
)
def test_where_no_link_may_lead(site: Site, link: str) -> None:
    with pytest.raises(SourceFailed):
        follow(site, f"{site.url}/page", link)


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("https://hub.example", True),
        ("http://127.0.0.1:8080", True),
        ("http://[::1]:8080", True),
        ("http://localhost:8080", True),
        ("http://hub.example", False),
        ("http://127.0.0.1.example", False),
    ],
)
def test_a_token_never_goes_over_the_network_in_the_open(url: str, sent: bool) -> None:
    assert bool(parse_site(url, "hf_token").authorization) is sent


def test_a_password_is_taken_out_of_the_address() -> None:
    site = parse_site("https://me%40work:p%3Aw@index.example:8443/simple/")
    assert site.url == "https://index.example:8443/simple/"
    assert site.authorization == "Basic bWVAd29yazpwOnc="
    assert "bWVA" not in repr(site)


@pytest.mark.parametrize("url", ["", "simple", "file:///srv", "https://", "https://a b/"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(SourceFailed):
        parse_site(url)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://me:pw@h.example/x", "https://h.example/x"),
        ("https://me:pw@h.example/x@y", "https://h.example/…"),
        ("https://h.example/x?token=pw#pw", "https://h.example/x?…"),
        ("https://a@b@h.example", "https://h.example"),
        ("ftp://me:pw@h.example", "ftp://h.example"),
        ("https://h.example/x", "https://h.example/x"),
    ],
)
def test_what_is_shown_holds_no_password(url: str, shown: str) -> None:
    assert hide_secrets(url) == shown


@pytest.mark.parametrize(
    "url",
    [
        "me:s3cret@h.example/simple",
        "//me:s3cret@h.example/simple",
        "https:/me:s3cret@h.example/simple",
        "https://me:s3/s3cret@h.example/simple",
        "https://me:7/s3cret@h.example/simple",
        "https://me:s3@s3cret@h.example/simple",
        "https://me:s3cret@h.example:99999/simple",
        "https://me:s3cret@[::1/simple",
        "https://me: s3cret@h.example/simple",
        "h.example/simple?token=s3cret",
    ],
)
def test_a_mistyped_address_shows_no_password_either(url: str) -> None:
    shown = hide_secrets(url) + name_hub(DEFAULT_MODEL, url)
    try:
        shown += parse_site(url).title
    except SourceFailed as failure:
        shown += str(failure)
    assert "s3" not in shown


@pytest.mark.parametrize("token", ["hf_a b", "hf_a\n", "hf_\xe9", "hf_\x00"])
def test_a_token_that_cannot_be_one_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(SourceFailed) as caught:
        parse_site("https://hub.example", token)
    assert token not in str(caught.value)
