"""Rows of models, from what is configured and what the bundled providers say of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import anyio

from shard_jupyter.contracts.provider import RouteInfo
from shard_jupyter.core.config.known_providers import LOCAL, provider_prefix
from shard_jupyter.core.config.settings import Settings
from shard_jupyter.core.extensions.host import ExtensionHost
from shard_jupyter.core.providers.router import Router
from shard_jupyter.errors import UserError
from shard_jupyter.surfaces.composition import install_bundled
from shard_jupyter.surfaces.sdk.default_model import DefaultModel
from shard_jupyter.surfaces.sdk.local_places import gather_provider_settings
from shard_jupyter.types.model_rows import ModelRow
from shard_jupyter.types.refusals import Refusal

Describe = Callable[[str], RouteInfo]
ANY_MODEL = "*"


async def open_router(
    settings: Settings, environ: Mapping[str, str]
) -> tuple[Router, tuple[str, ...]]:
    """Return a router over the bundled providers, and their prefixes."""
    host = ExtensionHost()
    await install_bundled(host)
    factories = host.snapshot().providers
    known = gather_provider_settings(settings, factories, environ)
    return Router(factories, known, network=settings.network), tuple(factories)


def collect_rows(settings: Settings, environ: Mapping[str, str]) -> tuple[ModelRow, ...]:
    """Return what `list_models` does, with the models on this machine. Reads files."""
    router, prefixes = anyio.run(open_router, settings, environ)
    default = settings.model or DefaultModel.of(settings, prefixes, environ).find(router)
    found = router.list_models()
    return list_models(settings, prefixes, router.describe, found=found, default=default)


def list_models(
    settings: Settings,
    prefixes: Iterable[str],
    describe: Describe,
    *,
    found: Iterable[ModelRow] = (),
    default: str | None = None,
) -> tuple[ModelRow, ...]:
    """Return a row for each model once: configured, found here, then each provider as a whole.

    `found` are the rows of providers that know their models; these need none as a whole. `default`
    is the model that is used where none is named. Pure.
    """
    known = {row.model_id: row for row in found}
    named = dict.fromkeys([default] if default else [])
    named.update(dict.fromkeys((*settings.prices, *known)))
    listed = {row.provider for row in known.values()}
    named.update(dict.fromkeys(f"{each}:{ANY_MODEL}" for each in prefixes if each not in listed))
    rows = (known.get(name) or describe_model(name, settings, describe) for name in named)
    return tuple(row.model_copy(update={"is_default": row.model_id == default}) for row in rows)


def describe_model(model_id: str, settings: Settings, describe: Describe) -> ModelRow:
    """Ask the provider what it would need; a route that does not exist is a refusal too."""
    prefix = provider_prefix(model_id)
    is_default = model_id == settings.model
    try:
        route = describe(model_id)
    except UserError as error:
        refusal = Refusal(
            kind="needs_install", message=error.message, satisfy=error.next_step or "Mend it."
        )
        return ModelRow(
            model_id=model_id,
            provider=prefix,
            cloud=prefix != LOCAL,
            is_default=is_default,
            refusal=refusal,
        )
    return ModelRow(
        model_id=model_id,
        provider=prefix,
        cloud=route.cloud,
        is_default=is_default,
        context_window=route.context_window,
        refusal=route.refusal or _refuse_network(route, settings),
        note=route.host,
    )


def _refuse_network(route: RouteInfo, settings: Settings) -> Refusal | None:
    if settings.network == "on" or not route.cloud:
        return None
    return Refusal(
        kind="needs_consent",
        message='It is not on this machine, and "network" is "local".',
        satisfy="shard config set network on",
    )
