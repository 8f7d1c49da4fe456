"""The page about security names what really runs without a person."""

from __future__ import annotations

import re

import pytest

from shard_jupyter.core.permissions.shell.tables.find_table import JUDGES, TABLES
from tests.docs_check import ROOT

pytestmark = pytest.mark.proves("A06")


def test_every_program_that_can_run_without_a_person_is_named_and_no_other() -> None:
    page = (ROOT / "docs/security.md").read_text(encoding="utf-8")
    table = page.partition("| what | programs |")[2].partition("\n\n")[0]
    rows = [line for line in table.split("\n") if line.startswith("| ") and "git," not in line]
    named = [word for line in rows for word in re.findall(r"`([^`]+)`", line)]
    assert sorted(named) == sorted((set(TABLES) | set(JUDGES)) - {"git"})
