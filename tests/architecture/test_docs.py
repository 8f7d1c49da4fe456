"""Documents that are made from code are up to date, and the map of the code names what exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs_check import GENERATED, ROOT, main, outdated_pages, write_pages

pytestmark = pytest.mark.proves("A19")


def find_named_paths(page: str) -> list[str]:
    """Return every path in backticks in the last column of a table row."""
    paths = []
    for line in page.split("\n"):
        if line.startswith("|"):
            last = line.rstrip().rstrip("|").rpartition("|")[2]
            paths += re.findall(r"`([^`\s]*/[^`\s]*|[^`\s]+\.\w+)`", last)
    return paths


def test_generated_pages_are_what_the_code_says() -> None:
    assert outdated_pages() == []


def test_every_path_in_the_map_of_the_code_exists() -> None:
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    paths = find_named_paths(page)
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_a_page_that_was_edited_by_hand_is_reported_and_written_again(tmp_path: Path) -> None:
    assert outdated_pages(tmp_path) == list(GENERATED)
    write_pages(tmp_path)
    assert outdated_pages(tmp_path) == []
    edited = tmp_path / "docs/reference/config.md"
    edited.write_text(edited.read_text(encoding="utf-8") + "mine\n", encoding="utf-8")
    assert outdated_pages(tmp_path) == ["docs/reference/config.md"]


def test_unknown_options_of_the_check_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--wirte"]) == 2
    assert "--write" in capsys.readouterr().err


def test_paths_are_found_in_rows_only() -> None:
    page = "see `no/row.py`\n| `a b` | `x/y.py`, `z.toml` |\n| first `p/q` | last |"
    assert find_named_paths(page) == ["x/y.py", "z.toml"]
