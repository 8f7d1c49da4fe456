"""From options and configuration to a plan, and from the plan to a provider.

`make_plan` reads files and decides; nothing is written before every check has passed, so that a
refused run leaves no session behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio.to_thread

from shard_jupyter import __version__
from shard_jupyter.capabilities.cassettes.placeholders import Placeholders
from shard_jupyter.capabilities.cassettes.replay import SEEN_FROM
from shard_jupyter.capabilities.cassettes.shelf import CassetteShelf
from shard_jupyter.contracts.provider import Provider
from shard_jupyter.contracts.resource_loader import LoadDiagnostic
from shard_jupyter.core.bootstrap import AgentSpec
from shard_jupyter.core.config.config_files import find_state_home
from shard_jupyter.core.config.load_settings import load_settings
from shard_jupyter.core.config.settings import Settings
from shard_jupyter.core.extensions.host import ExtensionSnapshot
from shard_jupyter.core.limits.budget import Budget
from shard_jupyter.core.lineage.active_branch import active_branch
from shard_jupyter.core.lineage.last_choices import LastChoices, find_last_choices
from shard_jupyter.core.providers.router import Router
from shard_jupyter.core.turn import TurnSettings
from shard_jupyter.errors import SessionNotFound
from shard_jupyter.store.blobs import FileBlobStore
from shard_jupyter.store.session_index import session_path
from shard_jupyter.store.session_log import read_session
from shard_jupyter.store.usage_log import UsageLog
from shard_jupyter.surfaces.sdk.choices import Remark, choose_mode, choose_model
from shard_jupyter.surfaces.sdk.default_model import DefaultModel
from shard_jupyter.surfaces.sdk.gathered_rules import gather_rules
from shard_jupyter.surfaces.sdk.limits import make_turn_settings, read_budget
from shard_jupyter.surfaces.sdk.local_places import gather_provider_settings
from shard_jupyter.surfaces.sdk.recording import check_record, make_placeholders, record_into
from shard_jupyter.surfaces.sdk.who_decides import check_ask, check_callback, choose_ask
from shard_jupyter.types.decisions import AskSetting
from shard_jupyter.types.events import Notice
from shard_jupyter.types.ids import new_id
from shard_jupyter.types.usage import UsageRecord


@dataclass(frozen=True)
class Options:
    """What the caller of `Shard` asked for."""

    cwd: Path
    environ: Mapping[str, str] = field(repr=False)
    shelf: CassetteShelf
    model: str | None = None
    mode: str | None = None
    ask: AskSetting | None = None
    """None: see `who_decides.choose_ask`."""
    has_callback: bool = False
    session: str | None = None
    budget: Budget | str | None = None
    record: Path | None = None
    trust_project: bool = False
    seen_from: Path | None = None
    """From where a relative path of a cassette is seen; None: from this process's own folder."""
    overrides: Mapping[str, Any] | None = None

    @property
    def is_mode_given(self) -> bool:
        return bool(self.mode or (self.overrides or {}).get("mode"))

    @property
    def is_model_given(self) -> bool:
        return bool(self.model or (self.overrides or {}).get("model"))


@dataclass(frozen=True)
class Plan:
    """All decisions of one run, before anything is written."""

    options: Options
    settings: Settings
    spec: AgentSpec
    model_id: str
    router: Router
    notices: tuple[Notice, ...]
    usage_log: Path | None
    placeholders: Placeholders


async def read_last_choices(options: Options) -> LastChoices:
    """Say with what the session to go on with was used last, as far as nothing else is given.

    Raises:
        UserError: there is no such session.
        StorageError: it cannot be read.
    """
    if options.session is None or (options.is_mode_given and options.is_model_given):
        return LastChoices()
    state_home = find_state_home(options.environ)
    _, folder = await anyio.to_thread.run_sync(find_session, state_home, options.session)
    entries, _ = await read_session(session_path(folder.parent, options.session))
    last = find_last_choices(active_branch(entries).entries)
    return LastChoices(
        mode="" if options.is_mode_given else last.mode,
        model="" if options.is_model_given else last.model,
    )


def make_plan(
    options: Options,
    snapshot: ExtensionSnapshot,
    given: Provider | None,
    last: LastChoices,
) -> Plan:
    """Decide everything; reads files, writes nothing. Call it off the event loop.

    Raises:
        UserError: a wrong model, mode, session, budget, folder or configuration.
    """
    check_callback(options.ask, has_callback=options.has_callback)
    loaded = load_settings(
        options.environ,
        options.cwd,
        options=options.overrides,
        trust_project=options.trust_project,
    )
    settings = loaded.settings
    rules = gather_rules(loaded, options.environ, options.cwd, trust_project=options.trust_project)
    session_id, folder = find_session(loaded.paths.state_home, options.session)
    places = name_places(options.cwd, folder, options.environ)
    seen_from = options.seen_from or Path()
    router = make_router(settings, snapshot, options.environ, {**places, SEEN_FROM: str(seen_from)})
    mode, mode_told = choose_mode(options.mode, last, settings, snapshot)
    if given is None:
        default = DefaultModel.of(settings, snapshot.providers, options.environ)
        model_id, model_told = choose_model(
            options.model, last, settings, router, default, seen_from
        )
    else:
        model_id, model_told = given.route.model_id, ()
    check_ask(options.ask, model_id)
    check_record(options.record, model_id)
    secret_names = name_secrets(settings, snapshot)
    spec = AgentSpec(
        agent_id=new_id("agent"),
        session_id=session_id,
        session_folder=folder,
        cwd=options.cwd,
        mode=mode,
        environment=options.environ,
        secret_names=secret_names,
        settings=_choose_settings(options, settings, model_id),
        rules=rules.rules,
        granted=rules.granted,
        price=settings.find_price(model_id),
        durability=settings.durability,
        sandbox=settings.sandbox,
        package_version=__version__,
    )
    return Plan(
        options=options,
        settings=settings,
        spec=spec,
        model_id=model_id,
        router=router,
        notices=_make_notices(
            spec.agent_id, (*loaded.notices, *rules.notices), (*mode_told, *model_told)
        ),
        usage_log=loaded.paths.state_home / "usage.jsonl" if settings.usage_log else None,
        placeholders=make_placeholders(places, options.environ, secret_names),
    )


def _choose_settings(options: Options, settings: Settings, model_id: str) -> TurnSettings:
    ask = choose_ask(
        options.ask,
        model_id,
        has_callback=options.has_callback,
        headless_policy=settings.headless_policy,
    )
    budget = read_budget(options.budget, model_id, settings.find_price(model_id))
    return make_turn_settings(settings, ask, budget)


def _make_notices(
    agent_id: str, of_config: Iterable[LoadDiagnostic], of_choices: Iterable[Remark]
) -> tuple[Notice, ...]:
    config = (
        Notice(
            agent_id=agent_id,
            code="config",
            message=f"{found.path}: {found.message}",
            tone="warn" if found.tone == "warn" else "info",
        )
        for found in of_config
    )
    choices = (
        Notice(agent_id=agent_id, code=told.code, message=told.message, tone=told.tone)
        for told in of_choices
    )
    return (*config, *choices)


def make_router(
    settings: Settings,
    snapshot: ExtensionSnapshot,
    environ: Mapping[str, str],
    places: Mapping[str, str] | None = None,
) -> Router:
    """Build the router. `places` are what `ReplayFactory` takes: folders by name."""
    known = gather_provider_settings(settings, snapshot.providers, environ)
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


async def open_provider(plan: Plan, model_id: str, given: Provider | None = None) -> Provider:
    """Make the provider, or take the given one, and put the recorder around it.

    The SDK is imported in a thread, because that takes a second.

    Raises:
        UserError: something is missing, such as a key, a package or the cassette.
    """
    provider = given
    if provider is None:
        blobs = FileBlobStore(plan.spec.session_folder / "blobs")
        provider = await anyio.to_thread.run_sync(plan.router.create, model_id, blobs)
    if plan.options.record is None:
        return provider
    writer = await anyio.to_thread.run_sync(plan.options.shelf.take_writer, plan.options.record)
    return record_into(writer, provider, plan.placeholders)


async def write_usage(plan: Plan, records: tuple[UsageRecord, ...]) -> None:
    assert plan.usage_log is not None
    log = UsageLog(plan.usage_log)
    for record in records:
        await log.append(record)
