"""Which model is used where nobody has chosen one, and what to tell a person who has none.

A key that is set says that its owner means another model than a small one on this machine, and
which of that provider is not for us to guess.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from shard_jupyter.core.config.settings import Settings
from shard_jupyter.core.providers.router import Router
from shard_jupyter.surfaces.sdk.local_places import find_engine_refusal
from shard_jupyter.types.refusals import Refusal

PULL = "`shard models pull`"


@dataclass(frozen=True)
class DefaultModel:
    """What is known before anything is looked for.

    Attributes:
        keys: the variable that is set, by the prefix of its provider.
    """

    keys: Mapping[str, str]
    settings: Settings
    environ: Mapping[str, str]

    @classmethod
    def of(
        cls, settings: Settings, prefixes: Iterable[str], environ: Mapping[str, str]
    ) -> DefaultModel:
        variables = {prefix: settings.key_variable(prefix) for prefix in prefixes}
        keys = {
            prefix: name
            for prefix, name in variables.items()
            if name and environ.get(name, "").strip()
        }
        return cls(keys, settings, environ)

    def find(self, router: Router) -> str | None:
        """Return a model on this machine that can answer now. Reads files: call it in a thread."""
        return None if self.keys else router.propose_model()

    def say_what_helps(self) -> str:
        """Say the next step where there is none. Looks for an engine."""
        engine = None if self.keys else find_engine_refusal(self.settings, self.environ)
        return say_what_helps(self.keys, engine)


def say_what_helps(keys: Mapping[str, str], engine: Refusal | None) -> str:
    """Say how to come to a model; pure. `engine`: why none can run on this machine."""
    if keys:
        prefix, variable = next(iter(keys.items()))
        return (
            f"{variable} is set: name a model of its provider with --model {prefix}:NAME, or set "
            f"one: shard config set model {prefix}:NAME."
        )
    before = f"First {engine.satisfy}, then run {PULL}" if engine else f"Run {PULL}"
    return (
        f"{before}: a small model on this machine needs no key. Or name one with --model, or set "
        "one: shard config set model openai:NAME."
    )
