"""Model providers over the official SDKs. Their face is `register`, and `CHAT_FACTORY`.

The latter asks any server that speaks chat completions, also for who brings one of their own.

Importing this loads no SDK and no HTTP client: the picker describes routes in processes that
never ask a model.
"""

from __future__ import annotations

from shard_jupyter.capabilities.model_providers.anthropic_messages import ANTHROPIC_FACTORY
from shard_jupyter.capabilities.model_providers.openai_chat import CHAT_FACTORY
from shard_jupyter.capabilities.model_providers.openai_responses import RESPONSES_FACTORY
from shard_jupyter.contracts.extension_api import ExtensionApi

__all__ = ["CHAT_FACTORY", "register"]


def register(api: ExtensionApi) -> None:
    for factory in (CHAT_FACTORY, RESPONSES_FACTORY, ANTHROPIC_FACTORY):
        api.register_provider(factory)
