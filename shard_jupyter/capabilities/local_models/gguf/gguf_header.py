"""What was read from the header of a GGUF file. Plain data; `read_header` makes it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

TINY_PARAMETERS = 2_000_000_000
"""A model with fewer gets the tiny profile (DESIGN §10)."""


@dataclass(frozen=True)
class GgufHeader:
    """One model file that native code may see.

    Attributes:
        file_bytes: size of the file; of a split model, of all its parts.
        trained_context: tokens; 0 when the file does not say.
        kv_heads: for each layer.
        key_length: elements of one head.
        value_length: elements of one head.
        sliding_window: tokens, None: every layer sees everything.
        chat_template: empty when the file has none.
        parameters: elements of all tensors together.
        tool_template: the template for calls of tools, of the few files that have two.
        sliding_layers: for each layer whether it sees the window only; empty: not known.
    """

    path: Path
    file_bytes: int
    architecture: str
    name: str
    size_label: str
    licence: str
    trained_context: int
    block_count: int
    embedding_length: int
    head_count: int
    kv_heads: tuple[int, ...]
    key_length: int
    value_length: int
    sliding_window: int | None
    chat_template: str
    parameters: int
    tool_template: str = ""
    sliding_layers: tuple[bool, ...] = ()

    @property
    def is_tiny(self) -> bool:
        return self.parameters < TINY_PARAMETERS
