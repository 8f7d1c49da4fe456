from __future__ import annotations

import pytest

from shard_jupyter.errors import CommandError
from shard_jupyter.protocol.decode_command import decode_command
from shard_jupyter.protocol.handshake import Hello, Welcome, welcome
from shard_jupyter.protocol.versions import MAX_VERSION, MIN_VERSION, choose_version

pytestmark = pytest.mark.proves("A02")


def greet(**fields: object) -> Welcome:
    hello = decode_command({"v": 1, "type": "hello", "id": "c1", "client": "cli", **fields})
    assert isinstance(hello, Hello)
    return welcome(hello, server="shardd", server_version="0.1.0", store_id="store-1")


def test_the_highest_common_version_is_chosen() -> None:
    assert greet().version == MAX_VERSION
    assert greet(min_version=1, max_version=99).version == MAX_VERSION
    assert choose_version(MIN_VERSION, MIN_VERSION) == MIN_VERSION


def test_a_client_with_no_common_version_is_told_which_are_spoken() -> None:
    with pytest.raises(CommandError) as caught:
        greet(min_version=7, max_version=9)
    assert (caught.value.code, caught.value.command_id) == ("version", "c1")
    assert str(MAX_VERSION) in caught.value.message
    assert "7 to 9" in caught.value.message


def test_welcome_tells_the_limits_and_the_store() -> None:
    answer = greet()
    assert (answer.limits.max_depth, answer.store_id) == (64, "store-1")


@pytest.mark.parametrize("role", ["admin", "", None, True])
def test_role_is_interactive_or_observer(role: object) -> None:
    with pytest.raises(CommandError) as caught:
        greet(role=role)
    assert caught.value.code == "schema"


@pytest.mark.parametrize("name", ["", "a b", "x" * 65, "../t"])
def test_offered_tool_has_a_name_that_every_provider_takes(name: str) -> None:
    with pytest.raises(CommandError) as caught:
        greet(tools=[{"name": name, "description": "", "input_schema": {}}])
    assert caught.value.code == "schema"
