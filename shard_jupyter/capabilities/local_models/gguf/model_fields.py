"""The fields of a header, taken from the keys of the file (reference §3)."""

from __future__ import annotations

from pathlib import Path

from shard_jupyter.capabilities.local_models.gguf.gguf_header import GgufHeader
from shard_jupyter.capabilities.local_models.gguf.layer_windows import find_sliding_layers
from shard_jupyter.capabilities.local_models.gguf.metadata import (
    FLOAT32,
    INT32,
    INT32_MAX,
    INTEGERS,
    STRING,
    UINT32,
    Metadata,
)
from shard_jupyter.capabilities.local_models.gguf.refusals import BadModelFile, Reason
from shard_jupyter.capabilities.local_models.gguf.safe_text import make_safe_text

_MOST_LAYERS = 512
_NO_MODELS = {
    "adapter": "an adapter, which changes a model and is none",
    "mmproj": "the part that lets a model see images, and no model by itself",
    "imatrix": "a record made for quantising, and no model",
    "clip": "the part that lets a model see images, and no model by itself",
    "controlvector": "a control vector, which changes a model and is none",
}
_TOKEN_ARRAYS = {
    "tokenizer.ggml.tokens": frozenset((STRING,)),
    "tokenizer.ggml.merges": frozenset((STRING,)),
    "tokenizer.ggml.scores": frozenset((FLOAT32,)),
    "tokenizer.ggml.token_type": frozenset((INT32, UINT32)),
}


PROJECTORS = frozenset(("mmproj", "clip"))


def name_kind(general_type: str, architecture: str) -> str:
    """Say what a file is that is no model; empty for a model."""
    return _NO_MODELS.get(general_type) or _NO_MODELS.get(architecture, "")


def make_header(path: Path, metadata: Metadata, file_bytes: int, parameters: int) -> GgufHeader:
    """Make the header of a model.

    Raises:
        BadModelFile: it is no model, or a field is missing or impossible.
    """
    fields = _Fields(path, metadata)
    architecture = fields.find_architecture()
    check_tokens(path, metadata)
    layers = fields.count_layers()
    width = fields.read_size("embedding_length", None)
    heads = fields.read_layers("attention.head_count", layers, (0,) * layers)
    head_count = next((count for count in heads if count), 0)
    head_length = width // head_count if head_count else 0
    window = fields.read_most("attention.sliding_window", 0)
    return GgufHeader(
        path=path,
        file_bytes=file_bytes,
        architecture=architecture,
        name=fields.read_text("general.name"),
        size_label=fields.read_text("general.size_label"),
        licence=fields.read_text("general.license"),
        trained_context=fields.read_size("context_length", 0),
        block_count=layers,
        embedding_length=width,
        head_count=head_count,
        kv_heads=fields.read_layers("attention.head_count_kv", layers, heads),
        key_length=fields.read_most("attention.key_length", head_length),
        value_length=fields.read_most("attention.value_length", head_length),
        sliding_window=window or None,
        chat_template=metadata.texts.get("tokenizer.chat_template", ""),
        parameters=parameters,
        tool_template=metadata.texts.get("tokenizer.chat_template.tool_use", ""),
        sliding_layers=find_sliding_layers(metadata, architecture, layers) if window else (),
    )


def check_tokens(path: Path, metadata: Metadata) -> None:
    """Refuse token lists of a wrong type or length: engines read them without a look."""
    tokens = metadata.arrays.get("tokenizer.ggml.tokens")
    for key, kinds in _TOKEN_ARRAYS.items():
        if key not in metadata.kinds:
            continue
        array = metadata.arrays.get(key)
        if array is None or array.kind not in kinds:
            what = f"has values of the wrong type at {key}."
            raise BadModelFile("tokenizer_type", path, what)
        if not key.endswith("merges") and (tokens is None or array.count < tokens.count):
            what = f"has {array.count} values at {key}, fewer than it has tokens."
            raise BadModelFile("tokenizer_length", path, what)


class _Fields:
    """Reads fields; those of a model are named after its architecture."""

    def __init__(self, path: Path, metadata: Metadata) -> None:
        self._path, self._metadata = path, metadata
        self._prefix = ""

    def find_architecture(self) -> str:
        texts = self._metadata.texts
        architecture = texts.get("general.architecture", "")
        if kind := name_kind(texts.get("general.type", ""), architecture):
            raise self._refuse("not_a_model", f"is {kind}.")
        if not architecture:
            raise self._refuse("architecture", "does not say which architecture it has.")
        self._prefix = f"{architecture}."
        return make_safe_text(architecture)

    def count_layers(self) -> int:
        layers = self.read_size("block_count", 0)
        if not 0 < layers <= _MOST_LAYERS:
            raise self._refuse("block_count", f"says that it has {layers} layers.")
        return layers

    def read_size(self, name: str, default: int | None) -> int:
        key = self._prefix + name
        if key not in self._metadata.kinds:
            if default is None:
                raise self._refuse("field", f"does not say its {make_safe_text(key)}.")
            return default
        value = self._metadata.numbers.get(key)
        if self._metadata.kinds[key] not in INTEGERS or not isinstance(value, int):
            raise self._refuse("field", f"has no whole number at {make_safe_text(key)}.")
        return self._check_size(key, value)

    def read_most(self, name: str, default: int) -> int:
        """Read what may be given for each layer, where the largest counts: never plan too little."""
        array = self._metadata.arrays.get(self._prefix + name)
        if array is None or not array.items:
            return self.read_size(name, default)
        return max(self.read_layers(name, len(array.items), ()))

    def read_layers(self, name: str, layers: int, default: tuple[int, ...]) -> tuple[int, ...]:
        """Read what is one number for all layers, or an array with one for each."""
        key = self._prefix + name
        array = self._metadata.arrays.get(key)
        if array is None:
            if key not in self._metadata.kinds:
                return default
            return (self.read_size(name, None),) * layers
        items = array.items or ()
        if len(items) < layers or array.kind not in INTEGERS:
            raise self._refuse("field", f"has no number for each layer at {make_safe_text(key)}.")
        return tuple(self._check_size(key, item) for item in items[:layers])

    def read_text(self, key: str) -> str:
        return make_safe_text(self._metadata.texts.get(key, ""))

    def _check_size(self, key: str, value: int) -> int:
        if not 0 <= value <= INT32_MAX:
            raise self._refuse("field", f"has the impossible {value} at {make_safe_text(key)}.")
        return value

    def _refuse(self, reason: Reason, what: str) -> BadModelFile:
        return BadModelFile(reason, self._path, what)
