"""Which layers of a model see a window only."""

from __future__ import annotations

from shard_jupyter.capabilities.local_models.gguf.metadata import Metadata

_PERIODS = {"cohere2": 4, "gemma2": 2, "gemma3": 6, "gemma3n": 5, "gpt-oss": 2}
"""Every so many layers one sees everything, the last of them; engines have it in their code."""


def find_sliding_layers(metadata: Metadata, architecture: str, layers: int) -> tuple[bool, ...]:
    """Return for each layer whether it sees a window only; empty where that is not known.

    Where file and table differ, the one with more full layers counts: never plan too little.
    """
    key = f"{architecture}.attention.sliding_window_pattern"
    array = metadata.arrays.get(key)
    if array is not None:
        items = array.items or ()
        return tuple(bool(item) for item in items) if len(items) == layers else ()
    period = _PERIODS.get(architecture)
    if period is None:
        return ()
    said = metadata.numbers.get(key)
    if isinstance(said, int) and 0 < said < period:
        period = said
    return tuple(layer % period < period - 1 for layer in range(layers))
