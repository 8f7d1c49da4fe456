"""`shard doctor`: look at everything a run needs, change nothing, and say what to mend.

Names of key variables are told, never their values.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import stat
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

import anyio

from shard_jupyter import __version__
from shard_jupyter.core.config.config_files import find_state_home
from shard_jupyter.core.config.known_providers import KNOWN_PROVIDERS
from shard_jupyter.core.config.load_settings import LoadedSettings, load_settings
from shard_jupyter.core.config.settings import Settings
from shard_jupyter.errors import ConfigError
from shard_jupyter.surfaces.cli.checks.doctor_check import Check, Status
from shard_jupyter.surfaces.cli.checks.local_checks import check_local_models
from shard_jupyter.surfaces.cli.checks.sandbox_check import check_sandbox
from shard_jupyter.surfaces.cli.exit_codes import DONE, FAILED
from shard_jupyter.surfaces.cli.model_rows import Describe, describe_model, open_router
from shard_jupyter.surfaces.cli.output import align_columns, find_width, write_json, write_lines
from shard_jupyter.surfaces.sdk.default_model import DefaultModel


def run_command(arguments: argparse.Namespace) -> int:
    checks = list(look_at_everything(os.environ, Path.cwd(), trust_project=arguments.trust_project))
    healthy = all(check.status != "problem" for check in checks)
    if arguments.json:
        write_json({"ok": healthy, "checks": [asdict(check) for check in checks]})
    else:
        rows = [(check.status, check.name, _sentence(check)) for check in checks]
        write_lines(align_columns(rows, find_width()))
    return DONE if healthy else FAILED


def _sentence(check: Check) -> str:
    return f"{check.message} → {check.next_step}" if check.next_step else check.message


def look_at_everything(
    environ: Mapping[str, str], cwd: Path, *, trust_project: bool = False
) -> Iterator[Check]:
    """Yield every check; none of them raises."""
    yield Check("python", "ok", f"{platform.python_version()} on {platform.platform()}")
    yield Check("package", "ok", f"shard-jupyter {__version__}")
    yield _check_state_home(environ)
    try:
        loaded = load_settings(environ, cwd, trust_project=trust_project)
    except ConfigError as error:
        yield Check("config", "problem", error.message, error.next_step)
        yield Check("model", "warn", "not known while the configuration is broken")
    else:
        yield from _check_config(loaded)
        router, prefixes = anyio.run(open_router, loaded.settings, environ)
        default = DefaultModel.of(loaded.settings, prefixes, environ)
        own = default.find(router)
        yield check_model(loaded, router.describe, default, own)
        yield _check_keys(loaded.settings, environ, needed=own is None)
        yield from check_local_models(default, needed=own is None and not default.keys)
        yield from check_sandbox(loaded.settings.sandbox)
    yield from _check_sdks()
    yield from _check_programs(environ)


def _check_state_home(environ: Mapping[str, str]) -> Check:
    try:
        home = find_state_home(environ)
    except ConfigError as error:
        return Check("state", "problem", error.message, error.next_step)
    if not os.path.lexists(home):
        parent = next(folder for folder in home.parents if folder.exists())
        if os.access(parent, os.W_OK | os.X_OK):
            return Check("state", "ok", f"{home} (is made by the first run)")
        advice = "Set SHARD_HOME to a folder that you may write."
        return Check("state", "problem", f"{home} cannot be made", advice)
    if not home.is_dir() or not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        advice = "Mend its permissions, or set SHARD_HOME to another folder."
        return Check("state", "problem", f"{home} is no folder that can be written", advice)
    found = home.stat()
    if found.st_uid != os.getuid():
        advice = "Set SHARD_HOME to a folder of your own."
        return Check("state", "problem", f"{home} belongs to another user", advice)
    if stat.S_IMODE(found.st_mode) & 0o077:
        return Check("state", "warn", f"{home} is open to other users", f"chmod 700 {home}")
    return Check("state", "ok", str(home))


def _check_config(loaded: LoadedSettings) -> Iterator[Check]:
    for path in (loaded.paths.user_file, loaded.paths.machine_file):
        if not path.exists():
            yield Check("config", "ok", f"{path} (absent)")
        elif stat.S_IMODE(path.stat().st_mode) & 0o022:
            yield Check("config", "warn", f"{path} can be changed by others", f"chmod go-w {path}")
        else:
            yield Check("config", "ok", f"{path} (valid)")
    for notice in loaded.notices:
        status: Status = "ok" if notice.tone == "info" else "warn"
        yield Check("config", status, f"{notice.path}: {notice.message}")


def check_model(
    loaded: LoadedSettings, describe: Describe, default: DefaultModel, own: str | None
) -> Check:
    """Say which model a run would use, why that one, and what it lacks.

    `own` is the one on this machine that is used where none is chosen.
    """
    model_id = loaded.settings.model
    if model_id is None:
        if own is None:
            return Check("model", "warn", "none is chosen", default.say_what_helps())
        told = f"none is chosen and no key is set: {own} on this machine is used"
        return Check("model", "ok", told)
    row = describe_model(model_id, loaded.settings, describe)
    chosen = f"{model_id} (from {loaded.sources[('model',)]})"
    if row.refusal:
        return Check("model", "problem", f"{chosen}: {row.refusal.message}", row.refusal.satisfy)
    return Check("model", "ok", chosen)


def _check_keys(settings: Settings, environ: Mapping[str, str], *, needed: bool) -> Check:
    prefixes = dict.fromkeys([known.prefix for known in KNOWN_PROVIDERS])
    prefixes.update(dict.fromkeys(settings.providers))
    names = dict.fromkeys(name for prefix in prefixes if (name := settings.key_variable(prefix)))
    present = [name for name in names if environ.get(name, "").strip()]
    if present:
        return Check("keys", "ok", f"set: {', '.join(present)}")
    told = f"none of {', '.join(names)} is set"
    if not needed:
        return Check("keys", "ok", told)
    advice = "Set the one of your provider, unless your server needs none."
    return Check("keys", "warn", told, advice)


def _check_sdks() -> Iterator[Check]:
    for module in ("openai", "anthropic", "httpx2"):
        if importlib.util.find_spec(module) is not None:
            yield Check("sdk", "ok", f"{module} {_version(module)}")
        else:
            yield Check("sdk", "warn", f"{module} is not installed", f"pip install {module}")


def _version(module: str) -> str:
    try:
        return importlib.metadata.version(module)
    except importlib.metadata.PackageNotFoundError:
        return "(version unknown)"


def _check_programs(environ: Mapping[str, str]) -> Iterator[Check]:
    programs: dict[str, tuple[Status, str]] = {
        "bash": ("problem", "Install bash: the shell tool runs commands with it."),
        "git": ("warn", "Install git: without it ignored files are not recognised."),
        "rg": ("warn", "pip install 'shard-jupyter[search]': searching is slower without it."),
    }
    for program, (status, advice) in programs.items():
        found = shutil.which(program, path=environ.get("PATH"))
        if found:
            yield Check("program", "ok", f"{program}: {found}")
        else:
            yield Check("program", status, f"{program} is not found", advice)
