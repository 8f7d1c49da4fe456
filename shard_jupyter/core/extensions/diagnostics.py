"""What the host noticed: nothing is registered, replaced or lost in silence."""

from __future__ import annotations

from typing import Literal

from shard_jupyter.types.wire_model import WireModel

SeamName = Literal[
    "event_handler", "tool", "mode", "turn_end_extractor", "provider", "compactor", "extractor",
    "code_intelligence", "sandbox",
]  # fmt: skip


class RegistrationDiagnostic(WireModel):
    """One registration. `replaced` names the extension whose registration it took over."""

    kind: Literal["registered", "replaced"]
    seam: SeamName
    key: str
    extension: str
    replaced: str | None = None


class FaultDiagnostic(WireModel):
    """An extension that raised. The rest went on without it."""

    kind: Literal["setup_failed", "handler_failed", "disposer_failed"]
    extension: str
    source: str
    message: str


Diagnostic = RegistrationDiagnostic | FaultDiagnostic
