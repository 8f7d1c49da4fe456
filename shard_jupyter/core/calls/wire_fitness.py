"""Whether data from tools and models can go into the log and over the wire; mends what can be."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError

from shard_jupyter.errors import FrameError
from shard_jupyter.protocol.framing import encode_record
from shard_jupyter.store.surrogates import clean_value

Model = TypeVar("Model", bound=BaseModel)


def unfit_reason(model: BaseModel) -> str:
    """Say why no peer could read it; empty when every one can."""
    try:
        encode_record(model)
    except FrameError as error:
        return error.message
    except PydanticSerializationError as error:
        return str(error)
    return ""


def fit_for_wire(model: Model) -> Model:
    """Return it with half characters replaced; itself when nothing is wrong.

    Raises:
        ValueError: something else is wrong, such as a number that JSON does not have.
    """
    if unfit_reason(model) == "":
        return model
    mended = type(model).model_validate(clean_value(model.model_dump()))
    reason = unfit_reason(mended)
    if reason:
        raise ValueError(f"it holds what cannot be sent: {reason}")
    return mended
