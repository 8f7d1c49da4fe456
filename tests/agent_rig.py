"""An agent for tests: real tools, real files, real log; the model and the clock are doubles."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

from shard_jupyter.contracts.extension_api import ExtensionApi, ExtensionIdentity
from shard_jupyter.contracts.process_runner import SandboxProvider, SandboxSetting
from shard_jupyter.contracts.provider import ProviderEvent, ProviderRequest
from shard_jupyter.contracts.tool import Tool
from shard_jupyter.core.agent_session import AgentSession, UsageSink
from shard_jupyter.core.bootstrap import AgentSpec, assemble_agent
from shard_jupyter.core.event_bus import LocalEventBus
from shard_jupyter.core.extensions.host import ExtensionHost
from shard_jupyter.core.turn import TurnSettings
from shard_jupyter.surfaces.composition import install_bundled
from shard_jupyter.testing.fake_clock import FakeClock
from shard_jupyter.testing.scripted_provider import ScriptedProvider, ScriptLine
from shard_jupyter.types.decisions import Rule
from shard_jupyter.types.events import AgentEvent


class WatchedProvider(ScriptedProvider):
    """Counts the streams that are open, as a server counts its connections."""

    open_streams = 0

    async def stream(self, request: ProviderRequest) -> AsyncGenerator[ProviderEvent, None]:
        self.open_streams += 1
        try:
            async for event in super().stream(request):
                yield event
        finally:
            self.open_streams -= 1

    def script(self, *lines: ScriptLine) -> None:
        """Say this from now on, whatever was left."""
        self._script[:] = lines


@dataclass
class AgentRig:
    session: AgentSession
    provider: WatchedProvider
    clock: FakeClock
    folder: Path
    cwd: Path
    events: list[AgentEvent] = field(default_factory=list)
    result: Any = None
    stored: list[dict[str, Any]] = field(default_factory=list)

    def log(self) -> list[dict[str, Any]]:
        data = (self.folder / "session.jsonl").read_bytes()
        return [json.loads(line) for line in data.split(b"\n") if line]

    def entries(self, entry_type: str) -> list[dict[str, Any]]:
        return [entry for entry in self.log() if entry["type"] == entry_type]

    def seen(self, *types: str) -> list[Any]:
        return [event for event in self.events if event.type in types]

    def results(self) -> list[tuple[str, str]]:
        """Status and text of every result in the log, in order."""
        return [
            (entry["status"], "".join(part.get("text", "") for part in entry["content"]))
            for entry in self.entries("tool_result")
        ]


@asynccontextmanager
async def open_agent(
    folder: Path,
    *script: ScriptLine,
    ask: str = "yes",
    mode: str = "build",
    rules: Sequence[Rule] = (),
    tools: Iterable[Tool] = (),
    clock: FakeClock | None = None,
    cwd: Path | None = None,
    keep_usage: UsageSink | None = None,
    asks_every_call: bool = False,
    sandbox: SandboxSetting = "off",
    sandboxes: Iterable[SandboxProvider] = (),
    search_path: str = "/usr/local/bin:/usr/bin:/bin",
    **settings: Any,
) -> AsyncIterator[AgentRig]:
    """`folder` gets the workspace `ws` and the session `session`; twice the same one goes on."""
    cwd = cwd or folder / "ws"
    cwd.mkdir(parents=True, exist_ok=True)
    host, bus, clock = ExtensionHost(), LocalEventBus(), clock or FakeClock(runs_ahead=True)
    await install_bundled(host)

    def add_tools(api: ExtensionApi) -> None:
        for tool in tools:
            api.register_tool(tool)
        for provider in sandboxes:
            api.register_sandbox(provider)

    await host.install(ExtensionIdentity(name="test", source="test"), add_tools)
    spec = AgentSpec(
        agent_id="agent-test",
        session_id="session-test",
        session_folder=folder / "session",
        cwd=cwd,
        mode=mode,
        environment={"PATH": search_path},
        settings=TurnSettings(**{"ask": ask, "ask_timeout_seconds": 0, **settings}),
        rules=rules,
        sandbox=sandbox,
    )
    provider = WatchedProvider(script, asks_every_call=asks_every_call)
    events: list[AgentEvent] = []
    bus.subscribe(events.append)
    session = await assemble_agent(
        spec, host.snapshot(), provider=provider, bus=bus, clock=clock, keep_usage=keep_usage
    )
    try:
        yield AgentRig(session, provider, clock, folder / "session", cwd, events)
    finally:
        with anyio.CancelScope(shield=True):
            await session.aclose()
