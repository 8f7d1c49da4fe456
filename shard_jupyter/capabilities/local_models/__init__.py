"""Models on this machine: GGUF files, and one managed server for each that is in use.

`register_with` is the only face. Nothing here imports an engine: it runs in a process of its own.
"""

from __future__ import annotations

from shard_jupyter.capabilities.local_models.local_factory import LocalFactory
from shard_jupyter.capabilities.local_models.servers.server_pool import ServerPool
from shard_jupyter.contracts.extension_api import ExtensionApi, Setup
from shard_jupyter.contracts.process_runner import ChildStarter
from shard_jupyter.contracts.provider import ProviderFactory

__all__ = ["register_with"]


def register_with(start_child: ChildStarter, chat: ProviderFactory) -> Setup:
    """Make the setup. One pool of servers belongs to all agents of the process.

    `chat` asks OpenAI-compatible servers; capabilities do not know each other, so it is handed in.
    """
    factory = LocalFactory(ServerPool(start_child), chat)

    def register(api: ExtensionApi) -> None:
        api.register_provider(factory)

    return register
