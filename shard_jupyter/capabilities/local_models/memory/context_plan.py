"""How large a context fits: pure arithmetic over a header and a number of bytes (reference §3)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

from shard_jupyter.capabilities.local_models.gguf.gguf_header import GgufHeader
from shard_jupyter.errors import UsageError, UserError

SMALLEST_CONTEXT = 2048
UNKNOWN_TRAINED_CONTEXT = 4096
"""For a file that does not say what it was trained with."""
_LARGEST_STEP = 128 * 1024
_MIB = 1024 * 1024
_CELL_STEP = 256
_BATCH = 512
"""Tokens that an engine works on at once; a window keeps as many more."""
_BYTES_PER_ELEMENT = 2
"""The cache is kept as 16-bit numbers."""


@dataclass(frozen=True)
class ContextPlan:
    """What a server is started with.

    Attributes:
        need_bytes: model, cache and computing together, with a reserve of a tenth.
    """

    context_tokens: int
    kv_bytes: int
    need_bytes: int
    available_bytes: int


class NotEnoughMemory(UserError):
    """Not even the smallest context fits.

    Attributes:
        need_bytes: for the smallest context.
    """

    code = "not_enough_memory"

    def __init__(self, header: GgufHeader, context: int, need: int, available: int) -> None:
        super().__init__(
            f"{header.name or header.path.name} needs {say_size(need, round_up=True)} of memory "
            f"with a context of {context} tokens, and {say_size(max(0, available))} can be used.",
            next_step="Close other programs, or choose a smaller model.",
        )
        self.need_bytes, self.available_bytes = need, available


def plan_context(
    header: GgufHeader, available_bytes: int, wanted: int | None = None
) -> ContextPlan:
    """Choose the largest context that the model was trained for and that fits.

    `wanted` is the most that is asked for, never more than fits.

    Raises:
        NotEnoughMemory: fewer than 2048 tokens would fit.
        UsageError: `wanted` is no number of tokens.
    """
    if wanted is not None and wanted < 1:
        raise UsageError(
            f"A context of {wanted} tokens is impossible.",
            next_step="Leave local_models.context_tokens out, or set it to 2048 or more.",
        )
    most = header.trained_context or UNKNOWN_TRAINED_CONTEXT
    candidates = list_candidates(most if wanted is None else min(most, wanted))
    for context in candidates:
        kv = count_kv_bytes(header, context)
        need = count_need(header.file_bytes, kv)
        if need <= available_bytes:
            return ContextPlan(context, kv, need, available_bytes)
    smallest = candidates[-1]
    need = count_need(header.file_bytes, count_kv_bytes(header, smallest))
    raise NotEnoughMemory(header, smallest, need, available_bytes)


def list_candidates(most: int) -> list[int]:
    """List contexts, the largest first; one below 2048 only where `most` itself is."""
    steps = takewhile(
        lambda step: step >= SMALLEST_CONTEXT, (_LARGEST_STEP >> power for power in range(64))
    )
    return [most, *(step for step in steps if step < most)]


def count_kv_bytes(header: GgufHeader, context_tokens: int) -> int:
    """Count the cache of keys and values for one sequence.

    A layer counts with its window only where it is known to have one: never too little.
    """
    full = _pad(context_tokens)
    sliding = full
    if header.sliding_window is not None:
        sliding = min(full, _pad(header.sliding_window + _BATCH))
    windows = header.sliding_layers or (False,) * len(header.kv_heads)
    elements = header.key_length + header.value_length
    return sum(
        (sliding if window else full) * heads * elements * _BYTES_PER_ELEMENT
        for heads, window in zip(header.kv_heads, windows, strict=True)
    )


def count_need(file_bytes: int, kv_bytes: int) -> int:
    computing = 64 * _MIB + file_bytes // 200
    return (file_bytes + kv_bytes + computing) * 11 // 10


def say_size(count: int, *, round_up: bool = False) -> str:
    """Say bytes as people do: `812 MB`, `3.4 GB`; rounded down, or up for what is needed."""
    unit = 10**8 if count >= 10**9 else 10**6
    number = -(-count // unit) if round_up else count // unit
    return f"{number / 10:.1f} GB" if unit == 10**8 else f"{number} MB"


def _pad(cells: int) -> int:
    return -(-cells // _CELL_STEP) * _CELL_STEP
