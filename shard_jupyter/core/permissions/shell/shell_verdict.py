"""What the shell policy says of one command. Data only."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class ArgvReading:
    """What a table says of one program with its arguments.

    Attributes:
        why_not: why it may not run without a person; empty: it only reads, and all of it is known.
        reads: the paths that it reads, as given.
        reads_below: those of `reads` that it reads to any depth.
        skips: globs of names that it surely leaves out below; those of folders end in `/`.
        writes: the paths that it changes, as given, as far as the table knows.
        network: it may talk to other machines.
        run_as: the arguments with which it must run to be harmless, program first; empty: as given.
        is_git: it needs the hardened environment of git.
    """

    why_not: str = ""
    reads: tuple[str, ...] = ()
    reads_below: tuple[str, ...] = ()
    skips: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    network: bool = False
    run_as: tuple[str, ...] = ()
    is_git: bool = False


@dataclass(frozen=True)
class SimpleReading:
    """One simple command of a text.

    Attributes:
        words: program and arguments, quotes taken off, globs as they were written.
        has_glob: a word stands for names of files.
        changes_files: a redirection writes to a file.
        problem: what speaks against running it without a person, where it stands: its table, a
            path, a redirection, the folder. Empty: nothing, in the form that `confined` has.
    """

    words: tuple[str, ...]
    argv: ArgvReading
    has_glob: bool = False
    changes_files: bool = False
    problem: str = ""


@dataclass(frozen=True)
class ShellVerdict:
    """What is known of a command.

    Attributes:
        is_safe: it may run without a person: it only reads inside the workspace.
        why: what decided, in words that complete "…, because WHY" for a person.
        canonical: the text anew from what was understood, globs kept; empty: it was not understood.
        confined: as `canonical`, globs expanded, git made harmless; empty unless `is_safe`.
        commands: every simple command in it, in order; empty where it was not understood.
        writes: files that redirections write, as given.
    """

    is_safe: bool = False
    why: str = ""
    canonical: str = ""
    confined: str = ""
    commands: tuple[SimpleReading, ...] = field(default=())
    writes: tuple[str, ...] = ()
