"""The options on a `%%shard` line: what there is, how they are read, what completes them. Pure."""

from __future__ import annotations

import keyword
import os
import re
import shlex
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from shard_jupyter.errors import UsageError

if TYPE_CHECKING:
    from shard_jupyter.types.decisions import AskSetting

_REPLAY = "replay:"
MODES = ("build", "plan")
"""The modes that are built in; others may be registered, so any name is passed on."""
_OF_IPYTHON = frozenset({"In", "Out", "get_ipython", "exit", "quit"})
ASK_SETTINGS = ("inline", "deny", "rules", "yes", "recorded")


@dataclass(frozen=True)
class Option:
    """One row of the help. Without `metavar` it is a switch; with `choices` nothing else counts."""

    name: str
    metavar: str
    help: str
    choices: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()


OPTIONS = (
    Option("--agent", "NAME", "talk to the agent of this name (default: the notebook's own)"),
    Option("--new", "", "start a new conversation instead of going on with the last one"),
    Option("--session", "ID", "go on with a stored session; last: the last one of this folder",
           suggestions=("last",)),
    Option("--mode", "MODE", "work in this mode, such as build or plan", suggestions=MODES),
    Option("--model", "ID", "use this model, such as openai:gpt-5"),
    Option("--ask", "WHO", "who answers when a tool needs permission: inline asks you, deny "
           "refuses, rules lets allow rules decide, yes allows what no deny rule forbids, "
           "recorded takes the answers of a recording", choices=ASK_SETTINGS),
    Option("--out", "VAR", "put the answer into this variable"),
    Option("--schema", "VAR", "have the answer fit a type or JSON schema; --out gets the object"),
    Option("--budget", "LIMIT", "stop at so many tokens (200k, 1.5M) or dollars ($1.50)"),
    Option("--timeout", "SECONDS", "stop the turn after so many seconds"),
    Option("--record", "FILE", "record the model's answers, to be replayed with --model replay:FILE"),
    Option("--trust-project", "", "let the project's own configuration and allow rules count, as "
           "long as the agent is open; nothing remembers it"),
    Option("--no-raise", "", "let the cell succeed even when the turn does not"),
    Option("--quiet", "", "show nothing but errors"),
    Option("--help", "", "show this help"),
)  # fmt: skip
_BY_NAME = {option.name: option for option in OPTIONS}

# What people paste from documents in place of "--" and of straight quotes.
_DASHES = "\u00ad\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
_CURLY = "\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb"
_CONTROL = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
_BLANKS = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
    "\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""As `str.isspace`, which is what ends the word `%%shard`."""


@dataclass(frozen=True)
class CellOptions:
    """Checked options of one cell. `session` may be "last"; paths are as they were written."""

    agent: str | None = None
    new: bool = False
    session: str | None = None
    mode: str | None = None
    model: str | None = None
    ask: AskSetting | None = None
    out: str | None = None
    schema: str | None = None
    budget: str | None = None
    timeout_seconds: float | None = None
    record: Path | None = None
    trust_project: bool = False
    no_raise: bool = False
    quiet: bool = False
    wants_help: bool = False


def place_options(options: CellOptions, folder: str) -> CellOptions:
    """Take relative paths as seen from `folder`, in whatever folder the notebook is by now."""
    record, model = options.record, options.model
    if record is not None:
        record = Path(folder, record)
    if model is not None and model.startswith(_REPLAY) and model != _REPLAY:
        model = _REPLAY + os.path.join(folder, model.removeprefix(_REPLAY))  # noqa: PTH118 - text
    return replace(options, record=record, model=model)


def parse_cell_options(line: str) -> CellOptions:
    """Read what follows `%%shard` on its line.

    Raises:
        UsageError: says which word is wrong and what is right.
    """
    words = _split_words(line)
    if "-h" in words or "--help" in words:
        return CellOptions(wants_help=True)
    given = _read_words(words)
    _check_together(given)
    return CellOptions(
        agent=given.get("--agent"),
        new="--new" in given,
        session=given.get("--session"),
        mode=given.get("--mode"),
        model=given.get("--model"),
        ask=given.get("--ask"),  # type: ignore[arg-type] # checked against its choices
        out=_read_variable("--out", given),
        schema=_read_variable("--schema", given),
        budget=_read_budget(given.get("--budget")),
        timeout_seconds=_read_seconds(given.get("--timeout")),
        record=_read_file(given.get("--record")),
        trust_project="--trust-project" in given,
        no_raise="--no-raise" in given,
        quiet="--quiet" in given,
    )


def complete_options(
    text: str, agents: Iterable[str] = (), models: Iterable[str] = ()
) -> list[str]:
    """Return what the last word of `text`, an option line up to the cursor, may become."""
    words = text.split()
    word = "" if not words or text[-1:].isspace() else words.pop()
    name, equals, start = word.partition("=")
    option = _BY_NAME.get(name if equals else words[-1] if words else "")
    if option is not None and option.metavar:
        known = {"--agent": tuple(agents), "--model": tuple(models)}
        values = option.choices or option.suggestions or known.get(option.name, ())
        return [value for value in values if value.startswith(start if equals else word)]
    used = {used.partition("=")[0] for used in words}
    return [other for other in _BY_NAME if other.startswith(word) and other not in used]


def describe_options() -> str:
    """The rows of the help, one or more lines each."""
    from textwrap import wrap  # noqa: PLC0415 - loading the extension must stay cheap

    rows = []
    for option in OPTIONS:
        head = f"  {option.name} {option.metavar}".rstrip()
        first, *rest = wrap(option.help, 70)
        rows += [f"{head:<20}{first}", *(f"{'':<20}{more}" for more in rest)]
    return "\n".join(rows)


def _split_words(line: str) -> list[str]:
    found = _CONTROL.search(line)
    if found is not None:
        raise UsageError(
            f"The %%shard line holds an invisible character (U+{ord(found[0]):04X}).",
            next_step="Delete it, or type the line anew.",
        )
    lexer = shlex.shlex(line, posix=True, punctuation_chars=False)
    lexer.whitespace_split = True
    lexer.commenters = ""
    lexer.whitespace = _BLANKS
    try:
        return list(lexer)
    except ValueError as error:
        if "quotation" in str(error):
            raise UsageError(
                "A quote on the %%shard line is not closed.",
                next_step="Close it; the prompt goes below the line.",
            ) from None
        raise UsageError(
            "The %%shard line ends with a backslash.",
            next_step="Write all options on one line; the prompt goes below it.",
        ) from None


def _read_words(words: Sequence[str]) -> dict[str, str]:
    """Options by name; a switch has the value ''."""
    given: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        option = _BY_NAME.get(name)
        if option is None:
            _refuse_word(word)
        if name in given:
            raise UsageError(f"{name} is given twice.", next_step="Leave one of them out.")
        if option.metavar and not equals:
            value = next(rest, "")
            equals = "" if value.startswith("--") else "="
        _check_value(option, equals, value)
        given[name] = value
    return given


def _check_value(option: Option, equals: str, value: str) -> None:
    if not option.metavar:
        if equals:
            raise UsageError(
                f"{option.name} takes no value.", next_step=f"Write {option.name} alone."
            )
        return
    usage = f"{option.name} {option.metavar}"
    if not equals or not value.strip():
        raise UsageError(f"{option.name} needs a value.", next_step=f"Write {usage}.")
    if value.startswith("-"):
        # However it is quoted: what looks like an option is never a value.
        raise UsageError(
            f"{option.name} cannot be {_shown(value)}: it begins with a hyphen.",
            next_step=f"Write {usage}; a file of such a name is ./{_shown(value)}.",
        )
    if option.choices and value not in option.choices:
        raise UsageError(
            f"{option.name} cannot be {_shown(value)}.",
            next_step=_suggest(value, option.choices) or f"Use one of {', '.join(option.choices)}.",
        )


def _refuse_word(word: str) -> NoReturn:
    first = word[:1]
    if word.strip("-" + _DASHES) and word.lstrip("-")[0] in _DASHES:
        odd = next(character for character in word if character in _DASHES)
        meant = "--" + word.lstrip("-" + _DASHES)
        kind = unicodedata.name(odd, "another dash").lower()
        raise UsageError(
            f"{_shown(word)} starts with {_article(kind)}, not with two hyphens.",
            next_step=f"Write {_shown(meant)}.",
        )
    if any(character in _CURLY for character in word):
        raise UsageError(
            f"{_shown(word)} holds a curly quote.", next_step="Write straight quotes, as in 'a b'."
        )
    if first == "-":
        raise UsageError(
            f"{_shown(word.partition('=')[0])} is no option.",
            next_step=_suggest(word.partition("=")[0], tuple(_BY_NAME))
            or "%%shard --help lists the options.",
        )
    raise UsageError(
        f"{_shown(word)} is no option.",
        next_step="The prompt goes below the %%shard line, and a value with blanks into quotes.",
    )


def _check_together(given: dict[str, str]) -> None:
    if "--schema" in given and "--out" not in given:
        raise UsageError(
            "--schema needs --out.", next_step="Name the variable for the object: --out VAR."
        )
    if "--new" in given and "--session" in given:
        raise UsageError(
            "--new and --session exclude each other.", next_step="Leave one of them out."
        )


def _read_variable(name: str, given: dict[str, str]) -> str | None:
    value = given.get(name)
    if value is None:
        return None
    # Python reads names in this form; without it the variable could not be found again.
    variable = unicodedata.normalize("NFKC", value)
    why = _refuse_variable(name, variable)
    if why:
        raise UsageError(
            f"{name} cannot be {_shown(value)}: it is {why}.",
            next_step=f"Give {name} a name such as answer.",
        )
    return variable


def _refuse_variable(name: str, variable: str) -> str:
    if keyword.iskeyword(variable):
        return "a word of Python's own"
    if name == "--out" and variable in _OF_IPYTHON:
        return "a name that IPython itself needs"
    return "" if variable.isidentifier() else "no name of a variable"


def _read_budget(value: str | None) -> str | None:
    if value is not None:
        from shard_jupyter.core.limits.budget import (  # noqa: PLC0415 - loading must stay cheap
            parse_budget,
        )

        parse_budget(value)
    return value


def _read_seconds(value: str | None) -> float | None:
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise UsageError(
            f"--timeout cannot be {_shown(value)}.",
            next_step="Give it a number of seconds above 0, such as 90.",
        )
    return seconds


def _read_file(value: str | None) -> Path | None:
    if value is None:
        return None
    try:
        return Path(value).expanduser()
    except RuntimeError:  # no such user
        raise UsageError(
            f"--record cannot be {_shown(value)}.", next_step="Give the path in full."
        ) from None


def _suggest(word: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only an error needs it

    # Without the hyphens, which make every two options alike.
    names = {name.lstrip("-"): name for name in known}
    bare = word.lstrip("-")
    close = get_close_matches(bare, names, n=2, cutoff=0.8) or get_close_matches(bare, names, n=1)
    return f"Did you mean {' or '.join(names[name] for name in close)}?" if close else ""


def _article(kind: str) -> str:
    return f"an {kind}" if kind[:1] in "aeiou" else f"a {kind}"


def _shown(word: str) -> str:
    from shard_jupyter.surfaces.render_static.visible_text import (  # noqa: PLC0415 - for errors
        make_visible_line,
    )

    return make_visible_line(word if len(word) <= 80 else f"{word[:80]}…")
