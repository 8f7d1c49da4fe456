"""`local:gguf:NAME`: models on this machine, found, judged and made ready to be asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from shard_jupyter.capabilities.local_models.catalog.catalog_model import (
    CATALOG,
    DEFAULT_MODEL,
    CatalogModel,
    find_in_catalog,
)
from shard_jupyter.capabilities.local_models.context_plans import ContextPlans
from shard_jupyter.capabilities.local_models.engines.find_engine import find_engine_problem
from shard_jupyter.capabilities.local_models.found.find_models import find_models, resolve_model
from shard_jupyter.capabilities.local_models.found.found_model import FoundModel
from shard_jupyter.capabilities.local_models.gguf.gguf_header import GgufHeader
from shard_jupyter.capabilities.local_models.gguf.read_header import read_header
from shard_jupyter.capabilities.local_models.local_provider import LocalModel, LocalProvider
from shard_jupyter.capabilities.local_models.model_places import ModelPlaces
from shard_jupyter.capabilities.local_models.servers.server_spec import Servers, ServerSpec
from shard_jupyter.contracts.provider import (
    Provider,
    ProviderFactory,
    ProviderSettings,
    RouteInfo,
)
from shard_jupyter.contracts.tool_context import BlobStore
from shard_jupyter.errors import UnknownModel, UserError
from shard_jupyter.types.model_rows import ModelRow
from shard_jupyter.types.refusals import Refusal

PREFIX = "local"
KIND = "gguf:"
NOT_FETCHED = "not on this machine yet"
_MOST_NAMED = 8


@dataclass(frozen=True)
class _Known:
    """What a name stands for. `found` is None for a model of the catalogue that is not here."""

    name: str
    found: FoundModel | None
    header: GgufHeader | None
    listed: CatalogModel | None


class LocalFactory:
    """Implements `ProviderFactory`, `ListsModels` and `ProposesModel`. Starts nothing."""

    def __init__(
        self, servers: Servers, chat: ProviderFactory, plans: ContextPlans | None = None
    ) -> None:
        self._servers = servers
        self._chat = chat
        self._plans = plans or ContextPlans()

    @property
    def prefix(self) -> str:
        return PREFIX

    def describe(self, model: str, settings: ProviderSettings) -> RouteInfo:
        """As `ProviderFactory.describe`. Reads files: call it off the event loop.

        Raises:
            UnknownModel: no such file and no such model of the catalogue; says what there is.
            UserError: the file is no model that can be used, or too large for the memory.
        """
        places = ModelPlaces.from_settings(settings)
        known = _look_up(model, places)
        if known.header is None:
            return _route(known.name, refusal=_not_fetched(known.listed))
        plan = self._plans.look(known.header, places.context_tokens)
        return _route(
            known.name,
            refusal=_find_engine_refusal(places),
            context_window=plan.context_tokens,
            asks_every_call=known.header.is_tiny,
        )

    def create(
        self, model: str, settings: ProviderSettings, blobs: BlobStore | None = None
    ) -> Provider:
        """As `ProviderFactory.create`. The server starts with the first request."""
        places = ModelPlaces.from_settings(settings)
        route = self.describe(model, settings)
        known = _look_up(model, places)
        if route.refusal is not None or known.found is None or known.header is None:
            refusal = route.refusal or _not_fetched(known.listed)
            raise UserError(refusal.message, code=refusal.kind, next_step=refusal.satisfy)
        plan, give_back = self._plans.hold(known.header, places.context_tokens)
        spec = ServerSpec(
            model_path=known.found.path,
            title=known.found.title,
            size_bytes=known.found.size_bytes,
            context_tokens=plan.context_tokens,
        )
        check = partial(_check_unchanged, known.found, known.header)
        made = LocalModel(route, known.header, spec, places, settings.timeout_seconds, check)
        return LocalProvider(made, self._servers, self._chat, blobs, on_close=give_back)

    def list_models(self, settings: ProviderSettings) -> tuple[ModelRow, ...]:
        """List what is on this machine, then what the catalogue could fetch. Reads files."""
        places = ModelPlaces.from_settings(settings)
        engine = _find_engine_refusal(places)
        found = find_models(places).models
        here = [
            _row(model.model_id, model.size_bytes, _say_store(model), engine) for model in found
        ]
        fetched = {model.catalog_name for model in found}
        absent = [
            _row(
                model.model_id,
                model.size_bytes,
                f"{NOT_FETCHED}. {model.note}",
                _not_fetched(model),
            )
            for model in CATALOG
            if model.name not in fetched
        ]
        return (*here, *absent)

    def propose_model(self, settings: ProviderSettings) -> str | None:
        """Return the default model of the catalogue, if it is here and can be asked."""
        places = ModelPlaces.from_settings(settings)
        if _find_engine_refusal(places) is not None:
            return None
        if resolve_model(DEFAULT_MODEL.name, places) is None:
            return None
        return DEFAULT_MODEL.model_id


def _look_up(model: str, places: ModelPlaces) -> _Known:
    """Find the file behind `gguf:NAME` and read its header.

    Raises:
        UnknownModel: there is none.
        BadModelFile: it cannot be used.
    """
    kind, name = model[: len(KIND)], model[len(KIND) :]
    if kind != KIND or not name:
        raise _unknown(model, places)
    found = resolve_model(name, places)
    listed = find_in_catalog(name)
    if found is None and listed is None:
        raise _unknown(model, places)
    header = read_header(found.path) if found is not None else None
    return _Known(model, found, header, listed)


def _check_unchanged(found: FoundModel, header: GgufHeader) -> None:
    """Look again before a server is started anew: native code must not meet another file.

    Raises:
        BadModelFile: it cannot be used any more.
        UserError: it is another model now; what was planned does not fit it.
    """
    if read_header(found.path) != header:
        raise UserError(
            f"The file of {found.title} holds another model than when it was chosen.",
            code="model_replaced",
            next_step="Choose the model again, or start a new session.",
        )


def _route(
    name: str,
    *,
    refusal: Refusal | None,
    context_window: int | None = None,
    asks_every_call: bool = False,
) -> RouteInfo:
    return RouteInfo(
        model_id=f"{PREFIX}:{name}",
        cloud=False,
        host="",
        refusal=refusal,
        context_window=context_window,
        asks_every_call=asks_every_call,
    )


def _unknown(model: str, places: ModelPlaces) -> UnknownModel:
    names = list(dict.fromkeys(_list_names(places)))
    told = ", ".join(names[:_MOST_NAMED])
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    there = f"There is: {told}{more}." if names else "There is none yet."
    return UnknownModel(
        f"There is no model {f'{PREFIX}:{model}'!r} on this machine.",
        next_step=(
            f"{there} `shard models pull` fetches {DEFAULT_MODEL.model_id}. "
            "A file goes by its path, local:gguf:/path/to/it.gguf."
        ),
    )


def _list_names(places: ModelPlaces) -> Iterator[str]:
    for found in find_models(places).models:
        yield found.model_id if found.catalog_name else f"{found.model_id} ({found.title})"


def _not_fetched(model: CatalogModel | None) -> Refusal:
    model = model or DEFAULT_MODEL
    return Refusal(
        kind="needs_install",
        message=f"{model.title} is not on this machine ({model.size_bytes / 1e6:.0f} MB).",
        satisfy=f"shard models pull {model.name}",
    )


def _find_engine_refusal(places: ModelPlaces) -> Refusal | None:
    return find_engine_problem(places.engine, places.server_path, places.environ)


def _row(model_id: str, size: int, note: str, refusal: Refusal | None) -> ModelRow:
    return ModelRow(
        model_id=model_id,
        provider=PREFIX,
        cloud=False,
        size_bytes=size,
        refusal=refusal,
        note=note,
    )


def _say_store(model: FoundModel) -> str:
    return f"{model.store}: {model.title}"
