"""The one list of what is bundled. Nothing below `surfaces` may import it (DESIGN §3)."""

from __future__ import annotations

from shard_jupyter.capabilities import cassettes, local_models, model_providers, sandbox
from shard_jupyter.contracts.extension_api import ExtensionIdentity, Setup
from shard_jupyter.core import builtins, processes
from shard_jupyter.core.extensions.host import ExtensionHost
from shard_jupyter.errors import Bug

BUNDLED: tuple[tuple[str, Setup], ...] = (
    ("tools", builtins.register_tools),
    ("modes", builtins.register_modes),
    ("model-providers", model_providers.register),
    (
        "local-models",
        local_models.register_with(processes.start_peer, model_providers.CHAT_FACTORY),
    ),
    ("cassettes", cassettes.register),
    ("sandbox", sandbox.register),
)


async def install_bundled(host: ExtensionHost) -> None:
    """Install everything, in order. What is bundled must install: a failure is a bug."""
    for name, setup in BUNDLED:
        identity = ExtensionIdentity(name=name, source=f"{setup.__module__}:{setup.__qualname__}")
        if not await host.install(identity, setup):
            raise Bug(f"bundled extension {name!r} failed: {host.diagnostics[-1]}")
