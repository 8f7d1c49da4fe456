"""What the settings and the environment say of models on this machine, for their provider."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from shard_jupyter.capabilities.local_models.engines.find_engine import find_engine_problem
from shard_jupyter.capabilities.local_models.model_places import ENVIRONMENT, ModelPlaces
from shard_jupyter.contracts.provider import ProviderSettings
from shard_jupyter.core.config.config_files import find_state_home
from shard_jupyter.core.config.known_providers import LOCAL
from shard_jupyter.core.config.settings import Settings
from shard_jupyter.types.refusals import Refusal


def find_model_places(settings: Settings, environ: Mapping[str, str]) -> ModelPlaces:
    """Name every place where a model may lie; looks at none of them.

    Raises:
        ConfigError: SHARD_HOME is no folder that can be.
    """
    home = Path(environ.get("HOME") or Path.home())
    section = settings.local_models
    return ModelPlaces(
        state_home=find_state_home(environ),
        home=home,
        folders=tuple(_expand(folder, home) for folder in section.folders),
        environ={name: environ[name] for name in ENVIRONMENT if environ.get(name)},
        engine=section.engine,
        server_path=str(_expand(section.server_path, home)) if section.server_path else "",
        context_tokens=section.context_tokens,
    )


def find_engine_refusal(settings: Settings, environ: Mapping[str, str]) -> Refusal | None:
    """Say why no engine can run a model here; looks, and starts none.

    Raises:
        ConfigError: as `find_model_places`.
    """
    places = find_model_places(settings, environ)
    return find_engine_problem(places.engine, places.server_path, places.environ)


def gather_provider_settings(
    settings: Settings, prefixes: Iterable[str], environ: Mapping[str, str]
) -> dict[str, ProviderSettings]:
    """Gather what each provider needs. Holds keys: never print or log it.

    Raises:
        ConfigError: as `find_model_places`.
    """
    known = {prefix: settings.provider_settings(prefix, environ) for prefix in prefixes}
    if LOCAL in known:
        extra = find_model_places(settings, environ).as_extra()
        known[LOCAL] = known[LOCAL].model_copy(update={"extra": extra})
    return known


def _expand(path: str, home: Path) -> Path:
    return home / path.removeprefix("~/") if path.startswith("~/") else Path(path)
