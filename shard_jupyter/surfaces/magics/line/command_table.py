"""Every `%shard` command, declared; nothing is done here. Light: the extension imports it.

A command is one row of `LINE_COMMANDS` and one module of the same name under `commands/`.
"""

from __future__ import annotations

from dataclasses import dataclass

HELP_HINT = "`%shard help` lists the commands."


@dataclass(frozen=True)
class Option:
    """`value` names what follows the option; empty: nothing does."""

    name: str
    meaning: str
    value: str = ""


@dataclass(frozen=True)
class LineCommand:
    """A row of the table.

    Attributes:
        argument: the names of the words that may follow, empty if none may.
    """

    name: str
    summary: str
    argument: str = ""
    argument_meaning: str = ""
    options: tuple[Option, ...] = ()
    examples: tuple[str, ...] = ()

    @property
    def usage(self) -> str:
        parts = ["%shard", self.name]
        parts += [f"[{self.argument}]"] if self.argument else []
        parts += [f"[{option.name} {option.value}".rstrip() + "]" for option in self.options]
        return " ".join(parts)


_AGENT = Option("--agent", "the agent of that name, not the one used last", "NAME")

_ROWS = (
    LineCommand(
        "status",
        "the agent: model, mode, state, session, what it has used",
        options=(_AGENT,),
        examples=("%shard status", "s = %shard status", "s.session_id"),
    ),
    LineCommand(
        "models",
        "the models that can be named, and what each still needs",
        examples=("%shard models",),
    ),
    LineCommand(
        "mode",
        "show the modes, or switch the agent to one",
        argument="MODE",
        argument_meaning="switch to this mode, from the next model call on",
        options=(_AGENT,),
        examples=("%shard mode", "%shard mode plan"),
    ),
    LineCommand(
        "model",
        "show the agent's model, or switch to another",
        argument="ID",
        argument_meaning="switch to this model, from the next prompt on",
        options=(_AGENT,),
        examples=("%shard model", "%shard model openai:gpt-5"),
    ),
    LineCommand(
        "history",
        "the turns of the conversation, or one of them in full",
        argument="N",
        argument_meaning="show turn N in full; -1 is the last one",
        options=(
            _AGENT,
            Option("--session", "a stored conversation; last is the newest of this folder", "ID"),
            Option("--sessions", "list the stored conversations of this folder"),
        ),
        examples=("%shard history", "%shard history 3", "%shard history --sessions"),
    ),
    LineCommand(
        "grants",
        "what you allowed for longer than one call, or take it back",
        argument="revoke ID",
        argument_meaning="take back the grant of this id; all takes back every one",
        examples=("%shard grants", "%shard grants revoke all"),
    ),
    LineCommand(
        "doctor",
        "check the installation and say what to mend",
        examples=("%shard doctor",),
    ),
    LineCommand(
        "help",
        "the commands, and the options of %%shard",
        argument="COMMAND",
        argument_meaning="explain this command",
        examples=("%shard help", "%shard help history"),
    ),
)
LINE_COMMANDS: dict[str, LineCommand] = {row.name: row for row in _ROWS}
