"""Programs whose arguments are a small language of their own. Pure functions over words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shard_jupyter.core.permissions.shell.shell_verdict import ArgvReading
from shard_jupyter.core.permissions.shell.tables.command_table import CommandTable, names
from shard_jupyter.core.permissions.shell.tables.read_by_table import read_by_table
from shard_jupyter.core.permissions.shell.tables.scan_words import fits, scan_words

Globs = frozenset[int]
_GLOB_CHANGES = "what {} does depends on which files a glob stands for"


def judge_echo(argv: Sequence[str], has_glob: Globs) -> ArgvReading:
    # Of a folder outside, the names alone are told: they are no text either.
    return ArgvReading(why_not=_GLOB_CHANGES.format(argv[0]) if has_glob else "")


_CONVERSIONS = re.compile(
    r"(?:[^%]|%%|%[-+ #0']*[0-9]{0,3}(?:\.[0-9]{0,3})?[sbqQdiouxXeEfFgGaAc]"
    r"|%-?[0-9]{0,3}\([^()]*\)T)*",
    re.DOTALL,
)


def judge_printf(argv: Sequence[str], has_glob: Globs) -> ArgvReading:
    """`-v` and `%n` assign a variable; the subscript of one is evaluated as code."""
    words = list(argv[2:] if "--" in argv[1:2] else argv[1:])
    if has_glob:
        return ArgvReading(why_not=_GLOB_CHANGES.format("printf"))
    if len(words) == len(argv) - 1 and words and words[0].startswith("-"):
        return ArgvReading(why_not=f"printf {words[0]} is not known as harmless")
    if words and not _CONVERSIONS.fullmatch(words[0]):
        return ArgvReading(why_not="printf may set a variable, or print without end")
    return ArgvReading()


_FILE_TESTS = names("-e -f -d -r -w -x -s -L -h -b -c -p -S -g -k -u -O -G -N")


def judge_test(argv: Sequence[str], has_glob: Globs) -> ArgvReading:
    """Nothing but one test of one file: of other operands bash evaluates some as code."""
    words = list(argv[1:])
    if argv[0] == "[" and (not words or words.pop() != "]"):
        return ArgvReading(why_not="[ has no ]")
    if words[:1] == ["!"]:
        del words[0]
    if has_glob or len(words) != 2 or words[0] not in _FILE_TESTS or words[1][:1] in ("", "-"):
        return ArgvReading(why_not=f"{argv[0]} is known only with one test of one file")
    return ArgvReading(reads=(words[1],))


def judge_command(argv: Sequence[str], has_glob: Globs) -> ArgvReading:
    if list(argv[1:2]) in (["-v"], ["-V"]):
        if not has_glob and all(fits("name", word) for word in argv[2:]):
            return ArgvReading()
        return ArgvReading(why_not="command -v is known only with plain names")
    return ArgvReading(why_not="command runs another program")


_DATE = CommandTable(
    "-u -R -I[=text] -d=text -r=path --utc --universal --uct --rfc-email --iso-8601[=text] "
    "--rfc-3339=text --date=text --reference=path --debug --resolution "
    "-s=text!changes --set=text!changes -f=path!lists --file=path!lists",
    "text",
    globs="never",
)


def judge_date(argv: Sequence[str], has_glob: Globs) -> ArgvReading:
    scan = scan_words(_DATE, argv, has_glob)
    if not scan.why_not and not all(word.startswith("+") for word in scan.operands):
        return ArgvReading(why_not="date with such an operand sets the clock")
    if "TZ" in (scan.value_of("-d", "--date") or ""):
        return ArgvReading(why_not="the time zone of date may be any file")
    return read_by_table(_DATE, argv, has_glob)


_SED = CommandTable(
    "-n -E -r -s -u -z -e=text -l=number --quiet --silent --regexp-extended --separate "
    "--unbuffered --null-data --expression=text --line-length=number --posix "
    "-i[=text]!writes --in-place[=text]!writes -f=path!script --file=path!script "
    "--follow-symlinks!writes --debug --sandbox",
    "text path*",
    instead="-e --expression",
)
# A bracket holds no slash: some take it for the end of the pattern, others do not.
_PATTERN = r"/(?:[^/\\\[\n]|\\[^\n]|\[\^?\]?[^\]/\\\n]*\])*/I?"
_ADDRESS = rf"(?:[0-9]+(?:~[0-9]+)?|\$|{_PATTERN})"
_STATEMENT = (
    rf"(?:{_ADDRESS}(?:,(?:{_ADDRESS}|[+~][0-9]+))? *!? *)?(?:[p=]|q[0-9]*|\{{ *p *; *q *;? *\}})"
)
_PRINTS = re.compile(rf" *{_STATEMENT} *(?:; *{_STATEMENT} *)*;? *")


def judge_sed(argv: Sequence[str], has_glob: Globs) -> ArgvReading:
    """Only scripts that print lines by their addresses."""
    scan = scan_words(_SED, argv, has_glob)
    given = [value or "" for name, value in scan.options if name in ("-e", "--expression")]
    scripts = given or scan.operands[:1]
    if scan.why_not:
        edits = scan.has(("-i", "--in-place"))
        others = [word for word in argv[1:] if not word.startswith("-")]
        files = others if given else others[1:]
        return ArgvReading(why_not=scan.why_not, writes=tuple(files) if edits else ())
    if not scan.has(("-n", "--quiet", "--silent")):
        return ArgvReading(why_not="sed is known only with -n and addresses of lines to print")
    if not all(_PRINTS.fullmatch(script) for script in scripts):
        return ArgvReading(why_not="the script of sed does more than print lines")
    return read_by_table(_SED, argv, has_glob)


_JQ = CommandTable(
    "-a -c -C -e -j -M -n -r -R -s -S --ascii-output --compact-output --color-output "
    "--exit-status --join-output --monochrome-output --null-input --raw-output --raw-input "
    "--slurp --sort-keys --tab --indent=number --arg==text --argjson==text --seq --stream "
    "--stream-errors --unbuffered --raw-output0 "
    "-f!script --from-file!script -L!script --rawfile!lists --slurpfile!lists "
    "--argfile!lists --run-tests!script",
    "text path*",
    glues=False,
)
_JQ_WORDS = re.compile(
    r"(?:(?<![\w.])|(?<=[.\d]\.))"
    r"(?:env|ENV|import|include|modulemeta|get_search_list|input_filename|repeat|range|while"
    r"|until|recurse|recurse_down|def|infinite|repl)\b"
    r"|\$\s*(?:ENV|__\w+)"
)
_JQ_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)


def judge_jq(argv: Sequence[str], has_glob: Globs) -> ArgvReading:
    """A filter may show the environment, load modules, or never end."""
    scan = scan_words(_JQ, argv, has_glob)
    program = scan.operands[0] if scan.operands else ""
    # With comments or code inside of strings it is not plain where a string ends.
    code = program if "\\(" in program else _JQ_STRING.sub('""', program)
    if not scan.why_not and ("#" in program or _JQ_WORDS.search(code)):
        return ArgvReading(why_not="the filter of jq may read more than its input, or not end")
    return read_by_table(_JQ, argv, has_glob)
