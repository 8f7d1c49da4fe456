"""How a model is asked, by what its file and its server say of it. Pure."""

from __future__ import annotations

from typing import Literal

from shard_jupyter.capabilities.local_models.gguf.gguf_header import GgufHeader
from shard_jupyter.capabilities.local_models.servers.server_spec import RunningServer

Strategy = Literal["examples", "server_tools"]
"""`examples`: raw text with examples, and a grammar. `server_tools`: the server's own way."""


def choose_strategy(header: GgufHeader, server: RunningServer) -> Strategy:
    """Prefer what works to what is offered: a template without tools drops them without a word.

    A server that does not say whether its template takes tools is believed if the file has a
    template at all. llama-cpp-python takes tools only where one of them is named for it.
    """
    if header.is_tiny or not header.chat_template:
        return "examples"
    if server.dialect == "llama-cpp-python" or server.supports_tools is False:
        return "examples"
    return "server_tools"
