"""Read every layer and make one `Settings` of them.

Order, the later one winning: built-in defaults, config.json, settings.json, the project's
`.shard/config.json`, environment, options of this run. Each layer is checked on its own, so that a
fault is told with the place where it stands. Nothing unknown is ignored.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from pydantic import ValidationError
from pydantic_core import ErrorDetails, PydanticSerializationError, to_json

from shard_jupyter.contracts.resource_loader import LoadDiagnostic
from shard_jupyter.core.config.config_files import (
    ConfigPaths,
    find_config_paths,
    find_project_file,
    read_json_object,
)
from shard_jupyter.core.config.known_keys import key_advice, known_keys, split_key, suggest
from shard_jupyter.core.config.known_providers import (
    KNOWN_PROVIDERS,
    provider_prefix,
)
from shard_jupyter.core.config.layers import KeyPath, Layer, merge_layers
from shard_jupyter.core.config.settings import Settings
from shard_jupyter.errors import ConfigError
from shard_jupyter.types.decisions import RuleSource
from shard_jupyter.types.redaction.secret_shapes import looks_secret

RULES: KeyPath = ("permissions", "rules")
BUILT_IN = "built-in default"
_SANDBOX = "sandbox"
_STRENGTH = ("off", "auto", "required")
OPTION = "option of this run"


@dataclass(frozen=True)
class LoadedSettings:
    """The settings that hold, and how they came about.

    Attributes:
        sources: what each leaf came from, in words.
        notices: what a person should know: a file left out, a name that looks misspelt.
        project_file: the project's file if there is one, used or not.
    """

    settings: Settings
    sources: Mapping[KeyPath, str]
    notices: tuple[LoadDiagnostic, ...]
    paths: ConfigPaths
    project_file: Path | None


def load_settings(
    environ: Mapping[str, str],
    cwd: Path,
    *,
    options: Mapping[str, object] | None = None,
    trust_project: bool = False,
) -> LoadedSettings:
    """Load everything; reads files, so call it off the event loop.

    `options` has dotted keys; None as a value means that the option was not given.

    Raises:
        ConfigError: a file, variable or option holds what no setting can be.
        UsageError: `options` names a key that does not exist.
    """
    paths = find_config_paths(environ)
    project_file = find_project_file(cwd, paths.state_home)
    layers = [_default_layer()]
    layers += _file_layers(paths.user_file, "user")
    layers += _file_layers(paths.machine_file, "user")
    told: list[LoadDiagnostic] = []
    if project_file and trust_project:
        ours = _file_layers(project_file, "project")
        layers += _keep_sandbox(ours, _sandbox_of(layers), told)
    layers += read_environment(environ)
    layers += _option_layers(options or {})
    merged = merge_layers(layers, appended=(RULES,))
    settings = parse_settings(merged.values, BUILT_IN)
    told += _untrusted_notices(project_file, trust_project)
    notices = [*told, *_name_notices(settings, environ)]
    return LoadedSettings(settings, merged.sources, tuple(notices), paths, project_file)


def _sandbox_of(layers: Sequence[Layer]) -> str:
    return str(
        next(layer.values[_SANDBOX] for layer in reversed(layers) if _SANDBOX in layer.values)
    )


def _keep_sandbox(layers: Sequence[Layer], own: str, told: list[LoadDiagnostic]) -> Iterator[Layer]:
    """A project may ask for more of a sandbox than the person has set, never for less."""
    for layer in layers:
        given = layer.values.get(_SANDBOX)
        if given is None or _STRENGTH.index(str(given)) >= _STRENGTH.index(own):
            yield layer
            continue
        message = f"sandbox: {given} does not count: yours is {own}. A project cannot take it away."
        told.append(LoadDiagnostic(path=layer.label, message=message))
        yield Layer(layer.label, {k: v for k, v in layer.values.items() if k != _SANDBOX})


def parse_settings(values: Mapping[str, Any], label: str) -> Settings:
    """Validate strictly: no text is taken for a number.

    Raises:
        ConfigError: says each fault with its key, and never repeats a value, which may be a key.
    """
    try:
        return Settings.model_validate_json(to_json(values, fallback=str), strict=True)
    except PydanticSerializationError:
        refusal = ConfigError(f"{label}: holds text that is no valid Unicode.")
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        refusal = _make_refusal(label, faults)
    # Outside the handlers: pydantic's errors hold the values, and nothing may show those.
    raise refusal


def _make_refusal(label: str, faults: list[ErrorDetails]) -> ConfigError:
    unknown = [fault["loc"] for fault in faults if fault["type"] == "extra_forbidden"]
    next_step = suggest([str(part) for part in unknown[0]]) if unknown else "Mend it there."
    told = "; ".join(_describe_fault(fault) for fault in faults)
    return ConfigError(f"{label}: {told}.", next_step=next_step)


def _describe_fault(fault: ErrorDetails) -> str:
    name = ".".join(str(part) for part in fault["loc"])
    if fault["type"] == "extra_forbidden":
        return f'unknown key "{name}"'
    message = fault["msg"].removeprefix("Value error, ")
    return f"{name}: {message[:1].lower()}{message[1:]}"


def default_values() -> dict[str, Any]:
    return Settings().model_dump(mode="json")


def _default_layer() -> Layer:
    return Layer(BUILT_IN, default_values())


def _file_layers(path: Path, source: RuleSource) -> list[Layer]:
    values = read_json_object(path)
    return [] if values is None else [check_layer(Layer(str(path), values), source)]


def check_layer(layer: Layer, source: RuleSource) -> Layer:
    """Check one layer by itself and mark its rules with where they come from.

    Raises:
        ConfigError: as `parse_settings`, or an address with a password in it.
    """
    settings = parse_settings(layer.values, layer.label)
    for prefix, section in settings.providers.items():
        if section.base_url and _holds_secret(section.base_url):
            raise ConfigError(
                f"{layer.label}: providers.{prefix}.base_url: holds a user name or password.",
                next_step=f"Take it out. {key_advice(prefix)}",
            )
    if not settings.permissions.rules:
        return layer
    rules = [
        {**rule.model_dump(mode="json", exclude_unset=True), "source": source}
        for rule in settings.permissions.rules
    ]
    permissions = {**layer.values["permissions"], "rules": rules}
    return Layer(layer.label, {**layer.values, "permissions": permissions})


def _holds_secret(address: str) -> bool:
    parts = urlsplit(address)
    return "@" in parts.netloc or any(looks_secret(name) for name, _ in parse_qsl(parts.query))


def read_environment(environ: Mapping[str, str]) -> Iterator[Layer]:
    """Make a layer of each variable that is set; an empty one counts as not set.

    Raises:
        ConfigError: names the variable, not its value.
    """
    for variable, path in _environment_keys():
        if value := environ.get(variable, "").strip():
            layer = Layer(f"environment variable {variable}", nest(path, value))
            yield check_layer(layer, "user")


def _environment_keys() -> Iterator[tuple[str, KeyPath]]:
    for key in known_keys():
        if key.environment:
            yield key.environment, key.path
    for known in KNOWN_PROVIDERS:
        if known.base_url_variable:
            yield known.base_url_variable, ("providers", known.prefix, "base_url")


def _option_layers(options: Mapping[str, object]) -> Iterator[Layer]:
    for dotted, value in options.items():
        if value is not None:
            yield check_layer(Layer(OPTION, nest(split_key(dotted), value)), "run")


def nest(path: KeyPath, value: object) -> dict[str, Any]:
    """Wrap `value` into one dictionary for each part of `path`."""
    result = value
    for part in reversed(path):
        result = {part: result}
    assert isinstance(result, dict)
    return result


def _untrusted_notices(project_file: Path | None, trusted: bool) -> Iterator[LoadDiagnostic]:
    if project_file and not trusted:
        yield LoadDiagnostic(
            path=str(project_file),
            message="Not read: this project is not trusted in this run (--trust-project).",
            tone="info",
        )


def _name_notices(settings: Settings, environ: Mapping[str, str]) -> Iterator[LoadDiagnostic]:
    prefixes = [known.prefix for known in KNOWN_PROVIDERS]
    for prefix in settings.providers:
        if prefix not in prefixes:
            near = _near(prefix, prefixes)
            yield _misspelt(f"providers.{prefix}", "no bundled provider has this prefix", near)
    for model_id in settings.prices:
        if not provider_prefix(model_id):
            near = f"openai:{model_id}"
            yield _misspelt(f"prices.{model_id}", "a model id starts with its provider", near)
    variables = [variable for variable, _ in _environment_keys()] + ["SHARD_HOME", "SHARD_POLICY"]
    for name in sorted(environ):
        if name.startswith("SHARD_") and name not in variables and (near := _near(name, variables)):
            yield _misspelt(name, "this environment variable is not read", near)


def _near(name: str, known: list[str]) -> str:
    return next(iter(difflib.get_close_matches(name, known, n=1, cutoff=0.8)), "")


def _misspelt(name: str, what: str, near: str) -> LoadDiagnostic:
    return LoadDiagnostic(path=name, message=f"{what}{f'; near: {near}' if near else ''}")
