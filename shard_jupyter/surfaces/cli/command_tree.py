"""Every command and option, declared; nothing is done here. Light: `--help` imports it.

A command is one row of `COMMANDS` and one module of the same name under `commands/`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NoReturn

from shard_jupyter import __version__
from shard_jupyter.errors import UsageError

PROGRAM = "shard"


class CommandParser(argparse.ArgumentParser):
    """Refuses by an exception, so that every error is told in one way. No abbreviations."""

    def __init__(self, **settings: object) -> None:
        super().__init__(allow_abbrev=False, **settings)  # type: ignore[arg-type]

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}.", next_step=f'See "{self.prog} --help".')


def build_parser() -> CommandParser:
    """Declare the whole tree. Parsing gives `command`, and `action` where there is a second word."""
    parser = CommandParser(prog=PROGRAM, description="Coding agents that live in notebooks.")
    parser.add_argument("--version", action="version", version=f"shard-jupyter {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (text, declare) in COMMANDS.items():
        command = commands.add_parser(name, help=text, description=_sentence(text))
        declare(command)
    return parser


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _declare_run(parser: CommandParser) -> None:
    parser.add_argument("prompt", metavar="PROMPT", help="what to do; - reads it from stdin")
    parser.add_argument("--model", metavar="ID", help="routing id, such as openai:gpt-5")
    parser.add_argument("--mode", metavar="M", help="mode, such as build or plan")
    parser.add_argument(
        "--ask",
        choices=("inline", "deny", "rules", "yes", "recorded"),
        help="who answers when a tool needs permission: inline asks you, deny refuses, rules "
        "lets allow rules decide, yes allows what no deny rule forbids, recorded answers as the "
        "cassette does and else as rules (default: recorded for a model replay:F, inline on a "
        "terminal, else headless_policy of the configuration: rules)",
    )
    parser.add_argument(
        "--sandbox",
        choices=("off", "auto", "required"),
        help="whether shell commands are locked in (default: what the configuration says: auto)",
    )
    parser.add_argument("--json", action="store_true", help="print every event as a JSON line")
    parser.add_argument("--cwd", metavar="DIR", help="work in this folder")
    parser.add_argument(
        "--timeout", metavar="S", type=_read_seconds, help="stop the turn after so many seconds"
    )
    parser.add_argument(
        "--budget", metavar="B", help="stop at so many tokens (200k, 1.5M) or dollars ('$1.50')"
    )
    parser.add_argument(
        "--record", metavar="F", help="record the answers of the model, and yours, to this file"
    )
    session = parser.add_mutually_exclusive_group()
    session.add_argument("--session", metavar="ID", help="go on with this session")
    session.add_argument(
        "--continue",
        dest="continue_last",
        action="store_true",
        help="go on with the last session of this folder",
    )
    _declare_trust(parser)


def _declare_trust(parser: CommandParser) -> None:
    parser.add_argument(
        "--trust-project",
        action="store_true",
        help="use the project's own configuration and allow rules, in this run only",
    )


def _read_seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return seconds


def _declare_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def _declare_doctor(parser: CommandParser) -> None:
    _declare_json(parser)
    _declare_trust(parser)


def _declare_config(parser: CommandParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    texts = {
        "show": "print every value that holds, and where it came from",
        "path": "print where configuration and state lie",
        "set": "set a key in settings.json; your own config.json is never written",
        "unset": "take a key out of settings.json again",
    }
    parsers = {
        name: actions.add_parser(name, help=text, description=_sentence(text))
        for name, text in texts.items()
    }
    _declare_json(parsers["show"])
    _declare_trust(parsers["show"])
    _declare_json(parsers["path"])
    for name in ("set", "unset"):
        text = "dotted key, such as retry.max_attempts"
        parsers[name].add_argument("key", metavar="KEY", help=text)
    parsers["set"].add_argument("value", metavar="VALUE", help="JSON, or text for a text key")


def _declare_models(parser: CommandParser) -> None:
    _declare_json(parser)
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    texts = {
        "list": "list models and what is missing to use them; the same as without ACTION",
        "pull": "fetch a model for this machine, once you have agreed to its size and licence",
        "rm": "remove a model that was fetched; files of other programs are never touched",
    }
    parsers = {
        name: actions.add_parser(name, help=text, description=_sentence(text))
        for name, text in texts.items()
    }
    for name in ("list", "pull"):
        # Not set where it is not given: else it would undo the one before ACTION.
        parsers[name].add_argument(
            "--json", action="store_true", default=argparse.SUPPRESS, help="print JSON"
        )
    text = "which model, such as smollm2-135m"
    parsers["pull"].add_argument(
        "name", metavar="NAME", nargs="?", help=f"{text}; without it the one that calls tools"
    )
    parsers["rm"].add_argument("name", metavar="NAME", help=text)
    for name in ("pull", "rm"):
        parsers[name].add_argument("--yes", action="store_true", help="do not ask")


def _declare_rules(parser: CommandParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    texts = {
        "list": "list every rule that counts in a folder, and those that do not",
        "explain": "say what happens to a command, which rule decides, and why",
        "check": "judge many commands and paths, one JSON object a line",
    }
    parsers = {
        name: actions.add_parser(name, help=text, description=_sentence(text))
        for name, text in texts.items()
    }
    explain, check = parsers["explain"], parsers["check"]
    explain.add_argument("subject", metavar="CMD", help="a shell command; with --tool a path")
    explain.add_argument(
        "--tool", choices=("bash", "read", "write"), default="bash", help="what is to do it"
    )
    explain.add_argument("--mode", metavar="M", default="build", help="mode (default: build)")
    check.add_argument(
        "--jsonl",
        metavar="F",
        required=True,
        help="lines with id and either cmd or path and op (read or write); - reads stdin",
    )
    for name in ("list", "explain"):
        _declare_json(parsers[name])
    for each in parsers.values():
        each.add_argument("--cwd", metavar="DIR", help="judge as in this folder")
        _declare_trust(each)


def _declare_grants(parser: CommandParser) -> None:
    _declare_json(parser)
    _declare_session(parser)
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    texts = {
        "list": "list what you allowed for longer; the same as without ACTION",
        "revoke": "take back what you allowed",
    }
    parsers = {
        name: actions.add_parser(name, help=text, description=_sentence(text))
        for name, text in texts.items()
    }
    for each in parsers.values():
        # Not set where it is not given: else it would undo the one before ACTION.
        each.add_argument(
            "--json", action="store_true", default=argparse.SUPPRESS, help="print JSON"
        )
        _declare_session(each, default=argparse.SUPPRESS)
    which = parsers["revoke"].add_mutually_exclusive_group(required=True)
    which.add_argument("id", metavar="ID", nargs="?", help="which; the list names them")
    which.add_argument("--all", action="store_true", help="all that the list shows")


def _declare_session(parser: CommandParser, default: str | None = None) -> None:
    parser.add_argument(
        "--session", metavar="ID", default=default, help="only those of this session"
    )


def _declare_completion(parser: CommandParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="for which shell")


def _declare_demo(parser: CommandParser) -> None:
    parser.add_argument(
        "--yes",
        action="store_true",
        help="answer every question: fetch the model, allow each command and change once",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--small", action="store_true", help="the smallest model: for chat, not for tools"
    )
    which.add_argument(
        "--model", metavar="ID", help="this model: a routing id, or the path of a GGUF file"
    )
    parser.add_argument(
        "--folder", metavar="DIR", help="where the scratch folder is made (default: temporary)"
    )


Declare = Callable[[CommandParser], None]
COMMANDS: dict[str, tuple[str, Declare]] = {
    "demo": ("see an agent at work in a notebook, in a scratch folder", _declare_demo),
    "run": ("run one prompt to its end", _declare_run),
    "doctor": ("check the installation and say what to mend", _declare_doctor),
    "config": ("show or change the configuration", _declare_config),
    "models": ("list models; fetch and remove those of this machine", _declare_models),
    "rules": ("say what rules allow, ask and forbid, and why", _declare_rules),
    "grants": ("list and revoke what you allowed for longer", _declare_grants),
    "sessions": ("list stored sessions", _declare_json),
    "usage": ("sum up tokens and cost by model", _declare_json),
    "completion": ("print a completion script for a shell", _declare_completion),
}
