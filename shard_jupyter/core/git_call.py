"""How git is asked anything: without the configuration of a repository running programs.

Measured (`security.md` §2.4): fsmonitor, hooks, textconv, external diff and clean filters of a
hostile repository run on plain `git status`. What is used here runs none of them.
"""

from __future__ import annotations

from collections.abc import Mapping

HARDENING = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")


def git_environment(base: Mapping[str, str]) -> dict[str, str]:
    """`base` without any git variable of its own, deaf to system and user configuration."""
    return {name: value for name, value in base.items() if not name.startswith("GIT_")} | {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C.UTF-8",
    }
