"""Fixtures of this folder: the mock model server, a real process, and a person at a shell."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.model_server import MockModel, mock_model, model_server
from tests.scenarios.command_line import Person, PersonHere

__all__ = ["mock_model", "model_server"]


@pytest.fixture
def person(tmp_path: Path, mock_model: MockModel) -> Person:
    return Person(tmp_path, mock_model.url)


@pytest.fixture
def person_here(
    tmp_path: Path, mock_model: MockModel, capsys: pytest.CaptureFixture[str]
) -> PersonHere:
    return PersonHere(tmp_path, mock_model.url, capsys)
