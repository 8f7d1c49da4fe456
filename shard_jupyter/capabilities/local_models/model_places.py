"""Where models may lie, and what configuration says of local models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from shard_jupyter.contracts.provider import ProviderSettings

ENVIRONMENT = (
    "OLLAMA_MODELS", "HF_HUB_CACHE", "HF_HOME", "LLAMA_CACHE", "XDG_CACHE_HOME", "XDG_DATA_HOME",
    "SHARD_LLAMA_SERVER", "LMSTUDIO_HOME",
)  # fmt: skip
"""Variables that say where models and programs lie."""


@dataclass(frozen=True)
class ModelPlaces:
    """Made from `ProviderSettings.extra`, which holds text only.

    Attributes:
        state_home: SHARD_HOME; our own models lie in `models/` below it.
        home: the person's home folder; never walked, only named folders in it.
        folders: folders of the configuration.
        environ: the variables of `ENVIRONMENT` that are set.
        engine: `auto`, or the one engine to use.
        server_path: a `llama-server` of the person's own, empty for none.
        context_tokens: the context to use at most, None: as large as fits.
    """

    state_home: Path
    home: Path
    folders: tuple[Path, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    engine: str = "auto"
    server_path: str = ""
    context_tokens: int | None = None

    @property
    def models_home(self) -> Path:
        return self.state_home / "models"

    def as_extra(self) -> dict[str, str]:
        """Write it as `ProviderSettings.extra`."""
        return {
            "state_home": str(self.state_home),
            "home": str(self.home),
            "folders": json.dumps([str(folder) for folder in self.folders]),
            "environ": json.dumps(dict(self.environ)),
            "engine": self.engine,
            "server_path": self.server_path,
            "context_tokens": "" if self.context_tokens is None else str(self.context_tokens),
        }

    @classmethod
    def from_settings(cls, settings: ProviderSettings) -> ModelPlaces:
        """Read what `as_extra` wrote. What is missing means the usual."""
        extra = settings.extra
        home = Path(extra.get("home") or Path.home())
        context = extra.get("context_tokens", "")
        return cls(
            state_home=Path(extra.get("state_home") or home / ".shard"),
            home=home,
            folders=tuple(Path(folder) for folder in json.loads(extra.get("folders") or "[]")),
            environ=json.loads(extra.get("environ") or "{}"),
            engine=extra.get("engine") or "auto",
            server_path=extra.get("server_path", ""),
            context_tokens=int(context) if context else None,
        )
