"""The list of tensors, and whether the file is long enough for them.

An engine that maps a file which was cut short dies at its end, so the end of every tensor counts.
"""

from __future__ import annotations

from dataclasses import dataclass

from shard_jupyter.capabilities.local_models.gguf.header_bytes import HeaderBytes
from shard_jupyter.capabilities.local_models.gguf.safe_text import make_safe_text

_BLOCKS = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34),
    10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210),
    16: (256, 66), 17: (256, 74), 18: (256, 98), 19: (256, 50), 20: (32, 18), 21: (256, 110),
    22: (256, 82), 23: (256, 136), 24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8), 28: (1, 8),
    29: (256, 56), 30: (1, 2), 34: (256, 54), 35: (256, 66), 39: (32, 17),
}  # fmt: skip
"""Elements and bytes of one block, by ggml's number of the type: F32, F16, Q4_0, … MXFP4.

A number that is not here may be a newer quantisation: of such a tensor only the start is checked.
"""
_MOST_DIMS = 4
_MOST_ELEMENTS = 2**63 - 1
_LONGEST_NAME = 127


@dataclass(frozen=True)
class TensorTable:
    count: int
    parameters: int


def read_tensor_table(source: HeaderBytes, count: int, alignment: int) -> TensorTable:
    """Read `count` entries from where `source` stands, and check them against the file."""
    names: set[bytes] = set()
    parameters = end = 0
    last = ""
    for _ in range(count):
        name = _read_name(source, names)
        elements, first = _read_dims(source, name)
        tensor_end = _read_end(source, name, elements, first, alignment)
        parameters += elements
        if tensor_end > end:
            end, last = tensor_end, name
    data = source.position + -source.position % alignment
    if data + end > source.size:
        what = (
            f"is cut off: the tensor {last} ends at byte {data + end}, "
            f"and the file has {source.size} bytes."
        )
        raise source.refuse("tensor_extent", what)
    return TensorTable(count, parameters)


def _read_name(source: HeaderBytes, names: set[bytes]) -> str:
    length = source.read_length()
    if not 0 < length <= _LONGEST_NAME:
        raise source.refuse("tensor_name", f"has a tensor whose name is {length} bytes long.")
    raw = source.read(length)
    name = make_safe_text(raw.decode("utf-8", errors="replace"))
    if raw in names:
        raise source.refuse("tensor_name", f"has the tensor {name} twice.")
    names.add(raw)
    return name


def _read_dims(source: HeaderBytes, name: str) -> tuple[int, int]:
    """Return the number of elements and the length of a row."""
    count = source.read_uint32()
    if count > _MOST_DIMS:
        raise source.refuse("tensor_dims", f"has the tensor {name} of {count} dimensions.")
    elements, first = 1, 1
    for index in range(count):
        dim = source.read_uint64()
        if dim == 0:
            raise source.refuse("tensor_zero", f"has the empty tensor {name}.")
        first = dim if index == 0 else first
        elements *= dim
    if elements > _MOST_ELEMENTS:
        raise source.refuse("tensor_overflow", f"has the impossibly large tensor {name}.")
    return elements, first


def _read_end(source: HeaderBytes, name: str, elements: int, first: int, alignment: int) -> int:
    """Return where the tensor ends, counted from the start of the data."""
    kind, offset = source.read_uint32(), source.read_uint64()
    if offset % alignment:
        what = f"has the tensor {name} at the place {offset}, no multiple of {alignment}."
        raise source.refuse("tensor_offset", what)
    if kind not in _BLOCKS:
        return offset + 1
    block, size = _BLOCKS[kind]
    if first % block:
        what = f"has the tensor {name} with rows of {first} values, no multiple of {block}."
        raise source.refuse("tensor_row", what)
    return offset + elements // block * size
