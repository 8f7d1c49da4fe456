"""The reason in a log, as real engines write it, and the next step it leads to."""

from __future__ import annotations

import pytest

from shard_jupyter.capabilities.local_models.servers.start_failure import (
    explain_exit,
    explain_silence,
    find_reason,
)

pytestmark = pytest.mark.proves("A13", "L5.badfile")
TRUNCATED = b"""0.00.003.041 I srv    load_model: loading model '/m/x.gguf'
0.00.004.041 E llama_model_load: error loading model: tensor 'blk.1' data is not within the file bounds, model is corrupted or incomplete
0.00.005.000 E srv  load_model: failed to load model, '/m/x.gguf'
Traceback (most recent call last):
  File "serve.py", line 79, in _serve
    server = engine.Server(params)
RuntimeError: Failed to init server, please check the input params.
"""


def test_the_last_telling_line_is_the_reason_and_not_the_wrapping() -> None:
    assert find_reason(TRUNCATED, secret="").endswith(
        "tensor 'blk.1' data is not within the file bounds, model is corrupted or incomplete"
    )


def test_without_a_telling_line_the_last_one_is_the_reason() -> None:
    assert find_reason(b"one\n\ntwo\n\n", secret="") == "two"
    assert find_reason(b"\n \n", secret="") == ""


def test_a_reason_is_short_and_holds_no_secret() -> None:
    reason = find_reason(b"error: abc " + b"x" * 9000, secret="abc")
    assert reason.startswith("error: … x")
    assert len(reason) == 300


@pytest.mark.parametrize(
    ("exit_code", "log", "step"),
    [
        (1, TRUNCATED, "shard models pull"),
        (1, b"ggml: failed to allocate buffer of size 9", "smaller context"),
        (137, b"", "smaller context"),
        (132, b"", "force-reinstall"),
        (127, b"error while loading shared libraries: libgomp.so.1", "force-reinstall"),
        (1, b"ModuleNotFoundError: No module named 'xllamacpp'", "force-reinstall"),
        (1, b"something else", "local_models.engine"),
    ],
)
def test_the_next_step_fits_the_reason(exit_code: int, log: bytes, step: str) -> None:
    error = explain_exit("small", exit_code, log, secret="k")
    assert step in error.next_step
    assert error.code == "local_server"


def test_silence_is_told_with_the_last_words() -> None:
    error = explain_silence("small", 90, b"loading tensors", secret="k")
    assert error.message == (
        "The server for small was not ready after 90 s. Its last words: loading tensors"
    )
