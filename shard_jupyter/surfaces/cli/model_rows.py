"""Rows of models, from what is configured and what the bundled providers say of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from shard_jupyter.contracts.provider import RouteInfo
from shard_jupyter.core.config.known_providers import provider_prefix
from shard_jupyter.core.config.settings import Settings
from shard_jupyter.core.extensions.host import ExtensionHost
from shard_jupyter.core.providers.router import Router
from shard_jupyter.errors import UserError
from shard_jupyter.surfaces.composition import install_bundled
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
    known = {prefix: settings.provider_settings(prefix, environ) for prefix in factories}
    return Router(factories, known, network=settings.network), tuple(factories)


def list_models(
    settings: Settings, prefixes: Iterable[str], describe: Describe
) -> tuple[ModelRow, ...]:
    """Return a row for each configured model, then one for each provider as a whole; pure."""
    configured = dict.fromkeys([settings.model] if settings.model else [])
    configured.update(dict.fromkeys(settings.prices))
    wholes = (f"{prefix}:{ANY_MODEL}" for prefix in prefixes)
    return tuple(describe_model(name, settings, describe) for name in (*configured, *wholes))


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
            model_id=model_id, provider=prefix, cloud=True, is_default=is_default, refusal=refusal
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
