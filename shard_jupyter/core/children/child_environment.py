"""What a tool's child gets to see of our environment."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase

from shard_jupyter.types.redaction.secret_shapes import SECRET_SHAPES

SECRET_NAMES = (
    "*KEY*",
    "*TOKEN*",
    "*SECRET*",
    "*PASSWORD*",
    "*PASSWD*",
    "*PASSPHRASE*",
    "*CREDENTIAL*",
    "*COOKIE*",
    "*_PAT",
    "*_PWD",
    "*_PASS",
    "SSHPASS",
    "*BEARER*",
    "*JWT*",
    "*_DSN",
    "*WEBHOOK*",
    "*CONNECTION_STRING*",
    "OP_SESSION_*",
    "*ASKPASS*",
    "*_AUTH",
    "*AUTHORIZATION*",
    "DOCKER_AUTH_CONFIG",
    "AWS_*",
    "AZURE_*",
    "JPY_*",
    "JUPYTERHUB_*",
    "PGPASSFILE",
    "NETRC",
)
"""Globs over upper-case names: keys, tokens, and programs that would ask for a password."""

NOT_SECRET = frozenset({"TOKENIZERS_PARALLELISM", "KEYBOARD_LAYOUT", "XKB_DEFAULT_LAYOUT"})
"""Names that a glob above hits by accident."""

SECRET_VALUES = re.compile("|".join(SECRET_SHAPES), re.DOTALL)
"""A key, or an address with a password in it, under whatever name."""

KEPT_ADDRESSES = ("*_PROXY", "*INDEX_URL*", "UV_INDEX*")
"""An address that holds a password and stays: a program without its own proxy or index would take
the public one in its place, and install what somebody else has put there."""

STARTUP_NAMES = (
    "BASH_ENV",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "BASH_FUNC_*",
    "CDPATH",
    "PROMPT_COMMAND",
    "PS4",
)
"""What makes a non-interactive shell run or mean something else than its command."""

QUIET = {
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "EDITOR": "true",
    "VISUAL": "true",
    "GIT_TERMINAL_PROMPT": "0",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "TERM": "dumb",
}
"""Nothing may wait for a person: there is no terminal to type at."""


def child_environment(
    base: Mapping[str, str], secret_names: Collection[str] = ()
) -> dict[str, str]:
    """Copy `base` without secrets and shell start-up hooks, with everything interactive off.

    `secret_names` are left out whatever they look like.
    """
    passed = {name: value for name, value in base.items() if _may_pass(name)}
    return {
        name: value
        for name, value in passed.items()
        if name not in secret_names and (_is_kept(name) or not SECRET_VALUES.search(value))
    } | QUIET


def _is_kept(name: str) -> bool:
    return any(fnmatchcase(name.upper(), glob) for glob in KEPT_ADDRESSES)


def _may_pass(name: str) -> bool:
    upper = name.upper()
    if upper in NOT_SECRET:
        return True
    return not any(fnmatchcase(upper, glob) for glob in (*SECRET_NAMES, *STARTUP_NAMES))
