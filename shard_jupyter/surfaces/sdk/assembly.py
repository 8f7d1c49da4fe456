"""From options and configuration to a plan, and from the plan to a provider.

`make_plan` reads files and decides; nothing is written before every check has passed, so that a
refused run leaves no session behind.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import anyio.to_thread

from shard_jupyter import __version__
from shard_jupyter.capabilities.cassettes.cassette import CassetteWriter
from shard_jupyter.capabilities.cassettes.placeholders import Placeholders, find_secrets
from shard_jupyter.capabilities.cassettes.recording import RecordingProvider
from shard_jupyter.contracts.provider import Provider
from shard_jupyter.core.bootstrap import AgentSpec
from shard_jupyter.core.config.load_settings import load_settings
from shard_jupyter.core.config.settings import Settings
from shard_jupyter.core.extensions.host import ExtensionSnapshot
from shard_jupyter.core.limits.budget import Budget, parse_budget
from shard_jupyter.core.modes.controller import ModeController
from shard_jupyter.core.providers.retry import RetryPolicy
from shard_jupyter.core.providers.router import Router
from shard_jupyter.core.turn import TurnSettings
from shard_jupyter.errors import SessionNotFound, UnknownModel, UsageError
from shard_jupyter.store.blobs import FileBlobStore
from shard_jupyter.store.session_index import session_path
from shard_jupyter.store.usage_log import UsageLog
from shard_jupyter.types.decisions import AskSetting
from shard_jupyter.types.ids import new_id
from shard_jupyter.types.usage import UsageRecord

WITHOUT_ANYONE: Mapping[str, AskSetting] = {"deny": "deny", "rules": "rules", "queue": "inline"}
"""What `headless_policy` means for an agent of this process."""


@dataclass(frozen=True)
class Options:
    """What the caller of `Shard` asked for."""

    cwd: Path
    environ: Mapping[str, str] = field(repr=False)
    model: str | None = None
    mode: str | None = None
    ask: AskSetting | None = None
    """None: what `headless_policy` says."""
    has_callback: bool = False
    session: str | None = None
    budget: Budget | str | None = None
    record: Path | None = None
    trust_project: bool = False
    overrides: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Plan:
    """All decisions of one run, before anything is written."""

    spec: AgentSpec
    model_id: str
    router: Router
    record: Path | None
    notices: tuple[str, ...]
    usage_log: Path | None
    places: Mapping[str, str]


def make_plan(options: Options, snapshot: ExtensionSnapshot, given: Provider | None) -> Plan:
    """Decide everything; reads files, writes nothing. Call it off the event loop.

    Raises:
        UserError: a wrong model, mode, session, budget, folder or configuration.
    """
    loaded = load_settings(
        options.environ,
        options.cwd,
        options=options.overrides,
        trust_project=options.trust_project,
    )
    settings = loaded.settings
    check_ask(options)
    check_record(options.record)
    session_id, folder = find_session(loaded.paths.state_home, options.session)
    places = name_places(options.cwd, folder, options.environ)
    router = make_router(settings, snapshot, options.environ, places)
    model_id = given.route.model_id if given else choose_model(options.model, settings)
    if given is None:
        router.check(model_id)
    mode = ModeController(snapshot.modes, options.mode or settings.mode).current.name
    spec = AgentSpec(
        agent_id=new_id("agent"),
        session_id=session_id,
        session_folder=folder,
        cwd=options.cwd,
        mode=mode,
        environment=options.environ,
        secret_names=name_secrets(settings, snapshot),
        settings=make_turn_settings(settings, options, model_id),
        rules=settings.permissions.rules,
        price=settings.prices.get(model_id),
        durability=settings.durability,
        package_version=__version__,
    )
    return Plan(
        spec=spec,
        model_id=model_id,
        router=router,
        record=options.record,
        notices=tuple(f"{notice.path}: {notice.message}" for notice in loaded.notices),
        usage_log=loaded.paths.state_home / "usage.jsonl" if settings.usage_log else None,
        places=places,
    )


def make_router(
    settings: Settings,
    snapshot: ExtensionSnapshot,
    environ: Mapping[str, str],
    places: Mapping[str, str] | None = None,
) -> Router:
    """Build the router. `places` are the folders that a cassette writes by name."""
    known = {prefix: settings.provider_settings(prefix, environ) for prefix in snapshot.providers}
    if places and "replay" in known:
        known["replay"] = known["replay"].model_copy(update={"extra": dict(places)})
    return Router(snapshot.providers, known, network=settings.network)


def name_secrets(settings: Settings, snapshot: ExtensionSnapshot) -> frozenset[str]:
    """Name the variables that hold keys: a configured one may be called anything."""
    prefixes = {*snapshot.providers, *settings.providers}
    return frozenset(name for prefix in prefixes if (name := settings.key_variable(prefix)))


def name_places(cwd: Path, session_folder: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Name the folders that differ between the machine that records and the one that replays."""
    home = environ.get("HOME") or str(Path.home())
    return {"cwd": str(cwd.resolve()), "home": home, "session": str(session_folder)}


def choose_model(asked: str | None, settings: Settings) -> str:
    """Take the model of this run, else the configured one.

    Raises:
        UnknownModel: neither is there.
    """
    chosen = asked or settings.model
    if not chosen:
        raise UnknownModel(
            "No model is chosen.",
            next_step="Name one with --model, or set one: shard config set model openai:NAME.",
        )
    return chosen


def check_ask(options: Options) -> None:
    """Refuse a word that is none, and a callback that would never be called.

    Raises:
        UsageError: names what there is.
    """
    known = get_args(AskSetting)
    if options.ask is not None and options.ask not in known:
        raise UsageError(
            f"ask={options.ask!r} is not known.", next_step=f"Choose one of {', '.join(known)}."
        )
    if options.has_callback and options.ask != "inline":
        raise UsageError(
            f"With ask={options.ask!r} the approval callback is never called.",
            next_step="Leave out ask or on_approval.",
        )


def check_record(record: Path | None) -> None:
    """Refuse a cassette that has no place, before a model was paid for an answer.

    Raises:
        UsageError: its folder does not exist or may not be written, or it is a folder itself.
    """
    if record is None:
        return
    target = record if record.exists() else record.parent
    if record.is_dir() or not os.access(target, os.W_OK):
        raise UsageError(
            f"The cassette {record} cannot be written.",
            next_step="Name a file in a folder that exists and that you may write.",
        )


def find_session(state_home: Path, asked: str | None) -> tuple[str, Path]:
    """Name a new session, or find a stored one.

    Raises:
        SessionNotFound: there is none of that name.
    """
    session_id = asked or new_id("session")
    log = session_path(state_home / "sessions", session_id)
    if asked is not None and not log.is_file():
        raise SessionNotFound(
            f"There is no session {asked!r}.", next_step="`shard sessions` lists them."
        )
    return session_id, log.parent


def make_turn_settings(settings: Settings, options: Options, model_id: str) -> TurnSettings:
    """Combine configuration and options.

    Raises:
        UsageError: a budget that cannot be read, or money without a price for the model.
    """
    budget = options.budget or Budget()
    if isinstance(budget, str):
        budget = parse_budget(budget)
    price = settings.prices.get(model_id)
    if budget.usd is not None and (price is None or not price.is_complete):
        raise UsageError(
            f"A budget in money needs a price, and {model_id!r} has none.",
            next_step=f"Set prices.{model_id} in the configuration, or give tokens: 200k.",
        )
    return TurnSettings(
        ask=options.ask or WITHOUT_ANYONE[settings.headless_policy],
        ask_timeout_seconds=settings.ask_timeout_seconds,
        max_rounds=settings.limits.max_rounds,
        max_output_tokens=settings.limits.max_output_tokens,
        output_limit_bytes=settings.tools.output_limit_bytes,
        bash_timeout_seconds=settings.tools.bash_timeout_seconds,
        retry=RetryPolicy(
            max_attempts=settings.retry.max_attempts,
            longest_obeyed_seconds=settings.retry.max_wait_seconds,
        ),
        budget=budget,
    )


async def open_provider(plan: Plan, given: Provider | None) -> Provider:
    """Make the provider, or take the given one, and put the recorder around it.

    The SDK is imported in a thread, because that takes a second.
    """
    provider = given
    if provider is None:
        blobs = FileBlobStore(plan.spec.session_folder / "blobs")
        provider = await anyio.to_thread.run_sync(plan.router.create, plan.model_id, blobs)
    if plan.record is None:
        return provider
    environment = plan.spec.environment
    keys = {f"{name}_KEY": environment.get(name, "") for name in plan.spec.secret_names}
    placeholders = Placeholders(plan.places, find_secrets(environment, keys))
    return RecordingProvider(provider, CassetteWriter(plan.record), placeholders)


async def write_usage(plan: Plan, records: tuple[UsageRecord, ...]) -> None:
    assert plan.usage_log is not None
    log = UsageLog(plan.usage_log)
    for record in records:
        await log.append(record)
