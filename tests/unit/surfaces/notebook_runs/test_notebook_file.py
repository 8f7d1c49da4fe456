"""Notebooks are read strictly and written whole."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from shard_jupyter.errors import StorageError, UserError
from shard_jupyter.surfaces.notebook_runs.notebook_file import read_notebook, save_notebook

pytestmark = pytest.mark.proves("D12")


def make(source: str = "1") -> NotebookNode:
    made = nbformat.v4.new_notebook()
    made.cells = [nbformat.v4.new_code_cell(source)]
    return made


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[]",
        b"<html>",
        b'{"nbformat": 99, "cells": []}',
        b"\xff",
        b"null",
        b'{"nbformat": true}',
        b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}}',
        b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [3]}',
    ],
)
def test_what_is_no_notebook_is_refused_in_words(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "n.ipynb"
    path.write_bytes(data)
    with pytest.raises(UserError, match=r"n\.ipynb is no notebook") as caught:
        read_notebook(path)
    assert caught.value.code == "bad_notebook"
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["none.ipynb", "."])
def test_what_cannot_be_read_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        read_notebook(tmp_path / name)


def test_it_is_written_as_jupyter_writes_it_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "n.ipynb"
    nbformat.write(make(), path)
    path.chmod(0o640)
    before = path.read_bytes()
    save_notebook(path, read_notebook(path))
    assert path.read_bytes() == before
    assert path.stat().st_mode & 0o777 == 0o640
    assert [entry.name for entry in tmp_path.iterdir()] == ["n.ipynb"]


def test_half_a_character_is_kept_as_its_escape(tmp_path: Path) -> None:
    path = tmp_path / "n.ipynb"
    nbformat.write(make(), path)
    save_notebook(path, make("\ud83d"))
    assert json.loads(path.read_bytes().decode("utf-8"))["cells"][0]["source"] == ["\ud83d"]


def test_a_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    path = tmp_path / "gone" / "n.ipynb"
    with pytest.raises(StorageError, match="cannot be written"):
        save_notebook(path, make())


def test_a_notebook_of_version_3_becomes_one_of_version_4(tmp_path: Path) -> None:
    path = tmp_path / "old.ipynb"
    old = {
        "nbformat": 3,
        "nbformat_minor": 0,
        "metadata": {"name": ""},
        "worksheets": [{"cells": [{
            "cell_type": "code", "input": ["1"], "outputs": [], "language": "python",
            "metadata": {}}]}],
    }  # fmt: skip
    path.write_text(json.dumps(old), encoding="utf-8")
    assert read_notebook(path).cells[0].source == "1"
