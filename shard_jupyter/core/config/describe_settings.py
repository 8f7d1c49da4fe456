"""The page docs/reference/config.md, made from `Settings`. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable

from shard_jupyter.core.config.known_keys import KnownKey, known_keys
from shard_jupyter.core.config.known_providers import KNOWN_PROVIDERS

_HEAD = """\
# Configuration

<!-- Made by `python -m tests.docs_check --write` from shard_jupyter/core/config/. Do not edit. -->

`shard config show` prints every value that holds and where it came from; `shard config path` says
where the files lie. A key that does not exist is an error, so that a typo cannot go unseen.

## Where values come from

The later one wins; objects are merged key by key.

| order | place | written by |
| --- | --- | --- |
| 1 | built-in defaults | |
| 2 | `$XDG_CONFIG_HOME/shard/config.json` (`~/.config/shard/config.json`) | you |
| 3 | `settings.json` beside it | `shard config set` |
| 4 | `.shard/config.json` of the project, only with `--trust-project` | the project |
| 5 | environment variables | |
| 6 | options of the run | |

Rules under `permissions.rules` are added up instead; a deny rule of any file holds. The project's
file is not even parsed without trust. State (sessions, grants, usage) lies in another folder,
`$SHARD_HOME` (`~/.shard`), which only you can read.

## Keys
"""


def describe_settings() -> str:
    """Return the whole page."""
    keys = (_row(key) for key in known_keys())
    variables = (f"| `{name}` | {meaning} |" for name, meaning in sorted(_variables()))
    parts = [
        _HEAD,
        "| key | type | default | environment | meaning |\n| --- | --- | --- | --- | --- |",
        *keys,
        "\n## Environment variables\n",
        "| variable | meaning |\n| --- | --- |",
        *variables,
    ]
    return "\n".join(parts) + "\n"


def _row(key: KnownKey) -> str:
    variable = f"`{key.environment}`" if key.environment else ""
    default = "[]" if key.default == () else json.dumps(key.default).removesuffix(".0")
    cells = (f"`{key.dotted}`", key.type_text, f"`{default}`", variable, key.documentation)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _variables() -> Iterable[tuple[str, str]]:
    yield "SHARD_HOME", "Folder for state; must be absolute. `~/.shard` when not set."
    yield (
        "SHARD_POLICY",
        "Absolute folder with rule files of an admin, besides those in `/etc/shard/rules`.",
    )
    yield "XDG_CONFIG_HOME", "Folder in which the folder `shard` with the two files lies."
    yield (
        "SHARD_LLAMA_SERVER",
        "A `llama-server` of your own; `local_models.server_path` goes before.",
    )
    for key in known_keys():
        if key.environment:
            yield key.environment, f"Sets `{key.dotted}`."
    for variable in {known.key_variable for known in KNOWN_PROVIDERS} - {None}:
        yield str(variable), f"Key for {_users(variable, 'key_variable')}. Never shown."
    for variable in {known.base_url_variable for known in KNOWN_PROVIDERS} - {None}:
        users = _users(variable, "base_url_variable")
        yield str(variable), f"Sets `base_url` of {users}."


def _users(variable: str | None, attribute: str) -> str:
    prefixes = [
        f"`{known.prefix}`" for known in KNOWN_PROVIDERS if getattr(known, attribute) == variable
    ]
    return " and ".join(prefixes)
