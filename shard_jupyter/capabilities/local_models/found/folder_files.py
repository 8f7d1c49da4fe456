"""Which of the files of one folder are models, which are parts of one, which belong to one."""

from __future__ import annotations

import re
import stat
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path

from shard_jupyter.capabilities.local_models.found.candidate import Candidate
from shard_jupyter.capabilities.local_models.found.found_model import Store
from shard_jupyter.capabilities.local_models.found.search import (
    Search,
    find_canonical,
    show_path,
)
from shard_jupyter.capabilities.local_models.gguf.peek_kind import FileKind, peek_kind
from shard_jupyter.capabilities.local_models.gguf.refusals import BadModelFile
from shard_jupyter.capabilities.local_models.gguf.safe_text import make_safe_text
from shard_jupyter.capabilities.local_models.gguf.split_parts import PartName, read_part_name

_WORD = re.compile(r"[a-z0-9]+")
_SAYS_NOTHING = re.compile(
    r"(?<![a-z0-9])(mmproj|model|gguf|ggml|b?f16|f32|i?q[0-9]_[0-9a-z]+(_[a-z]+)?)(?![a-z0-9])"
)
"""What stands in such names beside the name of the model: kinds of numbers mostly."""


@dataclass(frozen=True)
class FolderRules:
    """What holds for the files of a folder.

    Attributes:
        prefix: stands before the names of files in titles, such as `publisher/repo/`.
        one_family: all files belong to one model, so any projector fits any of them.
    """

    store: Store
    prefix: str = ""
    one_family: bool = False


def pick_models(search: Search, paths: list[Path], rules: FolderRules) -> list[Candidate]:
    """Pick the models among the files of one folder, which `paths` lists in full."""
    files = [path for path in paths if path.name.lower().endswith(".gguf")]
    names = {path.name for path in files}
    models: list[Candidate] = []
    projectors: list[Path] = []
    for path in files:
        if not _is_first(search, path, names):
            continue
        kind = find_kind(search, path)
        if kind == "projector":
            projectors.append(path)
        elif kind == "model" and (found := make_candidate(search, path, rules)):
            models.append(found)
    if not projectors:
        return models
    return [_pair(model, projectors, rules) for model in models]


def find_kind(search: Search, path: Path) -> FileKind:
    """Say what a file is; `other`, with a note, for one that is none or cannot be read."""
    look = search.look_at(path)
    if look is None or not stat.S_ISREG(look.st_mode):
        return "other"
    if "mmproj" in path.name.lower():
        return "projector"
    try:
        return peek_kind(path)
    except BadModelFile as error:
        if error.reason != "missing":
            search.note(f"{show_path(path.parent)}: {error.message}")
        return "other"


def make_candidate(search: Search, path: Path, rules: FolderRules) -> Candidate | None:
    """Make the candidate of a model file; None when it has gone meanwhile."""
    split = read_part_name(path)
    # The parts of a split model are found by their names, which what a link leads to may not have.
    canonical = find_canonical(path.parent) / path.name if split else find_canonical(path)
    if canonical.name.endswith(".incomplete"):
        return None
    look = search.look_at(path)
    if look is None:
        return None
    return Candidate(
        path=canonical,
        store=rules.store,
        title=rules.prefix + path.name,
        size_bytes=look.st_size if split is None else _add_sizes(search, path, split),
        identity=(look.st_dev, look.st_ino),
    )


def find_projector(model: str, projectors: list[Path], *, one_family: bool) -> Path | None:
    """Find the projector of a model by its name: in a mixed folder the names have to fit."""
    words = _list_words(model)
    for path in sorted(projectors):
        own = _list_words(path.name)
        if one_family or (own and own <= words):
            return find_canonical(path)
    return None


def _list_words(name: str) -> set[str]:
    return set(_WORD.findall(_SAYS_NOTHING.sub(" ", name.lower())))


def _pair(model: Candidate, projectors: list[Path], rules: FolderRules) -> Candidate:
    name = model.title.removeprefix(rules.prefix)
    return replace(model, projector=find_projector(name, projectors, one_family=rules.one_family))


def _is_first(search: Search, path: Path, names: set[str]) -> bool:
    """Say whether a file stands for a model: it is no part, or the first of all its parts."""
    split = read_part_name(path)
    if split is None:
        return True
    if split.count > len(names) or not names.issuperset(split.name_all()):
        first = make_safe_text(split.name_of(1))
        search.note(f"{show_path(path.parent)}: of {first} not all {split.count} parts are there.")
        return False
    return split.part == 1


def _add_sizes(search: Search, path: Path, split: PartName) -> int:
    """Add up the parts, to the first that is missing."""
    looks = (search.look_at(path.with_name(name)) for name in split.name_all())
    return sum(look.st_size for look in takewhile(lambda look: look is not None, looks) if look)
