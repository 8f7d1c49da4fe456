"""Which sandbox is taken, and what is said of the rest."""

from __future__ import annotations

import itertools
from dataclasses import fields, replace

import pytest

from shard_jupyter.contracts.process_runner import SandboxAbilities
from shard_jupyter.core.sandbox.sandbox_choice import (
    NEEDED,
    WORDS,
    Choice,
    Tried,
    choose,
    missing,
    say_abilities,
)

ALL = SandboxAbilities(
    fs_write=True, fs_read=True, net_tcp=True, net_udp=True, unix_sockets=True, pids=True
)
WHOLE = Tried("landlock", ALL)
PART = Tried("bubblewrap", replace(ALL, pids=False))
NONE = Tried("bubblewrap", SandboxAbilities(reason="bubblewrap (bwrap) is not installed"))


def test_every_ability_has_words() -> None:
    assert [*WORDS, "mixed_folders", "reason"] == [field.name for field in fields(SandboxAbilities)]


@pytest.mark.proves("E09")
def test_the_first_that_does_all_is_taken() -> None:
    assert choose("auto", [NONE, WHOLE]) == Choice(WHOLE)
    assert choose("required", [NONE, PART, WHOLE]) == Choice(WHOLE)
    assert choose("off", [WHOLE]) == Choice(None)


@pytest.mark.proves("E09.missing")
def test_what_one_lacks_is_named() -> None:
    choice = choose("auto", [PART])
    assert choice.used == PART
    assert choice.problem == "the bubblewrap sandbox does not stop reaching into other processes"
    assert choose("auto", [NONE]).problem == (
        "no sandbox works here (bubblewrap: bubblewrap (bwrap) is not installed)"
    )
    assert choose("auto", []).problem == "no sandbox works here (none is registered)"


@pytest.mark.proves("E09.required")
def test_what_is_required_is_whole() -> None:
    choice = choose("required", [NONE, PART])
    assert choice.used is None
    assert "it does not stop reaching into other processes" in choice.problem


@pytest.mark.proves("E09.missing")
@pytest.mark.parametrize("held", [*itertools.product((False, True), repeat=len(WORDS))])
def test_nothing_is_taken_that_leaves_open_what_is_relied_on(held: tuple[bool, ...]) -> None:
    abilities = SandboxAbilities(**dict(zip(WORDS, held, strict=True)))  # type: ignore[arg-type]
    relied_on = all(getattr(abilities, name) for name in NEEDED)
    choice = choose("auto", [Tried("x", abilities)])
    assert (choice.used is not None) == relied_on
    assert bool(choice.problem) == (not all(held))
    assert (choose("required", [Tried("x", abilities)]).used is not None) == all(held)


def test_one_that_cannot_be_used_lacks_everything() -> None:
    assert missing(replace(ALL, reason="no")) == list(WORDS)


def test_abilities_are_told_in_words() -> None:
    assert say_abilities(replace(ALL, net_udp=False, unix_sockets=False, pids=False)) == (
        "stops writing outside the workspace, reading keys and state and TCP connections"
    )
