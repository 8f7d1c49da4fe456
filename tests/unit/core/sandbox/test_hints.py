"""What a failed command is told about the sandbox, and when it is told nothing."""

from __future__ import annotations

import pytest

from shard_jupyter.contracts.process_runner import CapturedOutput, ProcessOutcome
from shard_jupyter.core.sandbox.sandboxed_run import OF_FILES, OF_NETWORK, find_hint

pytestmark = pytest.mark.proves("E09")


def hint(text: bytes, code: int | None = 1, *, network: bool = False, advice: str = "") -> str:
    outcome = ProcessOutcome(exit_code=code, output=CapturedOutput(head=b"x\n", tail=text))
    return find_hint(outcome, network=network, advice=advice)


@pytest.mark.parametrize("sign", OF_NETWORK)
def test_a_failed_connection_names_the_network(sign: bytes) -> None:
    assert "call again with network: true" in hint(b"curl: " + sign)
    assert "network: true" not in hint(sign, network=True), "it had one"


@pytest.mark.parametrize("sign", OF_FILES)
def test_a_refusal_names_both_ways_out(sign: bytes) -> None:
    assert "network: true or unconfined: true" in hint(b"cat: a: " + sign)
    told = hint(sign, network=True)
    assert "unconfined: true" in told
    assert "network: true" not in told


@pytest.mark.parametrize(
    ("text", "way"),
    [
        (b"dial unix /var/run/docker.sock: socket: permission denied", "network: true"),
        (b"open /tmp/x: permission denied", "unconfined: true"),
        (b"Error: connect EACCES 127.0.0.1:80", "network: true"),
        (b'sudo: The "no new privileges" flag is set', "unconfined: true"),
    ],
)
def test_programs_of_every_language_are_understood(text: bytes, way: str) -> None:
    assert way in hint(text)


@pytest.mark.parametrize("code", [0, None])
def test_what_went_well_or_ran_out_of_time_is_told_nothing(code: int | None) -> None:
    assert hint(b"Permission denied", code) == ""


@pytest.mark.parametrize(
    "line",
    [
        b"PermissionError: [Errno 13] Permission denied: '/home/u/.ipython'",
        b"bash: line 1: /tmp/a: Permission denied",
        b"touch: cannot touch 'a': Permission denied\r",
        b"make: *** [all] Error: cannot write: Read-only file system",
        b"    _socket.socket.__init__(self, 1)\nPermissionError: [Errno 13] Permission denied",
        b"npm error request failed, reason: getaddrinfo EAI_AGAIN registry.npmjs.org",
        b"WARNING: Retrying after connection broken by NameResolutionError: Failed to resolve 'a'",
        b"requests.exceptions.ConnectionError: Failed to establish a new connection",
    ],
)
def test_an_error_whose_exit_code_a_pipe_has_swallowed_is_told(line: bytes) -> None:
    """`make 2>&1 | tail`: what models write."""
    assert "call again with" in hint(b"before\n" + line + b"\nafter\n", 0)


@pytest.mark.parametrize(
    "line",
    [
        b"src/a.py:12:    raise PermissionError('Permission denied')",
        b"src/a.py:12: told: Permission denied",
        b"If you see `Permission denied`, ask.",
        b"WARNING Permission denied is what it says",
    ],
)
def test_text_about_errors_is_no_error(line: bytes) -> None:
    assert hint(b"before\n" + line + b"\nafter\n", 0) == ""


def test_a_refusal_says_where_it_may_write_and_what_is_special_here() -> None:
    assert "in the workspace and in $TMPDIR only" in hint(b"Permission denied")
    assert "Only in its folders." in hint(b"Permission denied", advice="Only in its folders.")


def test_another_failure_is_told_nothing() -> None:
    assert hint(b"1 failed, 3 passed") == ""
