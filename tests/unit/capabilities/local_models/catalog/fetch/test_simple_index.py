from __future__ import annotations

import pytest

from shard_jupyter.capabilities.local_models.catalog.fetch.simple_index import (
    IndexedFile,
    is_wheel_of,
    read_page,
)

pytestmark = pytest.mark.proves("C10")
PAGE = "https://index.example/simple/fake-part1/"
DIGEST = "ab" * 32


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        ("fake_part1-0.9.0-py3-none-any.whl", True),
        ("Fake.Part1-0.9.0-py3-none-any.whl", True),
        ("fake_part1-0.9.0-1-py3-none-any.whl", True),
        ("fake_part1-0.9.1-py3-none-any.whl", False),
        ("fake_part10-0.9.0-py3-none-any.whl", False),
        ("fake_part1-0.9.0.tar.gz", False),
        ("fake_part1-0.9.0-py3-none-any.whl.metadata", False),
        ("fake_part1-0.9.0.whl", False),
    ],
)
def test_only_the_wheel_of_exactly_this_version_counts(name: str, fits: bool) -> None:
    assert is_wheel_of(name, "fake-part1", "0.9.0") is fits


def test_html_links_are_read_with_base_escapes_and_hashes() -> None:
    page = f"""<html><head><base href="/packages/"></head><body>
    <a href="a%2Bb/fake-1.whl#sha256={DIGEST.upper()}">x</a>
    <a href="https://cdn.example/other-1.whl#md5=123" data-yanked>y</a>
    <a name="no link">z</a><a href="https://[bad">b</a>"""
    assert list(read_page("text/html", page.encode(), PAGE)) == [
        IndexedFile(
            "fake-1.whl",
            f"https://index.example/packages/a%2Bb/fake-1.whl#sha256={DIGEST.upper()}",
            DIGEST,
        ),
        IndexedFile("other-1.whl", "https://cdn.example/other-1.whl#md5=123", ""),
    ]


@pytest.mark.parametrize(
    "tag",
    [
        '<a data-requires-python=">=3.8,<4" href="f.whl">f</a>',
        "<A HREF='f.whl' data-x=''>f</A>",
        "<a\n  rel=internal href=f.whl >f</a>",
        '<!-- <![x --><a href="&#102;.whl">f</a>',
        '<p <a <![ <a href="f.whl">',
    ],
)
def test_a_link_is_read_however_it_is_written(tag: str) -> None:
    (found,) = read_page("text/html", tag.encode(), PAGE)
    assert (found.name, found.sha256) == ("f.whl", "")


@pytest.mark.parametrize(
    "piece",
    ["<a ", '<a a="', "<a '", "<![", "<!", "<!--", "</", "<a \"'", "<base href='", "<a " * 9],
)
@pytest.mark.timeout(30)
def test_no_broken_page_takes_long_or_fails(piece: str) -> None:
    page = (piece * (1_000_000 // len(piece))).encode()
    assert list(read_page("text/html", page, PAGE)) == []


def test_json_files_are_read_with_and_without_hashes() -> None:
    page = (
        '{"meta": {"api-version": "1.1"}, "files": ['
        f'{{"filename": "a.whl", "url": "a.whl", "hashes": {{"sha256": "{DIGEST}"}}}},'
        '{"filename": "b.whl", "url": "b.whl", "hashes": {"md5": "1"}}]}'
    )
    kind = "application/vnd.pypi.simple.v1+json"
    assert list(read_page(kind, page.encode(), PAGE)) == [
        IndexedFile("a.whl", "a.whl", DIGEST),
        IndexedFile("b.whl", "b.whl", ""),
    ]
