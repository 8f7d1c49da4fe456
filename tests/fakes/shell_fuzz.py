"""Shell texts near the edge of what is understood: safe lines with something done to them, and
soups of fragments. The same seed gives the same texts."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

FRAGMENTS = (
    " ", "  ", "\t", "\n", ";", " ; ", "&&", " && ", "||", " || ", "|", " | ", "|&", "&", "(", ")",
    "( ", " )", "{ ", "; }", "{", "}", "!", "! ", "[", "]", "[ ", " ]", "[ -d s", "[[", "]]",
    ">", "<", ">>", ">|", "<>", "&>", ">&", "<&", "2>&1", "2>", "1>&2", " 2>&1 ", ">/dev/null",
    " 2>/dev/null ", ">&-", "</dev/null", "< README.md", ">out", "> out", "<<< x", "<<<", "<<E\nx\nE",
    "<<'E'\nx $(y)\nE\n", "<<'E'", "<<-'E'\n\tx\n\tE\n", "<<\\E\nx\nE\n", "3<", "{fd}>", "{fd}>&2",
    "'", '"', "''", '""', "\\", "\\\\", "\\'", '\\"', "\\\n", "\\ ", "\\;", "\\|", "\\$", "\\*",
    "$", "$x", "${x}", "$(y)", "`y`", "$'", '$"', "$'\\x72'", "$((1))", "$[1]", "$$", "$?", "\"$\"",
    "~", "~/", " ~", "a=~", "a:~", "*", "?", "*.py", "src/*", "*/", "**", "[a-z]", "[!a]*", "[]a]",
    "[a", "a]", "src/[ab].py", ".*", "?*", "{a,b}", "{1..3}", "{}", "{a}", "a{", "@{1}", "@(a)",
    "!(a)", "+(a)", "#", " #", " # x", "a#b", "=", "a=b", "a=b ", "a+=b", "a[0]=b", "PATH=. ", "%1",
    "-", "--", " -- ", "-n", "-la", "-name2", "-o", "-delete", "0", "1", "2", " 2", "10", ",", ".", "..",
    "/", "//", ":", "@", "^", "+", "x", "evil", "./evil", "src/evil", "rm", "rm -rf x", "eval", "exec ",
    "time ", "if ", "then ", "fi", "do ", "done", "case ", "esac", "for ", "in ", "function f", "f() ",
    "coproc ", "select ", "until ", "while ", "cd ", "cd src", "cd .. ", "cd link", "pwd", "ls", "ls ",
    "cat ", "cat", "echo ", "grep ", "head ", "wc", "test ", "git ", "git status", "find . ",
    "README.md", "src", "src/a.py", "nosuch", "docs/my*", "inner/*", "link/x", "..", ".git/config",
    "\r", "\x00", "\x1b", "\u00a0", "\u200b", "\u202e",
)  # fmt: skip

EDGES = (
    # comments, and what only looks like one
    " # x\n", ";# it's\n", "\n# <<'E'\n", " #'\n", "'#'", "a#", "#!", "&&# x\n", "|# x\nls", "(# )\n", "\\#",
    # quotes where words join
    "''", '""', "'a'\"b\"", "\"'\"", "'\"'", "'\\'", "\"\\\"\"", "\"\\$x\"", "\"a\\b\"", "'it'\\''s'", "\"\"''x", "x''", "''-n",
    '"!"', "'!'", "\"*\"*", "'*'?", "\\**", "\\[a]", "'['a]", "[a']'", "[\"a\"]*", "\"{a,b}\"", "{a','b}",
    # negation
    "!!", "! !", "!ls", "!(", "! (", "! {", "&& !", "| !", "!\n", "!;", "! cd src", "!# x\n", "!''",
    # braces
    "{a..c}", "{a,b", "{,}", "a{b,c}d", "{1..2..1}", "{\\,}", "{a,{b,c}}", "{ ls; }", "{ ls;}", "{ls;}", "{\nls\n}",
    "}2>&1", "}>/dev/null", ")2>&1", ")<README.md", "};", "} }", "{ { ls; } }", "( (ls) )", "((ls))", "(ls)(ls)", "@{u}",
    # digits near redirections
    "1>", " 2 >/dev/null", "a2>/dev/null", "12</dev/null", "0</dev/null", "2>&1-", ">&2-", "2>&-", "9>&1", "1>&2>&1",
    "2>/dev/null1", "2''>/dev/null", "\\2>/dev/null", "'2'>/dev/null", "2>& 1", ">& /dev/null", "&>/dev/null", "& >/dev/null",
    "2>/dev/null2>&1", "-2>/dev/null", "<README.md<list.txt", "</dev/null>/dev/null", ">/dev/null/../x", ">/dev//null", ">//dev/null",
    # here-documents
    "<<'E'<<'F'\na\nE\nb\nF\n", "<<'E' | cat\nx\nE\n", "<<-'E'\n\t\tE\n\tE\n", "<<'E F'\nx\nE F\n", "<<''\nx\n\n", "<<'E'\nx\r\nE\n",
    "<<'E'\nE \nE\n", "<<'E';\nE\nls", "<<'E' # c\n'\nE\n", "<<\"E\"\n$(x)\nE\n", "<<E'F'\nx\nEF\n", "<<'E'\nx\\\nE\n", "<<'E'&&ls\nx\nE\n",
    "<<\\\\\nx\n\\\n", "<<'$x'\na\n$x\n", "<<'a'b\"c\"\nx\nabc\n", "0<<'E'\nx\nE\n", "3<<'E'\nx\nE\n", "<<'E'\n", "<< 'E'\nE\n",
    "<<<'a\nb'", "<<<\"a\"b", "<<<*", "<<< $x", "<<<'E'<<'E'\nE\n",
    # `--`, globs, blanks
    "-- ", " -- -", "--\n", "-- *", "*/*", "./*", "src/?.py", "s[r]c", "s?c/*", "[a-]*", "[]-a]", "[!]*", "[^a]*", "[[:alpha:]]*", "[a-z0-9]*.py",
    "*[", "[*", "src/[", "src/*/", "src//a.py", "src/./*", "*'.py'", "'src'/*", "src/*'a.py'", "\\*", "?\\?", ".[a-z]*", "*/..", "*/../x", "link/*",
    "\t", "\t\t", "\n\n", "\n;", ";\n", ";;", "&&\n", "||\n\n", "|\n", "|\t", "\n|", "\n&&", ";|", "&;", "\x0b", "\x0c", "\r\n", "\x7f",
)  # fmt: skip
"""What stands near the edges between tokens."""

SIGNS = "aab 12  \t\n''\"\"\\\\$`~#*?[]{}()<>|&;!=:-,.@%^/"


def make_texts(lines: Sequence[str], count: int, seed: int) -> Iterator[str]:
    """Yield `count` texts made from `lines`."""
    chance = random.Random(seed)
    for _ in range(count):
        kind = chance.random()
        if kind < 0.15:
            yield _soup(chance)
        elif kind < 0.35:
            yield _signs(chance)
        else:
            yield _mutate(chance, lines)


def _soup(chance: random.Random) -> str:
    glue = chance.choice(("", " ", " "))
    start = chance.choice(("", "ls ", "cat ", "echo ", "git "))
    fragments = chance.choice((FRAGMENTS, EDGES, FRAGMENTS + EDGES))
    return start + glue.join(chance.choices(fragments, k=chance.randint(1, 6)))


def _signs(chance: random.Random) -> str:
    """A harmless program with signs of the shell behind it."""
    program = chance.choice(("echo ", "echo", "ls ", "cat ", "printf ", "( echo ", "echo a;echo "))
    return program + "".join(chance.choices(SIGNS, k=chance.randint(1, 9)))


def _mutate(chance: random.Random, lines: Sequence[str]) -> str:
    text = chance.choice(lines)
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3))):
        text = chance.choice(_WAYS)(chance, text, lines)
    return text


def _insert(chance: random.Random, text: str, _: Sequence[str]) -> str:
    at = chance.randint(0, len(text))
    return text[:at] + chance.choice(FRAGMENTS) + text[at:]


def _insert_at_blank(chance: random.Random, text: str, _: Sequence[str]) -> str:
    places = [n for n, sign in enumerate(text) if sign in " ;|&\n"] or [len(text)]
    at = chance.choice(places) + chance.randint(0, 1)
    return text[:at] + chance.choice(FRAGMENTS) + text[at:]


def _insert_edge(chance: random.Random, text: str, _: Sequence[str]) -> str:
    """Between tokens most of all, where one kind of sign ends and another begins."""
    edges = [
        n
        for n in range(1, len(text))
        if (text[n].isalnum(), text[n] in " \t\n")
        != (text[n - 1].isalnum(), text[n - 1] in " \t\n")
    ]
    at = chance.choice([0, len(text), *edges, *edges])
    return text[:at] + chance.choice(EDGES) + text[at:]


def _requote(chance: random.Random, text: str, _: Sequence[str]) -> str:
    """Put quotes around some signs, or a backslash before one."""
    start = chance.randint(0, len(text))
    end = chance.randint(start, min(len(text), start + 6))
    quote = chance.choice(("'", '"', "\\", "''"))
    after = "" if quote == "\\" else quote
    return text[:start] + quote + text[start:end] + after + text[end:]


def _group(chance: random.Random, text: str, _: Sequence[str]) -> str:
    before, after = chance.choice(
        (("(", ")"), ("( ", " )"), ("{ ", "; }"), ("{ ", "\n}"), ("! ", ""), ("! { ", "; }"),
         ("cd src && ", ""), ("cd src; ", "; cd .."), ("(cd src; ", ")"), ("{ cd src; ", "; }; ls"),
         ("ls && { ", "; } || ls"), ("", " | { cat; }"), ("", " 2>/dev/null # x"), ("", "\n# x\nls"))
    )  # fmt: skip
    return before + text + after


def _delete(chance: random.Random, text: str, _: Sequence[str]) -> str:
    at = chance.randint(0, len(text))
    return text[:at] + text[at + chance.randint(1, 3) :]


def _repeat(chance: random.Random, text: str, _: Sequence[str]) -> str:
    start = chance.randint(0, len(text))
    end = chance.randint(start, min(len(text), start + 12))
    return text[:end] + text[start:]


def _swap(chance: random.Random, text: str, _: Sequence[str]) -> str:
    if len(text) < 2:
        return text
    at = chance.randint(0, len(text) - 2)
    return text[:at] + text[at + 1] + text[at] + text[at + 2 :]


def _splice(chance: random.Random, text: str, lines: Sequence[str]) -> str:
    other = chance.choice(lines)
    at, there = chance.randint(0, len(text)), chance.randint(0, len(other))
    return text[:at] + other[there:]


def _join(chance: random.Random, text: str, lines: Sequence[str]) -> str:
    between = (" | ", "; ", " && ", " || ", "\n", " |& ", ";", "|")
    return text + chance.choice(between) + chance.choice(lines)


_WAYS = (_insert, _insert, _insert_at_blank, _insert_at_blank, _insert_edge, _insert_edge,
         _insert_edge, _requote, _group, _delete, _repeat, _swap, _splice, _join)  # fmt: skip
