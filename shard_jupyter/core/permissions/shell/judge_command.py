"""Whether a shell command may run without a person (reference: security.md §2.5).

Every check must hold, for every command of a chain; none ends the others early (T50, T64).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shard_jupyter.core.files.git_places import find_repository
from shard_jupyter.core.permissions.shell.canonical import replace_words, write_canonical
from shard_jupyter.core.permissions.shell.globs import expand_glob
from shard_jupyter.core.permissions.shell.judge_paths import refuse_read, refuse_read_below
from shard_jupyter.core.permissions.shell.judge_redirection import refuse_redirection, written_file
from shard_jupyter.core.permissions.shell.look_budget import LookBudget
from shard_jupyter.core.permissions.shell.parse_command import parse_command
from shard_jupyter.core.permissions.shell.parsed_command import (
    CommandList,
    Group,
    NotUnderstood,
    Pipeline,
    Redirection,
    SimpleCommand,
)
from shard_jupyter.core.permissions.shell.parsing.read_word import NotPlain
from shard_jupyter.core.permissions.shell.shell_verdict import (
    ArgvReading,
    ShellVerdict,
    SimpleReading,
)
from shard_jupyter.core.permissions.shell.tables.find_table import read_argv
from shard_jupyter.core.permissions.shell.working_folder import (
    DEPENDS,
    WorkingFolder,
    find_cd_target,
    is_cd,
)
from shard_jupyter.errors import ToolFailed

MAX_CONFINED = 65_536
"""Characters; a kernel takes half as many again in one argument, in any encoding of names."""
SAFE = "it only reads inside the workspace"


def judge_command(text: str, workspace: Path) -> ShellVerdict:
    """Judge `text` as bash would run it in `workspace`, which is absolute and real.

    Looks at the file system (where paths and globs lead). Never raises for any text.
    """
    parsed = parse_command(text)
    if isinstance(parsed, NotUnderstood):
        return ShellVerdict(why=parsed.reason)
    judging = _Judging(workspace)
    judging.judge_list(parsed, WorkingFolder(workspace))
    judging.judge_repository()
    confined = "" if judging.problems else _write_confined(parsed, judging.confined)
    if len(confined) > MAX_CONFINED:
        judging.problems.append("the names for which its patterns stand are too long together")
    why = next(iter(judging.problems), "")
    return ShellVerdict(
        is_safe=not why,
        why=why or SAFE,
        canonical=write_canonical(parsed),
        confined="" if why else confined,
        commands=tuple(judging.readings),
        writes=tuple(judging.writes),
    )


def _write_confined(commands: CommandList, confined: Sequence[Sequence[str]]) -> str:
    words = iter(confined)
    return write_canonical(replace_words(commands, lambda _: next(words)))


class _Judging:
    """Walks through one text in its order and notes what it finds.

    Attributes:
        problems: all that speaks against it, in words.
        confined: for each simple command the words with which it may run.
    """

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._budget = LookBudget()
        self.problems: list[str] = []
        self.readings: list[SimpleReading] = []
        self.confined: list[tuple[str, ...]] = []
        self.writes: list[str] = []

    def judge_list(self, commands: CommandList, shell: WorkingFolder) -> None:
        runs_surely = True
        for connector, pipeline in commands.items:
            shell.pass_connector(connector)
            before = shell.folder
            if connector in ("", ";"):
                runs_surely = True
            elif connector == "||":
                runs_surely = False
            self._judge_pipeline(pipeline, shell)
            shell.note_move(before, connector, ran_surely=runs_surely)
            runs_surely = runs_surely and _surely_succeeds(pipeline)

    def judge_repository(self) -> None:
        """What cannot be made harmless for git is asked now, rather than failing as it runs."""
        git = [reading.words for reading in self.readings if reading.argv.is_git]
        if self.problems or not git:
            return
        try:
            repository = find_repository(self._workspace, is_quick=True)
        except ToolFailed as failed:
            self._refuse(failed.message.rstrip("."))
            return
        if repository is None and any(map(_compares_files, git)):
            self._refuse("git diff compares any files where there is no repository")

    def _judge_pipeline(self, pipeline: Pipeline, shell: WorkingFolder) -> None:
        is_alone = len(pipeline.stages) == 1
        for stage in pipeline.stages:
            own = shell if is_alone else shell.copy()
            if isinstance(stage, Group):
                inner = own.copy()
                self._judge_redirections(stage.redirections, own.folder)
                self.judge_list(stage.body, inner)
                if not stage.is_subshell:
                    own.leave_group(inner)
            else:
                self._judge_simple(stage, own)

    def _judge_simple(self, command: SimpleCommand, shell: WorkingFolder) -> None:
        known = len(self.problems)
        changes_files = self._judge_redirections(command.redirections, shell.folder)
        words = tuple(word.text for word in command.words)
        globs = frozenset(n for n, word in enumerate(command.words) if word.is_glob)
        if is_cd(command):
            reading = self._judge_cd(command, shell)
        else:
            reading = read_argv(words, has_glob=globs)
            self._confine(command, reading, shell.folder)
        problem = next(iter(self.problems[known:]), "")
        self.readings.append(SimpleReading(words, reading, bool(globs), changes_files, problem))

    def _judge_cd(self, command: SimpleCommand, shell: WorkingFolder) -> ArgvReading:
        try:
            shell.folder = find_cd_target(command, shell.folder, self._workspace)
        except NotPlain as error:
            self._refuse(str(error))
            shell.folder = None
            return ArgvReading(why_not=str(error))
        # The real path: `cd ..` after it must mean the folder above where it really is.
        self.confined.append(("cd", "--", str(shell.folder)))
        return ArgvReading(reads=(command.words[-1].text,))

    def _confine(self, command: SimpleCommand, reading: ArgvReading, folder: Path | None) -> None:
        """Find the words with which it may run, and judge what it reads with them."""
        argv = tuple(word.text for word in command.words)
        has_glob = any(word.is_glob for word in command.words)
        if folder is None or (reading.why_not and not has_glob):
            self._refuse(reading.why_not or DEPENDS)
            return
        if has_glob:
            try:
                argv = self._expand(command, reading, folder)
            except NotPlain as error:
                self._refuse(reading.why_not or str(error))
                return
            reading = read_argv(argv)
        argv = reading.run_as or argv
        self._judge_reading(reading, argv, folder)
        self.confined.append(argv)

    def _expand(
        self, command: SimpleCommand, reading: ArgvReading, folder: Path
    ) -> tuple[str, ...]:
        """Put names in the place of patterns; one that stands for none stays as it is.

        Raises:
            NotPlain: the table does not want names where there are some, or one looks like an
                option.
        """
        names = [
            expand_glob(word, folder, self._workspace, self._budget) if word.is_glob else ()
            for word in command.words
        ]
        if reading.why_not:
            # What stands for nothing is a plain word, `grep --include=*.py`; but the answer to
            # `find *` must not hang on whether there are files today.
            found = frozenset(
                number
                for number, (word, some) in enumerate(zip(command.words, names, strict=True))
                if some or (word.is_glob and not word.text.strip("*?"))
            )
            again = read_argv([word.text for word in command.words], has_glob=found)
            if again.why_not:
                raise NotPlain(again.why_not)
        argv: list[str] = []
        for word, some in zip(command.words, names, strict=True):
            option = next((name for name in some if name.startswith("-")), None)
            if option is not None and "--" not in argv:
                raise NotPlain(f"`{word.text}` stands for {option}, which looks like an option")
            argv += some or (word.text,)
        return tuple(argv)

    def _judge_reading(self, reading: ArgvReading, argv: tuple[str, ...], folder: Path) -> None:
        if reading.why_not:
            self._refuse(reading.why_not)
        if reading.network:
            self._refuse(f"{argv[0]} may talk to other machines")
        for path in reading.writes:
            self._refuse(f"{argv[0]} changes {path}")
        for path in (*reading.reads, *reading.reads_below):
            self._refuse(refuse_read(self._workspace, folder, path))
        try:
            for path in reading.reads_below:
                self._refuse(
                    refuse_read_below(
                        self._workspace, folder, path, argv[0], reading.skips, self._budget
                    )
                )
        except NotPlain as error:
            self._refuse(str(error))

    def _judge_redirections(self, redirections: Sequence[Redirection], folder: Path | None) -> bool:
        written = [name for one in redirections if (name := written_file(one)) is not None]
        self.writes += written
        for redirection in redirections:
            if folder is None:
                self._refuse(DEPENDS)
            else:
                self._refuse(refuse_redirection(redirection, folder, self._workspace))
        return bool(written)

    def _refuse(self, why: str) -> None:
        if why:
            self.problems.append(why)


def _compares_files(words: Sequence[str]) -> bool:
    """Two names are two files to `git diff` outside of a repository; with fewer it only fails."""
    if "diff" not in words:
        return False
    return sum(not word.startswith("-") for word in words[words.index("diff") + 1 :]) > 1


def _surely_succeeds(pipeline: Pipeline) -> bool:
    """A `cd` into a folder that is there; nothing else is sure."""
    stage = pipeline.stages[0]
    is_plain = len(pipeline.stages) == 1 and not pipeline.is_negated
    return is_plain and isinstance(stage, SimpleCommand) and is_cd(stage)
