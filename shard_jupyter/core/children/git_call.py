"""How git is asked anything: without the configuration of a repository running programs.

Measured (`security.md` §2.4): fsmonitor, hooks, textconv, external diff and clean filters of a
hostile repository run on plain `git status`. What is used here runs none of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import anyio.to_thread

from shard_jupyter.contracts.process_runner import ProcessRunner, ProcessSpec
from shard_jupyter.core.files.git_places import (
    ASK,
    Repository,
    check_files,
    find_repository,
)
from shard_jupyter.errors import ToolFailed

HARDENING = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")

MAX_FILTERS = 500
MAX_CONFIG_BYTES = 1 << 20
CONFIG_SECONDS = 10.0

_STRANGE_NAMES = (
    ":(top)[/]*", ":(top)[.][.]/*", ":(top)*/[.][.]/*", ":(top,icase).git/*",
    ":(top,icase)*/.git/*",
)  # fmt: skip
"""What no git writes into an index, and every git opens that finds it there: `../../x`."""
_BLAME_FILES = "blame.ignorerevsfile"
_FILE_SETTINGS = {"core.excludesfile": "core.excludesFile", "diff.orderfile": "diff.orderFile"}
"""Files that may lie anywhere, of which git would tell lines; without them it has others."""
_REMOTE_URL = re.compile(r"remote\..*\.(?:push)?url", re.DOTALL)
_USER_INFO = re.compile(r"(?P<scheme>(?:https?|ftps?)://)[^/@]*@")
_OVERRIDDEN: Mapping[str, str] = {
    # Programs that a repository may name.
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.pager": "cat",
    "core.editor": "false",
    "sequence.editor": "false",
    "core.sshCommand": "false",
    "core.askPass": "false",
    "core.gitProxy": "",
    "core.alternateRefsCommand": "false",
    "credential.helper": "",
    "interactive.diffFilter": "",
    "gpg.program": "false",
    "gpg.openpgp.program": "false",
    "gpg.x509.program": "false",
    "gpg.ssh.program": "false",
    "gpg.ssh.defaultKeyCommand": "",
    # What would make a command that reads use them, or write.
    "log.showSignature": "false",
    "log.diffMerges": "separate",
    "diff.external": "",
    "diff.autoRefreshIndex": "false",
    "maintenance.auto": "false",
    "gc.auto": "0",
    "protocol.allow": "never",
    # Submodules are asked by a git of their own, which does not see what is set here.
    "diff.submodule": "short",
    "diff.ignoreSubmodules": "all",
    "status.submoduleSummary": "false",
    "submodule.recurse": "false",
    # A file anywhere, of which git would tell lines that it does not understand.
    "core.attributesFile": "/dev/null",
    "mailmap.file": "/dev/null",
    "safe.bareRepository": "explicit",
}


def git_environment(base: Mapping[str, str]) -> dict[str, str]:
    """`base` without any git variable of its own, deaf to system and user configuration."""
    return {name: value for name, value in base.items() if not name.startswith("GIT_")} | {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C.UTF-8",
    }


async def harden_git(processes: ProcessRunner, cwd: Path, env: Mapping[str, str]) -> dict[str, str]:
    """Return `env` with what makes reading git commands in `cwd` harmless.

    It holds for the repository that `cwd` is in, and for no other: git is bound to that one, so
    in a folder of another it still shows the first. Arguments that only a command can be given
    (`--no-textconv`, …) are the caller's: see `ArgvReading.run_as`.

    Raises:
        ToolFailed: the repository cannot be asked, or leads to places outside of it.
    """
    hardened = git_environment(env) | {
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_EDITOR": "false",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_PAGER": "cat",
    }
    repository = await anyio.to_thread.run_sync(find_repository, cwd)
    if repository is None:
        # Nor shall it find one that is made, or that is the folder itself, in the meantime.
        return hardened | {"GIT_DIR": os.devnull} | _as_variables(_OVERRIDDEN)
    # The work tree too: what the configuration says of it may be any folder.
    hardened |= {"GIT_DIR": str(repository.git_dir), "GIT_WORK_TREE": str(repository.top)}
    asking = hardened | _as_variables(_OVERRIDDEN)
    settings = await _read_settings(processes, repository, asking)
    listing = ("git", "ls-files", "-z", "--", *_STRANGE_NAMES)
    if await _ask(processes, repository.top, asking, listing, "index"):
        raise ToolFailed(
            "The index of this git repository names files that lie outside of it.", next_step=ASK
        )
    if any(key == _BLAME_FILES for key, _ in settings):
        # Git tells lines of such a file as well, and an empty value does not take it back.
        files = await _ask_config(
            processes, repository.top, asking, "--type=path", "--get-all", _BLAME_FILES
        )
        await anyio.to_thread.run_sync(check_files, repository, files)
    own = {**_without_places(settings), **_without_filters([key for key, _ in settings])}
    return hardened | _as_variables({**_OVERRIDDEN, **own})


async def _read_settings(
    processes: ProcessRunner, repository: Repository, env: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Read all settings of the repository, in their order.

    Raises:
        ToolFailed: some are included from outside: the repository of somebody else may hold a
            password in them.
    """
    told = await _ask_config(processes, repository.top, env, "--show-origin", "--list")
    pairs = list(zip(told[::2], told[1::2], strict=True))
    files = {origin.removeprefix("file:") for origin, _ in pairs if origin.startswith("file:")}
    await anyio.to_thread.run_sync(check_files, repository, files)
    settings = (setting.partition("\n") for origin, setting in pairs if origin.startswith("file:"))
    return [(key, value) for key, _, value in settings]


def _without_places(settings: Iterable[tuple[str, str]]) -> dict[str, str]:
    """What hides files that settings name, and passwords in the addresses of remotes."""
    made: dict[str, str] = {}
    for key, value in settings:
        if key in _FILE_SETTINGS:
            made[_FILE_SETTINGS[key]] = os.devnull
        shown = _USER_INFO.sub(r"\g<scheme>", value, count=1)
        if _REMOTE_URL.fullmatch(key) and shown != value:
            made[f"url.{shown}.insteadOf"] = value
    return made


def _as_variables(settings: Mapping[str, str]) -> dict[str, str]:
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for at, (key, value) in enumerate(settings.items()):
        variables |= {f"GIT_CONFIG_KEY_{at}": key, f"GIT_CONFIG_VALUE_{at}": value}
    return variables


def _without_filters(names: list[str]) -> dict[str, str]:
    settings: dict[str, str] = {}
    for name in names:
        section, _, rest = name.partition(".")
        driver, _, key = rest.rpartition(".")
        if section == "filter" and driver and key in ("clean", "smudge", "process", "required"):
            settings |= dict.fromkeys(
                (f"filter.{driver}.{what}" for what in ("clean", "smudge", "process")), ""
            )
            settings[f"filter.{driver}.required"] = "false"
        if section == "merge" and driver and key == "driver":
            settings[name] = "false"
    if len(settings) > MAX_FILTERS:
        raise ToolFailed(
            "This git repository configures more filters than can be switched off.",
            next_step=ASK,
        )
    return settings


async def _ask_config(
    processes: ProcessRunner, top: Path, env: Mapping[str, str], *question: str
) -> list[str]:
    """Ask for settings, those of included files as well. This runs nothing."""
    argv = ("git", "config", "--includes", "-z", *question)
    return await _ask(processes, top, env, argv, "configuration")


async def _ask(
    processes: ProcessRunner, top: Path, env: Mapping[str, str], argv: tuple[str, ...], what: str
) -> list[str]:
    spec = ProcessSpec(
        argv=argv,
        cwd=top,
        env=env,
        timeout_seconds=CONFIG_SECONDS,
        head_bytes=MAX_CONFIG_BYTES,
        tail_bytes=0,
        merge_stderr=False,
    )
    outcome = await processes.run(spec)
    if outcome.exit_code != 0 or outcome.output.dropped_bytes:
        raise ToolFailed(f"The {what} of this git repository cannot be read.", next_step=ASK)
    return [os.fsdecode(part) for part in outcome.output.head.split(b"\0") if part]
