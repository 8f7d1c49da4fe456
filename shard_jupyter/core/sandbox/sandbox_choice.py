"""Which provider is used, and what is said where one lacks something. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shard_jupyter.contracts.process_runner import SandboxAbilities, SandboxSetting

WORDS: Mapping[str, str] = {
    "fs_write": "writing outside the workspace",
    "fs_read": "reading keys and state",
    "net_tcp": "TCP connections",
    "net_udp": "UDP and name look-ups",
    "unix_sockets": "sockets of other programs",
    "pids": "reaching into other processes",
}
NEEDED = ("fs_write", "fs_read", "net_tcp", "net_udp")
"""What `auto` demands. `required` demands all of them."""
ADVICE = "Install bubblewrap, or run on Linux 6.12 or newer with Landlock."


@dataclass(frozen=True)
class Tried:
    name: str
    abilities: SandboxAbilities


@dataclass(frozen=True)
class Choice:
    """What was found.

    Attributes:
        used: None: commands run without a sandbox, or not at all.
        problem: what is missing, in words; empty: nothing.
    """

    used: Tried | None
    problem: str = ""


def choose(setting: SandboxSetting, tried: Sequence[Tried]) -> Choice:
    """Take the first that has all, then, where that is enough, the first that has what is needed."""
    if setting == "off":
        return Choice(None)
    for one in tried:
        if not missing(one.abilities):
            return Choice(one)
    reasons = "; ".join(f"{one.name}: {_why(one.abilities)}" for one in tried)
    for one in tried:
        lacking = missing(one.abilities)
        if setting == "auto" and not set(lacking) & set(NEEDED):
            return Choice(one, f"the {one.name} sandbox does not stop {_list(lacking)}")
    return Choice(None, f"no sandbox works here ({reasons or 'none is registered'})")


def missing(abilities: SandboxAbilities) -> list[str]:
    if abilities.reason:
        return list(WORDS)
    return [name for name in WORDS if not getattr(abilities, name)]


def say_abilities(abilities: SandboxAbilities) -> str:
    """Say what it stops, for a person."""
    held = [name for name in WORDS if getattr(abilities, name)]
    return f"stops {_list(held)}"


def _why(abilities: SandboxAbilities) -> str:
    return abilities.reason or f"it does not stop {_list(missing(abilities))}"


def _list(names: Sequence[str]) -> str:
    words = [WORDS[name] for name in names]
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
