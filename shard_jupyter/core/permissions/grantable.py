"""Which rules "always" may store, what else they cover, and why there is none. Pure.

A rule for a command is its program, sub-command and options as they are, and of its paths either
the exact one or the folder below which it lies (`security.md` §2.5).
"""

from __future__ import annotations

import posixpath
from fnmatch import fnmatchcase

from shard_jupyter.core.permissions.known_programs import NEVER_GRANTED, NEVER_WIDENED
from shard_jupyter.core.permissions.rules import (
    Subject,
    escape,
    has_wildcard,
    literal_of,
    matches,
    parsed_commands,
)
from shard_jupyter.core.permissions.shell.shell_verdict import SimpleReading
from shard_jupyter.types.decisions import CommandPattern, Rule

TOO_WIDE = "it covers more than a person can be asked for"


def offer_rules(
    subject: Subject, open_commands: tuple[SimpleReading, ...] = ()
) -> tuple[Rule, ...]:
    """Rules that "always" may store for a call, narrowest first; none when it was not understood.

    `open_commands` are those of a chain that nothing allows yet; empty: all of them. There is an
    offer only for one, since an answer stores one rule.
    """
    exact = narrowest_rules(subject, open_commands)
    if len(exact) != 1 or why_not_grantable(exact[0]):
        return ()
    wider = _widen(exact[0])
    return exact if wider is None or why_not_grantable(wider) else (*exact, wider)


def narrowest_rules(
    subject: Subject, open_commands: tuple[SimpleReading, ...] = ()
) -> tuple[Rule, ...]:
    """Write the allow rules that together cover this call and as little else as rules can.

    Empty when no rule of this narrow kind can.
    """
    if subject.command is not None:
        commands = open_commands or parsed_commands(subject)
        if not parsed_commands(subject) or any(command.has_glob for command in commands):
            return ()
        rules = (_exact_rule(subject.tool, command) for command in commands)
        return tuple(dict.fromkeys(rules))
    if len(subject.paths) != 1:
        return ()
    path = subject.paths[0].inside or subject.paths[0].real
    rule = Rule(effect="allow", tool=subject.tool, path=path, source="run")
    return (rule,) if matches(rule, subject) else ()


def _exact_rule(tool: str, command: SimpleReading) -> Rule:
    program, *arguments = map(escape, command.words)
    exact = CommandPattern(program=program, args=tuple(arguments))
    return Rule(effect="allow", tool=tool, command=exact, source="run")


def _widen(rule: Rule) -> Rule | None:
    """Let each path of an exact command be any path below its folder; None where there is none."""
    if rule.command is None or rule.command.program in NEVER_WIDENED:
        return None
    exact = rule.command.args or ()
    args = tuple(map(_widen_word, exact))
    if args == exact:
        return None
    return rule.model_copy(update={"command": rule.command.model_copy(update={"args": args})})


def _widen_word(glob: str) -> str:
    word = literal_of(glob)
    folder = "" if word is None else posixpath.dirname(word)
    return f"{folder}/**" if folder and _is_plain_folder(folder) else glob


def _is_plain_folder(folder: str) -> bool:
    """A folder of the workspace by a name that cannot be an option, a URL or a way elsewhere."""
    if not folder or folder[0] in "-/":
        return False
    if has_wildcard(folder) or any(sign in folder for sign in ":=$`\\~"):
        return False
    return all(part and part[0] != "." for part in folder.split("/"))


def is_grantable(rule: Rule) -> bool:
    return not why_not_grantable(rule)


def why_not_grantable(rule: Rule) -> str:
    """Say why "always" may not store a rule, in words; empty if it may."""
    if rule.effect != "allow" or has_wildcard(rule.tool):
        return TOO_WIDE
    if rule.command is None:
        path = rule.path or "/"
        return TOO_WIDE if has_wildcard(path) or path[-1] == "/" else ""
    program, args = rule.command.program, rule.command.args
    if args is None or has_wildcard(program):
        return TOO_WIDE
    if "/" in program:
        return f"{program} is a program that is named by its path"
    if any(fnmatchcase(program, glob) for glob in NEVER_GRANTED):
        return f"{program} runs, fetches or destroys what its arguments name"
    if any(sign in glob for glob in args for sign in "$`"):
        return "a shell could take one of its arguments for code"
    return "" if all(_may_stand(program, glob) for glob in args) else TOO_WIDE


def _may_stand(program: str, glob: str) -> bool:
    if literal_of(glob) is not None:
        return True
    folder = glob.removesuffix("/**")
    return folder != glob and program not in NEVER_WIDENED and _is_plain_folder(folder)


def why_no_always(subject: Subject) -> str:
    """Say why no rule is offered for a call, in words; empty where one is."""
    if offer_rules(subject):
        return ""
    if subject.command is None:
        return "it is not about one path that a rule could name"
    if subject.shell is None or not subject.shell.canonical:
        return "the command was not understood"
    commands = parsed_commands(subject)
    if not commands:
        return "it writes to a file by a redirection"
    if any(command.has_glob for command in commands):
        return "a pattern in it stands for names of files, which change"
    if len(commands) > 1:
        return "it is more than one command"
    return why_not_grantable(_exact_rule(subject.tool, commands[0]))


def examples_covered(rule: Rule, subject: Subject) -> tuple[str, ...]:
    """Name other calls that `rule` covers, one of each kind; they need not make sense."""
    if rule.command is None:
        return (f"{subject.tool} {rule.path} with any other content",) if rule.path else ()
    wide = [glob for glob in rule.command.args or () if literal_of(glob) is None]
    if not wide:
        return ()
    found = (command for command in parsed_commands(subject) if _is_from(rule, command))
    suffix = next((_suffix_of(command, rule.command) for command in found), "")
    return tuple(
        " ".join((rule.command.program, *(_fill(glob, name) for glob in rule.command.args or ())))
        for name in (f"other{suffix}", f"any/folder/other{suffix}")
    )


def _is_from(rule: Rule, command: SimpleReading) -> bool:
    return rule.command is not None and command.words[0] == literal_of(rule.command.program)


def _suffix_of(command: SimpleReading, pattern: CommandPattern) -> str:
    pairs = zip(pattern.args or (), command.words[1:], strict=False)
    words = [word for glob, word in pairs if literal_of(glob) is None]
    return posixpath.splitext(words[0])[1] if words else ""


def _fill(glob: str, name: str) -> str:
    literal = literal_of(glob)
    return glob.removesuffix("**") + name if literal is None else literal
