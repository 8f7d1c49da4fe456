"""The providers that come with the package, as far as configuration must know them.

Which variables of the environment hold the key and the address of a provider. Where a route leads
and what it needs is the provider's own business (`ProviderFactory.describe`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class KnownProvider:
    """One prefix of routing ids. No variable: it needs no key, or has no address."""

    prefix: str
    key_variable: str | None = None
    base_url_variable: str | None = None


LOCAL = "local"
"""Prefix of models on this machine."""
KNOWN_PROVIDERS: tuple[KnownProvider, ...] = (
    KnownProvider("openai", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
    KnownProvider("openai-responses", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
    KnownProvider("anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    KnownProvider("replay"),
    KnownProvider(LOCAL),
)


def find_provider(prefix: str) -> KnownProvider | None:
    return next((known for known in KNOWN_PROVIDERS if known.prefix == prefix), None)


def provider_prefix(model_id: str) -> str:
    """Return the part of a routing id before its first colon; empty when there is none."""
    prefix, colon, _ = model_id.partition(":")
    return prefix if colon else ""
