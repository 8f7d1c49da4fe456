"""From a routing id, `prefix:model`, to a provider. By configuration, never by guessing."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Literal

from shard_jupyter.contracts.provider import (
    ListsModels,
    ProposesModel,
    Provider,
    ProviderFactory,
    ProviderSettings,
    RouteInfo,
)
from shard_jupyter.contracts.tool_context import BlobStore
from shard_jupyter.errors import NetworkForbidden, UnknownModel, UserError
from shard_jupyter.types.model_rows import ModelRow

OTHER_MODEL = (
    " Or choose another model: `shard models` lists them; one on this machine needs no key, and "
    "`shard models pull` fetches it."
)


class Router:
    """Holds the registered factories and what configuration says of each prefix."""

    def __init__(
        self,
        factories: Mapping[str, ProviderFactory],
        settings: Mapping[str, ProviderSettings],
        *,
        network: Literal["on", "local"] = "on",
    ) -> None:
        self._factories = dict(factories)
        self._settings = dict(settings)
        self._network = network

    def describe(self, model_id: str) -> RouteInfo:
        """Say where `model_id` leads and what is missing. Loads nothing, asks nothing.

        Raises:
            UnknownModel: no such prefix, or no model behind it.
        """
        factory, model, settings = self._find(model_id)
        return factory.describe(model, settings)

    def create(self, model_id: str, blobs: BlobStore | None = None) -> Provider:
        """Make the provider. The caller owns and closes it. Blocks: call it in a thread.

        Raises:
            UnknownModel: no such prefix, or no model behind it.
            NetworkForbidden: the route leaves this machine and `network` is `local`.
            UserError: something is missing, such as a key or a package.
        """
        factory, model, settings = self._find(model_id)
        self.check(model_id)
        return factory.create(model, settings, blobs)

    def check(self, model_id: str) -> RouteInfo:
        """Refuse a route that cannot answer. Call it before anything is written.

        Raises:
            UnknownModel, NetworkForbidden, UserError: as `create`; the code of the last one is the
                kind of the refusal.
        """
        route = self.describe(model_id)
        if route.cloud and self._network == "local":
            raise NetworkForbidden(
                f"{model_id!r} is at {route.host or 'a remote host'}, and network is 'local'.",
                next_step="Choose a model on this machine (`shard models` lists them, `shard models "
                "pull` fetches one), or set network to 'on'.",
            )
        if route.refusal is not None:
            refusal = route.refusal
            step = refusal.satisfy + (OTHER_MODEL if refusal.kind == "needs_login" else "")
            raise UserError(refusal.message, code=refusal.kind, next_step=step)
        return route

    def list_models(self) -> tuple[ModelRow, ...]:
        """Collect the rows of every provider that knows its models. Reads files: in a thread."""
        return tuple(
            row
            for prefix, factory in self._factories.items()
            if isinstance(factory, ListsModels)
            for row in factory.list_models(self._settings_of(prefix))
        )

    def propose_model(self) -> str | None:
        """Name a model that can answer where none was chosen. Reads files: call it in a thread."""
        proposed = (
            factory.propose_model(self._settings_of(prefix))
            for prefix, factory in self._factories.items()
            if isinstance(factory, ProposesModel)
        )
        return next((model_id for model_id in proposed if model_id), None)

    def _settings_of(self, prefix: str) -> ProviderSettings:
        return self._settings.get(prefix, ProviderSettings())

    def _find(self, model_id: str) -> tuple[ProviderFactory, str, ProviderSettings]:
        prefix, colon, model = model_id.partition(":")
        factory = self._factories.get(prefix)
        if factory is None or not model:
            raise self._unknown(model_id, prefix if colon else None)
        return factory, model, self._settings_of(prefix)

    def _unknown(self, model_id: str, prefix: str | None) -> UnknownModel:
        names = ", ".join(f"{name}:" for name in sorted(self._factories)) or "none"
        known = f"Known prefixes: {names}. `shard models` lists what there is."
        if not model_id:
            return UnknownModel("No model is chosen.", next_step=known)
        near = get_close_matches(prefix or model_id, self._factories, n=1)
        model = model_id.partition(":")[2] if prefix is not None else model_id
        if near and model and near[0] != model_id:
            hint = f"Did you mean {near[0]}:{model}? "
        elif prefix is None:
            hint = "A model is named PREFIX:MODEL. "
        else:
            hint = ""
        return UnknownModel(f"There is no model {model_id!r}.", next_step=f"{hint}{known}")
