"""Why a model file is not given to an engine, said so that a person knows what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from shard_jupyter.capabilities.local_models.gguf.safe_text import make_safe_text
from shard_jupyter.errors import UserError

Reason = Literal[
    "missing", "unreadable", "not_a_file", "too_small", "magic", "big_endian", "version",
    "key_count", "tensor_count", "string_length", "array_length", "cut", "key_empty",
    "key_duplicate", "key_utf8", "nested_array", "value_type", "tokenizer_type",
    "tokenizer_length", "tensor_name", "tensor_dims", "tensor_zero", "tensor_overflow",
    "tensor_row", "tensor_offset", "tensor_extent", "alignment", "no_tensors", "not_a_model",
    "architecture", "block_count", "field", "split_missing", "split_later", "split_mixed",
]  # fmt: skip
FETCH_AGAIN = (
    "The file is damaged, or its download was cut: fetch it again, or choose another model."
)
_NEXT_STEPS: dict[Reason, str] = {
    "missing": "Check the path, or choose a model that `shard models list` shows.",
    "unreadable": "Make it readable for you, or choose another model.",
    "not_a_file": "Give the path of a .gguf file.",
    "magic": "Give the path of a .gguf file, or fetch the model again.",
    "big_endian": "Fetch the little-endian file of this model.",
    "version": "Fetch a newer file of this model; GGUF versions 2 and 3 can be read.",
    "not_a_model": "Choose the model itself, not what belongs to one.",
    "architecture": "Choose another file of this model.",
    "split_missing": "Fetch all parts into one folder and keep their names.",
    "split_later": "Choose the first part.",
    "split_mixed": "Fetch all parts of one model into one folder and keep their names.",
}


class BadModelFile(UserError):
    """A file that native code must not see, or that is no model.

    Attributes:
        reason: stable, for machines.
        path: the file; of a split model, the part.
    """

    code = "bad_model_file"

    def __init__(self, reason: Reason, path: Path, what: str, *, next_step: str = "") -> None:
        step = next_step or _NEXT_STEPS.get(reason, FETCH_AGAIN)
        super().__init__(f"{make_safe_text(path.name)} {what}", next_step=step)
        self.reason = reason
        self.path = path
