"""The first command on a connection: who is there, which version, which tools it brings.

On a connection to one agent `hello` is the attachment. Through the daemon a client attaches to
many agents with `agent.attach`, which has its own role and tools.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StrictBool, StringConstraints

from shard_jupyter.contracts.tool import ToolSpec
from shard_jupyter.errors import CommandError
from shard_jupyter.protocol.agent_commands import Command, Name
from shard_jupyter.protocol.envelope import (
    MAX_DEPTH,
    MAX_NUMBER,
    MAX_STREAM_BYTES,
    MAX_VALUES,
)
from shard_jupyter.protocol.versions import MAX_VERSION, MIN_VERSION, choose_version
from shard_jupyter.types.wire_model import WireModel

Role = Literal["interactive", "observer"]
"""Both get every event; only `interactive` clients answer requests (Shard §6.3)."""
Version = Annotated[int, Field(strict=True, ge=1, le=10_000)]


class OfferedTool(ToolSpec):
    """A tool that the client hosts. It goes through the one registry and the one gate."""

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    read_only: StrictBool = False
    """True: never changes anything. A claim; the gate judges every call all the same."""


class Hello(Command):
    """Open a connection. Its own `v` is 1 for ever, so that any two versions can speak of it."""

    type: Literal["hello"] = "hello"
    client: Name
    """What the client is: cli, kernel, labextension, sdk …"""
    client_version: str = ""
    min_version: Version = MIN_VERSION
    max_version: Version = MAX_VERSION
    role: Role = "interactive"
    tools: tuple[OfferedTool, ...] = ()


class WireLimits(WireModel):
    """What the server takes. Beyond it a record is refused, not cut."""

    max_bytes: int = MAX_STREAM_BYTES
    max_depth: int = MAX_DEPTH
    max_number: int = MAX_NUMBER
    max_values: int = MAX_VALUES


class Welcome(WireModel):
    """Result of `hello`."""

    version: int
    """The version that both sides speak from now on."""
    server: str
    server_version: str
    store_id: str = ""
    """Names the store that cursors belong to; a cursor from another store means nothing."""
    limits: WireLimits = WireLimits()


def welcome(hello: Hello, *, server: str, server_version: str, store_id: str = "") -> Welcome:
    """Agree on a version.

    Raises:
        CommandError: `version`, there is none in common.
    """
    try:
        version = choose_version(hello.min_version, hello.max_version)
    except CommandError as error:
        raise CommandError(error.message, code=error.code, command_id=hello.id) from None
    return Welcome(version=version, server=server, server_version=server_version, store_id=store_id)
