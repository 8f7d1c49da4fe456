"""Puts an agent together from what extensions registered, and from nothing else (Shard §15)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

import anyio
import anyio.to_thread

from shard_jupyter.contracts.clock import Clock
from shard_jupyter.contracts.event_bus import EventBus
from shard_jupyter.contracts.process_runner import ProcessRunner, SandboxSetting
from shard_jupyter.contracts.provider import Provider
from shard_jupyter.core.agent_session import AgentSession, UsageSink
from shard_jupyter.core.calls.call_permission import write_down
from shard_jupyter.core.children.child_environment import child_environment
from shard_jupyter.core.extensions.host import ExtensionSnapshot
from shard_jupyter.core.files.file_locks import FileLocks
from shard_jupyter.core.files.own_places import own_places
from shard_jupyter.core.files.path_guard import follow, locate
from shard_jupyter.core.limits.pricing import Price
from shard_jupyter.core.modes.controller import ModeController
from shard_jupyter.core.permissions.gate import RuleGate
from shard_jupyter.core.permissions.grants import GrantTable
from shard_jupyter.core.permissions.permission_desk import PermissionDesk
from shard_jupyter.core.permissions.rule_files.agent_grants import NAME, AgentGrants
from shard_jupyter.core.permissions.rule_files.granted_rules import GrantedRules
from shard_jupyter.core.permissions.rule_files.rule_book import RuleBook
from shard_jupyter.core.processes import SystemProcessRunner
from shard_jupyter.core.sandbox.agent_sandbox import AgentSandbox
from shard_jupyter.core.sandbox.sandbox_policy import make_policy
from shard_jupyter.core.steering import SteerQueue
from shard_jupyter.core.tools.tool_registry import ToolRegistry
from shard_jupyter.core.transcript import Transcript
from shard_jupyter.core.turn import AgentParts, TurnSettings
from shard_jupyter.errors import StorageError, UsageError
from shard_jupyter.store.atomic_file import make_private_folder
from shard_jupyter.store.blobs import FileBlobStore
from shard_jupyter.store.session_log import SessionLog
from shard_jupyter.store.text_spill import load_full_texts
from shard_jupyter.types.decisions import Rule
from shard_jupyter.types.events import Notice
from shard_jupyter.types.ids import new_id
from shard_jupyter.types.session_entries import SessionHeader


@dataclass(frozen=True)
class AgentSpec:
    """What one agent is to be.

    Attributes:
        session_folder: holds `session.jsonl`, `blobs/` and `scratch/`; made when it is missing.
        environment: the environment of this process; secrets are removed before a tool sees it.
        secret_names: variables that hold a secret, whatever their names look like.
        rules: those of the start; `granted` is looked at before each decision.
        granted: `granted.json` of the person; None: no rule can be kept there.
        sandbox: whether commands are locked in.
    """

    agent_id: str
    session_id: str
    session_folder: Path
    cwd: Path
    mode: str
    environment: Mapping[str, str] = field(repr=False)
    secret_names: frozenset[str] = frozenset()
    settings: TurnSettings = field(default_factory=TurnSettings)
    rules: Sequence[Rule] = ()
    granted: Path | None = None
    price: Price | None = None
    durability: Literal["full", "normal"] = "full"
    sandbox: SandboxSetting = "off"
    package_version: str = ""


async def assemble_agent(
    spec: AgentSpec,
    snapshot: ExtensionSnapshot,
    *,
    provider: Provider,
    bus: EventBus,
    clock: Clock,
    keep_usage: UsageSink | None = None,
) -> AgentSession:
    """Open or create the session and put the agent together. Takes over `provider`.

    Raises:
        UsageError: the workspace is not a folder.
        UnknownMode: no such mode.
        StorageError: the session cannot be opened.
    """
    cwd = await anyio.to_thread.run_sync(_resolve_workspace, spec.cwd)
    modes = ModeController(snapshot.modes, spec.mode)
    log = await open_log(spec, cwd, clock)
    try:
        blobs = FileBlobStore(spec.session_folder / "blobs")
        full_texts, problems = await load_full_texts(log.entries, blobs)
        transcript = Transcript(log, clock, full_texts)
        own = await anyio.to_thread.run_sync(_find_own_places, spec)
        grants, mended = await anyio.to_thread.run_sync(_open_grants, spec, cwd)
        processes = SystemProcessRunner()
        sandbox = _make_sandbox(spec, snapshot, processes, cwd)
        parts = AgentParts(
            agent_id=spec.agent_id,
            cwd=cwd,
            environment=child_environment(spec.environment, spec.secret_names),
            scratch=spec.session_folder / "scratch",
            provider=provider,
            price=spec.price,
            registry=ToolRegistry(snapshot.tools.values()),
            gate=RuleGate(
                rules=_open_rules(spec, cwd),
                grants=grants,
                find_mode=modes.find,
                locate=partial(locate, own=own),
                has_sandbox=lambda: sandbox.active is not None,
            ),
            grants=grants,
            modes=modes,
            extractors=snapshot.turn_end_extractors,
            compactor=next(reversed(snapshot.compactors.values()), None),
            bus=bus,
            transcript=transcript,
            steers=SteerQueue(),
            desk=PermissionDesk(clock, lambda resolved: write_down(parts, resolved)),
            clock=clock,
            processes=processes,
            locks=FileLocks(),
            blobs=blobs,
            settings=spec.settings,
            sandbox=sandbox,
        )
    except BaseException:
        with anyio.CancelScope(shield=True):
            await log.aclose()
        raise
    found = tuple(finding.message for finding in log.report.findings)
    for message in (*found, *problems, *transcript.repairs, *mended, *grants.left_out):
        notice = Notice(agent_id=spec.agent_id, code="repaired", message=message, tone="warn")
        bus.emit(notice)
    return AgentSession(parts, keep_usage)


def _make_sandbox(
    spec: AgentSpec, snapshot: ExtensionSnapshot, processes: ProcessRunner, cwd: Path
) -> AgentSandbox:
    scratch = spec.session_folder / "scratch"
    temporary = scratch / "tmp"
    policy = partial(
        make_policy,
        cwd,
        spec.environment,
        scratch=scratch,
        temporary=temporary,
        state=spec.session_folder,
    )
    providers = tuple(snapshot.sandboxes.values())
    return AgentSandbox(spec.sandbox, providers, processes, temporary=temporary, make_policy=policy)


def _open_grants(spec: AgentSpec, cwd: Path) -> tuple[GrantTable, tuple[str, ...]]:
    of_agent = AgentGrants(spec.session_folder / NAME)
    mended = of_agent.mend()
    return GrantTable(workspace=str(cwd), of_agent=of_agent, granted=spec.granted), mended


def _open_rules(spec: AgentSpec, cwd: Path) -> RuleBook:
    granted = GrantedRules(spec.granted, cwd) if spec.granted is not None else None
    return RuleBook(spec.rules, granted)


async def open_log(spec: AgentSpec, cwd: Path, clock: Clock) -> SessionLog:
    """Open the session's log, or create it with a header.

    Raises:
        StorageError: its place cannot be used, or the log cannot be opened.
    """
    try:
        return await _open_or_create(spec, cwd, clock)
    except OSError as error:
        raise StorageError(
            f"The session cannot be kept in {spec.session_folder}: {error.strerror or error}.",
            next_step="`shard doctor` looks at the state folder; SHARD_HOME names another one.",
        ) from error


async def _open_or_create(spec: AgentSpec, cwd: Path, clock: Clock) -> SessionLog:
    path = spec.session_folder / "session.jsonl"
    exists = await anyio.to_thread.run_sync(_make_folders, spec.session_folder, path)
    header = SessionHeader(
        id=new_id("entry"),
        timestamp=clock.now().isoformat(timespec="milliseconds"),
        session_id=spec.session_id,
        agent_id=spec.agent_id,
        cwd=str(cwd),
        package_version=spec.package_version,
    )
    if not exists:
        return await SessionLog.create(path, header, durability=spec.durability)
    log = await SessionLog.open(path, durability=spec.durability)
    if not log.entries:  # all of it was damaged; without a header nobody can list it
        log.append(header)
    return log


def _make_folders(folder: Path, path: Path) -> bool:
    for private in (folder, folder / "blobs", folder / "scratch"):
        make_private_folder(private)
    return path.exists()


def _find_own_places(spec: AgentSpec) -> tuple[Path, ...]:
    return (*own_places(spec.environment), follow(spec.session_folder))


def _resolve_workspace(cwd: Path) -> Path:
    real = cwd.resolve()
    if not real.is_dir():
        raise UsageError(f"{str(cwd)!r} is not a folder.", next_step="Name one with --cwd.")
    return real
