"""The command line with a catalogue of one small model, made of numbers in the environment."""

from __future__ import annotations

import os
import random
import sys

from shard_jupyter.capabilities.local_models.catalog import catalog_model
from tests.fakes.gguf_file import tiny_llama
from tests.fakes.model_shop import make_model, slice_into_wheels
from tests.terminal_signals import obey_signals


def make_data(size: int) -> bytes:
    """A file that is found as a model, and cannot be packed much smaller."""
    head = tiny_llama().to_bytes()
    return head + random.Random(size).randbytes(size - len(head))


def replace_everywhere(old: object, new: object) -> None:
    """Also where it was imported by name already."""
    for module in list(sys.modules.values()):
        for name, value in list(vars(module).items()):
            if value is old:
                setattr(module, name, new)


def main() -> int:
    data = make_data(int(os.environ["FAKE_MODEL_BYTES"]))
    model = make_model(data, slice_into_wheels(data, 2))
    replace_everywhere(catalog_model.CATALOG, (model,))
    replace_everywhere(catalog_model.DEFAULT_MODEL, model)

    from shard_jupyter.surfaces.cli.main import run_cli

    return run_cli()


if __name__ == "__main__":
    obey_signals()
    sys.exit(main())
