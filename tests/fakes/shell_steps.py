"""Which commands of a parsed text a shell runs when each of them returns the same status."""

from __future__ import annotations

from collections.abc import Iterator

from shard_jupyter.core.permissions.shell.parsed_command import (
    CommandList,
    Group,
    SimpleCommand,
    simple_commands,
)


def count_commands(commands: CommandList) -> int:
    return sum(1 for _ in simple_commands(commands))


class Steps:
    """`run` holds the numbers of the commands that run, `cd` left out, as it is not recorded."""

    def __init__(self, commands: CommandList, status: int) -> None:
        self.run: list[int] = []
        self._status = status
        self._numbers: Iterator[int] = iter(range(count_commands(commands)))
        self._list(commands, is_run=True)

    def _list(self, commands: CommandList, *, is_run: bool) -> int:
        status = 0
        for connector, pipeline in commands.items:
            is_due = {"&&": status == 0, "||": status != 0}.get(connector, True)
            is_due = is_due and is_run
            last = 0
            for stage in pipeline.stages:
                last = self._stage(stage, is_run=is_due)
            if is_due:
                status = int(last == 0) if pipeline.is_negated else last
        return status

    def _stage(self, stage: SimpleCommand | Group, *, is_run: bool) -> int:
        if isinstance(stage, Group):
            return self._list(stage.body, is_run=is_run)
        number = next(self._numbers)
        if stage.words[0].text == "cd":
            return 0
        if is_run:
            self.run.append(number)
        return self._status
