"""Writes GGUF files for tests: valid ones of a few KB, and ones that are wrong in one place.

`write_tiny_model(path)` is all that most tests need. `tiny_llama()` gives the parts of such a file
to change before `to_bytes()`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path

UINT8, INT8, UINT16, INT16, UINT32, INT32, FLOAT32, BOOL = range(8)
STRING, ARRAY, UINT64, INT64, FLOAT64 = range(8, 13)
F32, F16, Q4_0, Q8_0, Q4_K = 0, 1, 2, 8, 12

_FORMATS = {
    UINT8: "<B", INT8: "<b", UINT16: "<H", INT16: "<h", UINT32: "<I", INT32: "<i", FLOAT32: "<f",
    BOOL: "<?", UINT64: "<Q", INT64: "<q", FLOAT64: "<d",
}  # fmt: skip
_BLOCKS = {F32: (1, 4), F16: (1, 2), Q4_0: (32, 18), Q8_0: (32, 34), Q4_K: (256, 144)}
CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}{% endfor %}"
)


def write_text(text: str | bytes) -> bytes:
    data = text if isinstance(text, bytes) else text.encode()
    return struct.pack("<Q", len(data)) + data


@dataclass(frozen=True)
class Value:
    """A value with its type; `payload` is written behind it as it is."""

    kind: int
    payload: bytes


def number(kind: int, value: float) -> Value:
    return Value(kind, struct.pack(_FORMATS[kind], value))


def uint32(value: int) -> Value:
    return number(UINT32, value)


def text(value: str | bytes) -> Value:
    return Value(STRING, write_text(value))


def array(kind: int, items: list[float] | list[str], *, count: int | None = None) -> Value:
    """Write an array; `count` lies about its length."""
    data = b"".join(
        write_text(str(item)) if kind == STRING else struct.pack(_FORMATS[kind], item)
        for item in items
    )
    said = len(items) if count is None else count
    return Value(ARRAY, struct.pack("<IQ", kind, said) + data)


@dataclass(frozen=True)
class Tensor:
    """`offset` and `size` are worked out where they are None."""

    name: str | bytes
    dims: tuple[int, ...]
    kind: int = F32
    offset: int | None = None
    size: int | None = None

    def count_bytes(self) -> int:
        if self.size is not None:
            return self.size
        block, size = _BLOCKS[self.kind]
        elements = 1
        for dim in self.dims:
            elements *= dim
        return -(-elements // block) * size


@dataclass
class GgufFile:
    """The parts of a file. Nothing is checked: tests write wrong ones."""

    keys: list[tuple[str | bytes, Value]] = field(default_factory=list)
    tensors: list[Tensor] = field(default_factory=list)
    magic: bytes = b"GGUF"
    version: int = 3
    alignment: int = 32
    key_count: int | None = None
    tensor_count: int | None = None
    byte_order: str = "<"

    def put(self, key: str, value: Value) -> GgufFile:
        """Set a key in its place, or add it at the end."""
        for index, (name, _) in enumerate(self.keys):
            if name == key:
                self.keys[index] = (key, value)
                return self
        self.keys.append((key, value))
        return self

    def drop(self, *names: str) -> GgufFile:
        self.keys = [(name, value) for name, value in self.keys if name not in names]
        return self

    def to_bytes(self) -> bytes:
        keys = len(self.keys) if self.key_count is None else self.key_count
        tensors = len(self.tensors) if self.tensor_count is None else self.tensor_count
        head = self.magic + struct.pack(f"{self.byte_order}IQQ", self.version, tensors, keys)
        for name, value in self.keys:
            head += write_text(name) + struct.pack("<I", value.kind) + value.payload
        table, data_bytes = self._place_tensors()
        head += table
        return head + bytes(-len(head) % self.alignment) + bytes(data_bytes)

    def write(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.to_bytes())
        return path

    def _place_tensors(self) -> tuple[bytes, int]:
        table, end = b"", 0
        for tensor in self.tensors:
            offset = end if tensor.offset is None else tensor.offset
            table += write_text(tensor.name) + struct.pack("<I", len(tensor.dims))
            table += b"".join(struct.pack("<Q", dim) for dim in tensor.dims)
            table += struct.pack("<IQ", tensor.kind, offset)
            end = max(end, offset + tensor.count_bytes())
            end += -end % self.alignment
        return table, end


def tiny_llama(*, name: str = "Tiny", context: int = 4096, layers: int = 2) -> GgufFile:
    """The parts of a valid model: 2 layers of 8 elements, 16 tokens, a chat template; 5 KB."""
    width, heads, kv_heads, tokens = 8, 4, 2, 16
    kv_width = width // heads * kv_heads
    file = GgufFile()
    file.keys = [
        ("general.architecture", text("llama")),
        ("general.type", text("model")),
        ("general.name", text(name)),
        ("general.license", text("apache-2.0")),
        ("general.size_label", text("1K")),
        ("general.file_type", uint32(0)),
        ("llama.context_length", uint32(context)),
        ("llama.block_count", uint32(layers)),
        ("llama.embedding_length", uint32(width)),
        ("llama.feed_forward_length", uint32(width * 2)),
        ("llama.attention.head_count", uint32(heads)),
        ("llama.attention.head_count_kv", uint32(kv_heads)),
        ("llama.attention.layer_norm_rms_epsilon", number(FLOAT32, 1e-5)),
        ("tokenizer.ggml.model", text("llama")),
        ("tokenizer.ggml.tokens", array(STRING, [f"<{index}>" for index in range(tokens)])),
        ("tokenizer.ggml.scores", array(FLOAT32, [0.0] * tokens)),
        ("tokenizer.ggml.token_type", array(INT32, [1] * tokens)),
        ("tokenizer.chat_template", text(CHAT_TEMPLATE)),
    ]
    file.tensors = [
        Tensor("token_embd.weight", (width, tokens)),
        Tensor("output_norm.weight", (width,)),
    ]
    for layer in range(layers):
        block = f"blk.{layer}."
        file.tensors += [
            Tensor(f"{block}attn_norm.weight", (width,)),
            Tensor(f"{block}attn_q.weight", (width, width)),
            Tensor(f"{block}attn_k.weight", (width, kv_width)),
            Tensor(f"{block}attn_v.weight", (width, kv_width)),
            Tensor(f"{block}attn_output.weight", (width, width)),
            Tensor(f"{block}ffn_norm.weight", (width,)),
            Tensor(f"{block}ffn_gate.weight", (width, width * 2)),
            Tensor(f"{block}ffn_up.weight", (width, width * 2)),
            Tensor(f"{block}ffn_down.weight", (width * 2, width)),
        ]
    return file


def write_tiny_model(path: Path, *, name: str = "Tiny", context: int = 4096) -> Path:
    """Write a valid model; two with different names differ in their bytes."""
    return tiny_llama(name=name, context=context).write(path)


def write_projector(path: Path) -> Path:
    """Write what lets a model see images; it is no model by itself."""
    file = GgufFile(tensors=[Tensor("mm.0.weight", (8, 8))])
    file.put("general.architecture", text("clip")).put("general.type", text("mmproj"))
    return file.write(path)


def write_split_model(folder: Path, stem: str = "big", parts: int = 3) -> tuple[Path, ...]:
    """Write a model in parts, `big-00001-of-00003.gguf` and so on; the first has the keys."""
    whole = tiny_llama()
    written = []
    for index in range(parts):
        part = GgufFile(
            keys=list(whole.keys) if index == 0 else [],
            tensors=whole.tensors[index::parts],
        )
        part.put("split.no", number(UINT16, index)).put("split.count", number(UINT16, parts))
        part.put("split.tensors.count", number(INT32, len(whole.tensors)))
        name = f"{stem}-{index + 1:05}-of-{parts:05}.gguf"
        written.append(part.write(folder / name))
    return tuple(written)
