"""The scratch folder of the demo: a copy of the quickstart notebook and of its project. Blocks."""

from __future__ import annotations

import importlib.resources
import tempfile
from importlib.resources.abc import Traversable
from pathlib import Path

import shard_jupyter
from shard_jupyter.errors import StorageError, UserError

NOTEBOOK = "01_quickstart.ipynb"
PROJECT = "sales"
PREFIX = "shard-demo-"
_LEFT_OUT = frozenset({"__pycache__", ".ipynb_checkpoints"})


def find_source() -> Traversable:
    """Return the folder that holds the notebook: of the wheel, else of the clone.

    Raises:
        UserError: this installation has neither.
    """
    packed = importlib.resources.files("shard_jupyter.surfaces.cli.demo") / "project"
    clone = Path(shard_jupyter.__file__).parents[1] / "notebooks"
    for source in (packed, clone):
        if (source / NOTEBOOK).is_file():
            return source
    raise UserError(
        f"{NOTEBOOK} is not part of this installation.",
        code="no_notebook",
        next_step="Install shard-jupyter again, or run the demo from a clone.",
    )


def make_scratch(parent: Path | None) -> Path:
    """Make a fresh folder in `parent`, the temporary folder if None; returns the notebook in it.

    Raises:
        StorageError: it cannot be made.
        UserError: as `find_source`.
    """
    source = find_source()
    try:
        if parent is not None:
            parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent)).resolve()
        _copy(source / NOTEBOOK, scratch / NOTEBOOK)
        _copy(source / PROJECT, scratch / PROJECT)
    except OSError as error:
        raise StorageError(
            f"No folder for the demo can be made in {parent or tempfile.gettempdir()}: "
            f"{error.strerror}.",
            next_step="Name another one: shard demo --folder DIR.",
        ) from error
    return scratch / NOTEBOOK


def _copy(source: Traversable, target: Path) -> None:
    if source.is_file():
        target.write_bytes(source.read_bytes())
        return
    target.mkdir()
    for part in source.iterdir():
        if part.name not in _LEFT_OUT:
            _copy(part, target / part.name)
