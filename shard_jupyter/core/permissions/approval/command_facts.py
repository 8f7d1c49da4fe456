"""What a shell command does, as far as its text tells. Decides nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from shard_jupyter.contracts.permission_gate import GateRequest
from shard_jupyter.core.files.protected_names import is_secret_path
from shard_jupyter.core.permissions.approval import program_effects as effects
from shard_jupyter.core.permissions.approval.command_effects import (
    cannot_be_undone,
    changed_by,
    git_command,
    hosts_of,
    is_known,
    program_of,
    talks,
)
from shard_jupyter.core.permissions.approval.place_names import (
    ANY_HOST,
    find_place,
    hosts_in,
    name_path,
    show_folder,
)
from shard_jupyter.core.permissions.shell.parse_command import parse_command
from shard_jupyter.core.permissions.shell.parsed_command import NotUnderstood, all_redirections
from shard_jupyter.core.permissions.shell.shell_verdict import ShellVerdict, SimpleReading
from shard_jupyter.core.permissions.shell_words import read_segments
from shard_jupyter.types.render_descriptors import ApprovalFacts

MOST_PATHS = 5000
"""More than a text that is understood can name."""
_NO_FILES = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})
_SOCKET = re.compile(r"/dev/(?:tcp|udp)/([^/]+)/")
"""Such a name behind a redirection is no file: bash connects to that host."""


@dataclass(frozen=True)
class ReadText:
    """A text as it was read.

    Attributes:
        commands: its simple commands; none where it was not understood.
        redirected: files that redirections write, as given.
        cwd: where it starts.
    """

    given: str
    commands: Sequence[SimpleReading]
    redirected: Sequence[str]
    cwd: Path

    @property
    def moves(self) -> bool:
        """It changes the folder, so that nobody knows where relative paths lead."""
        return any(program_of(each) in effects.MOVE and each.words[1:] for each in self.commands)

    @property
    def is_known(self) -> bool:
        return bool(self.commands) and all(map(is_known, self.commands)) and not self.moves

    @property
    def changed(self) -> tuple[str, ...]:
        named = [path for command in self.commands for path in changed_by(command)]
        files = (path for path in self.redirected if path not in _NO_FILES)
        return (*named, *(path for path in files if not _SOCKET.match(path)))

    @property
    def inputs(self) -> tuple[str, ...]:
        """What redirections read."""
        parsed = parse_command(self.given)
        if isinstance(parsed, NotUnderstood):
            return ()
        reads = (one.target.text for one in all_redirections(parsed) if one.operator in ("<", "<>"))
        return tuple(path for path in reads if path not in _NO_FILES)

    @property
    def sockets(self) -> tuple[str, ...]:
        """The hosts to which redirections connect."""
        found = map(_SOCKET.match, (*self.redirected, *self.inputs))
        return tuple(match[1] for match in found if match)

    @property
    def programs(self) -> frozenset[str]:
        """What it may run, by a cautious look where it was not understood."""
        if self.commands:
            return frozenset(map(program_of, self.commands))
        return frozenset(segment.program for segment in read_segments(self.given)) - {""}


def facts_of_command(
    request: GateRequest, given: str, verdict: ShellVerdict, *, is_locked: bool
) -> ApprovalFacts:
    """`is_locked`: it runs in a sandbox, where the network is what a person has said yes to."""
    # A tool that does not look at the canonical form runs the given text.
    exact = verdict.canonical if request.reach.obeys_context else ""
    commands = verdict.commands if verdict.canonical else ()
    text = ReadText(given, commands, verdict.writes, request.cwd)
    network = tuple(dict.fromkeys(_network_of(text, is_locked=is_locked)))
    if request.reach.asks_network and not network:
        network = (ANY_HOST,)
    return ApprovalFacts(
        command=exact or given,
        written=given if exact not in ("", given) else "",
        runs_in=_runs_in(request, network, is_locked=is_locked),
        writes=_outside_first(_name_all(text.changed, text)),
        reads_outside=_name_all(_read_outside(text), text),
        network=network,
        is_known=text.is_known and not request.reach.asks_unconfined,
        undo=_undo(text, network),
    )


def _runs_in(request: GateRequest, network: Sequence[str], *, is_locked: bool) -> str:
    folder = show_folder(request.cwd)
    if not is_locked:
        return folder
    return f"{folder}, in a sandbox{'' if network else ' without network'}"


def _name_all(paths: Iterable[str], text: ReadText) -> tuple[str, ...]:
    named = (path if text.moves else name_path(path, text.cwd) for path in paths)
    return tuple(dict.fromkeys(named))[:MOST_PATHS]


def _outside_first(names: Sequence[str]) -> tuple[str, ...]:
    """Where a client shows only some, these must be among them."""
    return tuple(sorted(names, key=lambda name: not name.startswith(("/", "~", ".."))))


def _network_of(text: ReadText, *, is_locked: bool) -> Iterator[str]:
    """Yield hosts; `any` where one of the commands names none, or may run whatever it likes."""
    yield from text.sockets
    for command in text.commands:
        hosts = hosts_of(command)
        if talks(command):
            yield from hosts or (ANY_HOST,)
        elif not is_known(command) and not is_locked:
            yield from (*hosts, ANY_HOST)
    if not text.commands:
        hosts = tuple(hosts_in(text.given))
        may_talk = bool(text.programs & effects.TALK) or _SOCKET.search(text.given) is not None
        if not is_locked:
            others = text.programs - effects.ONLY_TELL - effects.CHANGE_PATHS
            may_talk = may_talk or bool(hosts or others)
        if may_talk:
            yield from (*hosts, ANY_HOST)


def _read_outside(text: ReadText) -> Iterator[str]:
    named = [path for command in text.commands for path in command.argv.reads]
    for path in (*named, *(path for path in text.inputs if not _SOCKET.match(path))):
        place = find_place(path, text.cwd)
        if place is None or not place.inside or is_secret_path(place.real.parts):
            yield path


def _undo(text: ReadText, network: Sequence[str]) -> str:
    """Name the worst of what its commands do."""
    if any(map(cannot_be_undone, text.commands)) or text.programs & effects.CANNOT_BE_UNDONE:
        return effects.MAY_BE_GONE
    if not text.is_known:
        return effects.NOT_TOLD
    if text.sockets:
        return effects.SENT
    git = {git_command(command) for command in text.commands} - {""}
    if network and git <= effects.GIT_SENDS:
        return effects.SENT
    if git - effects.GIT_ONLY_TELLS:
        return effects.BY_GIT
    return _undo_of_files(text.changed, text.cwd)


def _undo_of_files(changed: Sequence[str], cwd: Path) -> str:
    if not changed:
        return effects.NOTHING
    places = [None if _is_pattern(path) else find_place(path, cwd) for path in changed]
    if all(place is not None and not place.real.exists() for place in places):
        return effects.MADE_NEW
    is_inside = all(place is not None and place.inside for place in places)
    return effects.BY_GIT if is_inside else effects.MAY_BE_GONE


def _is_pattern(path: str) -> bool:
    return any(sign in path for sign in "*?[")
