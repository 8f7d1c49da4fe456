"""The manifest and the tests agree, and the check that says so works."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.manifest import FEATURES, FRAMES, Requirement, built, missing, part
from tests.manifest_harness import MANIFEST
from tests.requirements import (
    TESTS,
    Claims,
    collect_claims,
    find_problems,
    format_report,
    read_claims,
)


def test_manifest_and_tests_agree() -> None:
    assert find_problems(MANIFEST, collect_claims(TESTS)) == []


def test_manifest_has_every_feature_once_and_in_order() -> None:
    last = {"A": 22, "B": 16, "C": 22, "D": 12, "E": 10}
    wanted = [f"{group}{number:02}" for group, end in last.items() for number in range(1, end + 1)]
    assert [row.id for row in FEATURES] == wanted


def test_every_id_has_a_known_form() -> None:
    form = re.compile(
        r"[A-E]\d\d|H4[a-h]\.\d\d|J3\.\d+|L[3-6]\.[a-z0-9_]+|H2d\.[a-z0-9_]+|fr\d{3}"
        r"|T\d\d|E09\.[a-z]+"
    )
    assert [row.id for row in MANIFEST if not form.fullmatch(row.id)] == []
    assert len(FRAMES) == 77


def test_program_prints_every_feature_and_machine_readable_rows() -> None:
    plain, table = run_program(), run_program("--json")
    assert all(f"  {row.id}  " in plain.stdout for row in FEATURES)
    assert [row["id"] for row in json.loads(table.stdout)] == [row.id for row in MANIFEST]
    assert plain.returncode == table.returncode == bool(plain.stderr)


def run_program(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-X", "utf8", "-m", "tests.requirements", *arguments]
    return subprocess.run(
        command, cwd=TESTS.parent, capture_output=True, check=False, encoding="utf-8"
    )


def claims_of(source: str) -> Claims:
    claims = Claims()
    read_claims(source, "t.py", claims)
    return claims


class TestCollecting:
    @pytest.mark.parametrize(
        "source",
        [
            '@pytest.mark.proves("A01", "fr001")\ndef test(): ...',
            '@pytest.mark.proves("A01", "fr001")\nasync def test(): ...',
            '@mark.proves("A01", "fr001")\nclass TestX: ...',
            'class TestX:\n  @pytest.mark.proves("A01", "fr001")\n  def test(self): ...',
            'pytestmark = pytest.mark.proves("A01", "fr001")',
            'pytestmark = [pytest.mark.slow, pytest.mark.proves("A01", "fr001")]',
            'class TestX:\n  pytestmark = pytest.mark.proves("A01", "fr001")',
            'X = [pytest.param(1, marks=pytest.mark.proves("A01", "fr001"))]',
            'X = [pytest.param(1, marks=[pytest.mark.proves("A01"), pytest.mark.proves("fr001")])]',
        ],
    )
    def test_mark_is_found_wherever_it_stands(self, source: str) -> None:
        claims = claims_of(source)
        assert claims.places.keys() == {"A01", "fr001"}
        assert claims.unreadable == []

    @pytest.mark.parametrize(
        "arguments", ["", "name", 'f"A{1}"', '"A01", name', "*NAMES", "1", "ids='A01'"]
    )
    def test_id_that_is_no_plain_string_is_reported(self, arguments: str) -> None:
        claims = claims_of(f"pytestmark = pytest.mark.proves({arguments})")
        assert claims.unreadable == ["t.py:1"]
        assert claims.places.keys() <= {"A01"}

    @pytest.mark.parametrize(
        "source", ["\"pytest.mark.proves('A01')\"", 'thing.proves("A01")', 'proves("A01")', ""]
    )
    def test_what_only_looks_like_a_mark_is_none(self, source: str) -> None:
        assert claims_of(source) == Claims()

    def test_files_below_the_folder_are_read(self, tmp_path: Path) -> None:
        (tmp_path / "unit").mkdir()
        text = 'pytestmark = pytest.mark.proves("A01")  # é\n'
        (tmp_path / "unit" / "test_a.py").write_text(text, encoding="utf-8")
        assert collect_claims(tmp_path).places == {"A01": ["unit/test_a.py:1"]}


class TestComparing:
    ROWS = (built("A01", "x"), part("A02", "y", "half of it"), missing("A03", "z"))

    def problems(self, *ids: str, rows: tuple[Requirement, ...] = ROWS) -> list[str]:
        return find_problems(rows, Claims(places={row_id: ["t.py:1"] for row_id in ids}))

    def test_agreement_is_silence(self) -> None:
        assert self.problems("A01", "A02") == []

    def test_built_and_part_need_a_test(self) -> None:
        assert self.problems("A02") == ["A01 is built, but no test proves it"]
        assert self.problems("A01") == ["A02 is part, but no test proves it"]

    def test_missing_must_not_be_claimed(self) -> None:
        assert self.problems("A01", "A02", "A03") == ["A03 is missing, but t.py:1 proves it"]

    def test_unknown_id_is_named_with_its_place(self) -> None:
        (problem,) = self.problems("A01", "A02", "Z99")
        assert problem == "t.py:1 proves Z99, which is not in the manifest"

    def test_row_that_is_there_twice_is_a_problem(self) -> None:
        assert len(self.problems("A01", rows=(built("A01", "x"), built("A01", "y")))) == 1

    @pytest.mark.parametrize(
        "row", [Requirement("A01", "x", "built", "a gap"), Requirement("A01", "x", "part")]
    )
    def test_gap_goes_with_part_only(self, row: Requirement) -> None:
        assert len(self.problems("A01", rows=(row,))) == 1

    def test_report_tells_the_gap_and_the_number_of_tests(self) -> None:
        report = format_report(self.ROWS, Claims(places={"A02": ["t.py:1", "t.py:2"]}))
        assert "Partly built (1 of 3)\n  A02  y — lacks half of it [2]\n" in report
