"""The real models of tests that carry `local_model`: named by the environment, never fetched.

Such a test is chosen by its marker, so nothing is skipped: without its model it fails.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SMALL_VARIABLE = "SHARD_TEST_SMALL_MODEL"
DEFAULT_VARIABLE = "SHARD_TEST_DEFAULT_MODEL"


def find_small_model() -> Path:
    return _find(SMALL_VARIABLE)


def find_default_model() -> Path:
    """For tests that carry `default_model` too, which CI leaves out."""
    return _find(DEFAULT_VARIABLE)


def _find(variable: str) -> Path:
    named = os.environ.get(variable, "")
    if not Path(named).is_file():
        pytest.fail(
            f"{variable} does not name a model file; it is {named!r}. "
            "See docs/how-to/run-a-local-model.md."
        )
    return Path(named)
