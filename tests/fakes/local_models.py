"""A provider of models on this machine that needs neither an engine nor a file."""

from __future__ import annotations

from collections.abc import Iterable

from shard_jupyter.contracts.extension_api import ExtensionApi
from shard_jupyter.contracts.provider import Provider, ProviderSettings, RouteInfo
from shard_jupyter.contracts.tool_context import BlobStore
from shard_jupyter.testing.scripted_provider import ScriptedProvider, ScriptLine, say
from shard_jupyter.types.model_rows import ModelRow

MODEL_ID = "local:gguf:tiny"
ROW = ModelRow(
    model_id=MODEL_ID,
    provider="local",
    cloud=False,
    size_bytes=491_400_064,
    note="for a chat",
)


class LocalModels:
    """A factory that lists and proposes what it is given.

    Attributes:
        asked_with: the settings of each question for a list or a proposal.
    """

    prefix = "local"

    def __init__(
        self,
        *rows: ModelRow,
        proposes: str | None = None,
        script: Iterable[ScriptLine] = (say("ok"),),
    ) -> None:
        self.rows = rows
        self.proposes = proposes
        self.script = tuple(script)
        self.asked_with: list[ProviderSettings] = []

    def register(self, api: ExtensionApi) -> None:
        api.register_provider(self)

    def describe(self, model: str, settings: ProviderSettings) -> RouteInfo:
        return RouteInfo(model_id=f"local:{model}", cloud=False, asks_every_call=True)

    def create(
        self, model: str, settings: ProviderSettings, blobs: BlobStore | None = None
    ) -> Provider:
        return ScriptedProvider(self.script, asks_every_call=True, model_id=f"local:{model}")

    def list_models(self, settings: ProviderSettings) -> tuple[ModelRow, ...]:
        self.asked_with.append(settings)
        return self.rows

    def propose_model(self, settings: ProviderSettings) -> str | None:
        self.asked_with.append(settings)
        return self.proposes
