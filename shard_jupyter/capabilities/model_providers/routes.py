"""Where a routing id leads, and what is missing on the way. Pure but for looking for a package."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import SplitResult, urlsplit

from shard_jupyter.contracts.provider import ProviderSettings, RouteInfo
from shard_jupyter.errors import ConfigError
from shard_jupyter.types.refusals import Refusal

# Only these spellings count, so that no trick with `@`, `\` or a name that resolves elsewhere can
# pass a cloud host off as this machine.
_LOOPBACK = re.compile(r"(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?", re.IGNORECASE)
_NO_HOST = re.compile(r"[\s\\]")
_PRINTABLE_KEY = re.compile(r"[\x21-\x7e]+")
Package = Literal["openai", "anthropic"]
_NOTHING = SplitResult("", "", "", "", "")
HTTP_PACKAGE = "httpx2"
"""Below both SDKs, and used by itself."""
PLACEHOLDER_KEY = "none"
"""What a server on this machine gets where no key is set; the SDKs refuse to send none."""


@dataclass(frozen=True)
class Vendor:
    """What differs between the routes of two prefixes."""

    prefix: str
    package: Package
    default_base_url: str
    key_variable: str
    windows: tuple[tuple[str, int], ...] = ()
    """Context windows by the start of a model's name; the first that fits counts."""


def base_url_of(vendor: Vendor, settings: ProviderSettings) -> str:
    return settings.base_url or vendor.default_base_url


def is_loopback(base_url: str) -> bool:
    return bool(_LOOPBACK.fullmatch(_split(base_url).netloc))


def _split(base_url: str) -> SplitResult:
    """Take an address apart; one that is none has no part."""
    try:
        parts = urlsplit(base_url)
        usable = parts.port != 0 and parts.hostname and not _NO_HOST.search(parts.netloc)
    except ValueError:  # brackets that do not close, a port that is no number
        return _NOTHING
    return parts if usable else _NOTHING


def describe_route(vendor: Vendor, model: str, settings: ProviderSettings) -> RouteInfo:
    base_url = base_url_of(vendor, settings)
    cloud = not is_loopback(base_url)
    return RouteInfo(
        model_id=f"{vendor.prefix}:{model}",
        cloud=cloud,
        host=_split(base_url).hostname or "",
        refusal=_missing(vendor, settings, cloud=cloud),
        context_window=settings.context_window or _known_window(vendor, model),
    )


def _missing(vendor: Vendor, settings: ProviderSettings, *, cloud: bool) -> Refusal | None:
    for package in (vendor.package, HTTP_PACKAGE):
        if not _is_installed(package):
            return Refusal(
                kind="needs_install",
                message=f"The package {package!r} is not installed.",
                satisfy=f"pip install {package}",
            )
    if cloud and not settings.api_key:
        return Refusal(
            kind="needs_login",
            message=f"There is no key for {vendor.prefix!r}.",
            satisfy=f"Set {vendor.key_variable}.",
        )
    return None


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ValueError:  # a module without a spec stands in its place
        return False


def _known_window(vendor: Vendor, model: str) -> int | None:
    return next((size for start, size in vendor.windows if model.startswith(start)), None)


def check_usable(vendor: Vendor, route: RouteInfo, settings: ProviderSettings) -> None:
    """Raise what keeps a provider from being made.

    Raises:
        ConfigError: something is missing, or the address or the key cannot be used.
    """
    if route.refusal is not None:
        raise ConfigError(
            route.refusal.message, code=route.refusal.kind, next_step=route.refusal.satisfy
        )
    parts = _split(base_url_of(vendor, settings))
    if parts.scheme not in ("http", "https"):
        raise ConfigError(
            f"The address of {vendor.prefix!r} is no http or https address.",
            next_step=f"Set a base_url such as {vendor.default_base_url}.",
        )
    if settings.api_key and not _PRINTABLE_KEY.fullmatch(settings.api_key.strip()):
        raise ConfigError(
            f"The key for {vendor.prefix!r} holds characters that no key has.",
            next_step=f"Copy it again into {vendor.key_variable}.",
        )
