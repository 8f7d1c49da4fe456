from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.core.files.path_guard import locate
from shard_jupyter.core.files.protected_names import (
    PROTECTED_FOLDERS,
    PROTECTED_NAMES,
    SECRET_FOLDERS,
    SECRET_NAMES,
    find_protected,
    fold_name,
    is_secret_name,
    is_secret_path,
)

pytestmark = pytest.mark.proves("T57", "T59", "T76")


def sample(glob: str) -> str:
    return glob.replace("[0-9]*", "12").replace("*", "any")


def spellings(name: str) -> list[str]:
    """How a disk without case, or one that drops or composes signs, may take the same name."""
    return [
        name, name.upper(), name.title(), name.swapcase(), f"{name}.", f"{name} ", f"{name}. .",
        f"{name}:stream", f"{name}::$DATA", name.replace("k", "\u212a"), name.replace("s", "\u017f"),
        name[:1] + "\u200c" + name[1:], name[:-1] + "\u206f" + name[-1:], f"\ufeff{name}",
        unicodedata.normalize("NFD", name),
    ]  # fmt: skip


@pytest.mark.parametrize("glob", PROTECTED_NAMES)
def test_protected_name_is_protected_in_every_spelling(glob: str) -> None:
    for spelling in spellings(sample(glob)):
        assert find_protected((spelling,)), spelling
        assert find_protected(("src", "deep", spelling)), spelling


@pytest.mark.parametrize("name", sorted(PROTECTED_FOLDERS))
def test_all_in_a_protected_folder_is_protected(name: str) -> None:
    for spelling in spellings(name):
        assert find_protected((spelling,))
        assert find_protected(("a", spelling, "b", "c.txt")) == spelling


@pytest.mark.parametrize("glob", SECRET_NAMES)
def test_secret_name_is_secret_in_every_spelling(glob: str) -> None:
    for spelling in spellings(sample(glob)):
        assert is_secret_name(spelling), spelling
        assert is_secret_path(("/", "home", "me", spelling))


@pytest.mark.parametrize("name", sorted(SECRET_FOLDERS))
def test_all_in_a_secret_folder_is_secret(name: str) -> None:
    for spelling in spellings(name):
        assert is_secret_path((spelling, "deep", "x"))


def test_lists_hold_each_name_once_and_folded() -> None:
    for names in (PROTECTED_NAMES, SECRET_NAMES):
        assert len(set(names)) == len(names)
    for name in (*PROTECTED_NAMES, *SECRET_NAMES, *PROTECTED_FOLDERS, *SECRET_FOLDERS):
        assert fold_name(name) == name


@given(st.text(max_size=12))
def test_folding_twice_is_folding_once(name: str) -> None:
    assert fold_name(fold_name(name)) == fold_name(name)


@given(st.text(max_size=12))
def test_composed_and_taken_apart_is_one_name(name: str) -> None:
    forms = {fold_name(unicodedata.normalize(form, name)) for form in ("NFC", "NFD")}
    assert len(forms) == 1


@pytest.mark.parametrize(
    "given_path", ["$HOME", "a/$X/b", "${X}", "x${X}y", "%X%", "a%TEMP%b/c", "$(id)", "`id`", "$1"]
)
def test_variable_that_nobody_expanded_is_never_a_plain_name(
    given_path: str, tmp_path: Path
) -> None:
    located = locate(tmp_path.resolve(), given_path)
    assert located.inside
    assert located.protected
    assert located.unclear
    assert not located.reads_freely


@pytest.mark.parametrize(
    "given_path", ["a.py::$DATA", "Foo$Bar.class", "$", "100%", "50%.txt", "a$", "src/~x", "$.tsx"]
)
def test_sign_that_is_no_variable_is_a_plain_name(given_path: str, tmp_path: Path) -> None:
    located = locate(tmp_path.resolve(), given_path)
    assert located.reads_freely
    assert not located.protected
