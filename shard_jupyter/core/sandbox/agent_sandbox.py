"""The sandbox of one agent: found when the first command needs it, then kept."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import anyio
import anyio.to_thread

from shard_jupyter.contracts.process_runner import (
    ActiveSandbox,
    ProcessRunner,
    ProcessSpec,
    SandboxAbilities,
    SandboxPolicy,
    SandboxProvider,
    SandboxSetting,
)
from shard_jupyter.core.sandbox.sandbox_choice import (
    ADVICE,
    Choice,
    Tried,
    choose,
    missing,
)
from shard_jupyter.errors import ToolFailed

_SEEN: dict[SandboxProvider, SandboxAbilities] = {}
"""What worked in this process. What did not is tried anew by the next agent."""


CLOSED_TOP = (
    "This workspace holds what is hidden from commands (keys, settings, histories), so they can make "
    "nothing new right in it, only in its folders."
)
INSTEAD = "Work in the folder of a project, or install bubblewrap."


@dataclass(frozen=True)
class ConfinedCommands:
    """An `ActiveSandbox`."""

    provider: SandboxProvider
    abilities: SandboxAbilities
    policy: SandboxPolicy
    advice: str = ""

    @property
    def name(self) -> str:
        return self.provider.name

    def wrap(self, spec: ProcessSpec, *, network: bool) -> ProcessSpec:
        changed = replace(spec, env=_with_own_folders(spec.env, self.policy.temporary))
        return self.provider.wrap(changed, replace(self.policy, network=network))


class Problem(NamedTuple):
    """For a notice to the person."""

    code: str
    message: str


class AgentSandbox:
    """Owned by the agent session, which closes it. Off the event loop nothing of it may be called.

    `make_policy` looks at the file system and is called in a thread.
    """

    def __init__(
        self,
        setting: SandboxSetting,
        providers: Sequence[SandboxProvider],
        processes: ProcessRunner,
        *,
        temporary: Path,
        make_policy: Callable[[], SandboxPolicy],
    ) -> None:
        self._setting = setting
        self._providers = providers
        self._processes = processes
        self._temporary = temporary
        self._make_policy = make_policy
        self._lock = anyio.Lock()
        self._choice: Choice | None = Choice(None) if setting == "off" else None
        self._is_told = False
        self.active: ActiveSandbox | None = None
        """None until `find` has found one."""

    async def find(self) -> ActiveSandbox | None:
        """Return what commands run in; None: they run without.

        Raises:
            ToolFailed: one is required, and there is none.
        """
        async with self._lock:
            if self._choice is None:
                self._choice = await self._look()
        if self._setting == "required" and self.active is None:
            raise ToolFailed(
                f"Not run: a sandbox is required, and {self._choice.problem}.", next_step=ADVICE
            )
        return self.active

    def take_problem(self) -> Problem | None:
        """Say what is missing, once; None: nothing is, or it was said."""
        if self._is_told or self._choice is None:
            return None
        self._is_told = True
        if self._choice.problem:
            return Problem("sandbox.unavailable", f"{_begin(self._choice.problem)}. {ADVICE}")
        if self.active is not None and self.active.advice:
            return Problem("sandbox.limited", f"{self.active.advice} {INSTEAD}")
        return None

    async def aclose(self) -> None:
        """Remove what commands have left in the temporary folder."""
        if self.active is not None:
            await anyio.to_thread.run_sync(_remove, self._temporary)

    async def _look(self) -> Choice:
        await anyio.to_thread.run_sync(_make_private, self._temporary)
        tried: dict[str, tuple[SandboxProvider, Tried]] = {}
        for provider in self._providers:
            abilities = await probe_once(provider, self._processes, self._temporary)
            tried[provider.name] = (provider, Tried(provider.name, abilities))
            if not missing(abilities):
                break
        choice = choose(self._setting, [one for _, one in tried.values()])
        if choice.used is not None:
            provider, used = tried[choice.used.name]
            policy = await anyio.to_thread.run_sync(self._make_policy)
            self.active = await anyio.to_thread.run_sync(_confine, provider, used, policy)
        return choice


def _confine(provider: SandboxProvider, used: Tried, policy: SandboxPolicy) -> ConfinedCommands:
    workspace = policy.writable[0]
    is_mixed = any(path.is_relative_to(workspace) and path.exists() for path in policy.hidden)
    advice = CLOSED_TOP if is_mixed and not used.abilities.mixed_folders else ""
    return ConfinedCommands(provider, used.abilities, policy, advice)


async def probe_once(
    provider: SandboxProvider, processes: ProcessRunner, scratch: Path
) -> SandboxAbilities:
    """Try it out, unless this process has seen it work."""
    abilities = _SEEN.get(provider)
    if abilities is None:
        abilities = await provider.probe(processes, scratch)
        if not abilities.reason:
            _SEEN[provider] = abilities
    return abilities


def _with_own_folders(env: Mapping[str, str], temporary: Path | None) -> Mapping[str, str]:
    """Say where a command may write without a question; caches too, or tools that keep one fail.

    Of tools that keep them by names of their own only those that fail or complain otherwise. What
    Jupyter and IPython keep in a home is hidden, so they must not look for it there.
    """
    if temporary is None:
        return env
    own = str(temporary)
    defaults = {"MPLCONFIGDIR": f"{own}/cache/matplotlib", "npm_config_cache": f"{own}/cache/npm"}
    fixed = {
        "TMPDIR": own,
        "TMP": own,
        "TEMP": own,
        "XDG_CACHE_HOME": f"{own}/cache",
        "IPYTHONDIR": f"{own}/ipython",
        "JUPYTER_CONFIG_DIR": f"{own}/jupyter/config",
        "JUPYTER_DATA_DIR": f"{own}/jupyter",
        "JUPYTER_RUNTIME_DIR": f"{own}/jupyter/runtime",
    }
    return {**defaults, **env, **fixed}


def _begin(sentence: str) -> str:
    return f"{sentence[:1].upper()}{sentence[1:]}"


def _make_private(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
