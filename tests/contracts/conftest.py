"""Fixtures of this folder: the mock model server, a real process."""

from __future__ import annotations

from tests.fakes.model_server import mock_model, model_server

__all__ = ["mock_model", "model_server"]
