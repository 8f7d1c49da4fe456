"""Coding agents that live in notebooks.

Importing this package loads no SDK, no Jupyter and nothing heavy; the names below are looked up on
first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from shard_jupyter.surfaces.sdk.approvals import ApprovalAnswer
    from shard_jupyter.surfaces.sdk.shard import Shard
    from shard_jupyter.surfaces.sdk.sync_shard import SyncShard
    from shard_jupyter.types.turns import TurnResult

__version__ = "0.1.0.dev0"
__all__ = ["ApprovalAnswer", "Shard", "SyncShard", "TurnResult", "__version__"]

_WHERE = {
    "ApprovalAnswer": "shard_jupyter.surfaces.sdk.approvals",
    "Shard": "shard_jupyter.surfaces.sdk.shard",
    "SyncShard": "shard_jupyter.surfaces.sdk.sync_shard",
    "TurnResult": "shard_jupyter.types.turns",
}
_EXTENSION = "shard_jupyter.surfaces.magics.extension"


def __getattr__(name: str) -> Any:  # noqa: ANN401
    module = _WHERE.get(name)
    if module is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return sorted(__all__)


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Called by `%load_ext shard_jupyter`."""
    import_module(_EXTENSION).load_extension(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Called by `%unload_ext shard_jupyter`, and by `%reload_ext` before it loads again."""
    import_module(_EXTENSION).unload_extension(shell)
