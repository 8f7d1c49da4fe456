"""Gets the entries of a conversation: from its agent, else from the stored log."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from shard_jupyter.core.config.config_files import find_state_home
from shard_jupyter.core.lineage.active_branch import active_branch
from shard_jupyter.errors import SessionNotFound, UserError
from shard_jupyter.protocol.agent_commands import SessionOp
from shard_jupyter.protocol.results import SessionOpDone
from shard_jupyter.store.entry_codec import entry_id
from shard_jupyter.store.session_index import list_sessions, session_path
from shard_jupyter.store.session_log import read_session
from shard_jupyter.store.session_summary import SessionSummary
from shard_jupyter.surfaces.magics.line.chosen_agent import ask_agent
from shard_jupyter.surfaces.magics.line.stored_turns import StoredTurn, split_turns
from shard_jupyter.surfaces.magics.line.waiting import wait_for
from shard_jupyter.types.agents import AgentInfo
from shard_jupyter.types.session_entries import SessionEntry

if TYPE_CHECKING:
    from shard_jupyter.surfaces.magics.kernel_agents import KernelAgents

_AT_WORK = ("streaming", "waiting-for-permission")


def read_agent_turns(agents: KernelAgents, info: AgentInfo) -> tuple[StoredTurn, ...]:
    """Read the conversation of an agent of this kernel, as `info` says that it is now.

    Raises:
        ShardError: its process does not answer.
    """
    branch = _read_pages(agents, info)
    return split_turns(branch, last_is_running=info.status in _AT_WORK)


def _read_pages(agents: KernelAgents, info: AgentInfo) -> list[SessionEntry]:
    """Ask for page after page, each newest first; return all, oldest first."""
    newest_first: list[SessionEntry] = []
    before: str | None = None
    while True:
        page = ask_agent(agents, info, SessionOp, SessionOpDone, op="list", entry_id=before)
        newest_first += page.entries
        if not page.more or not page.entries:
            return newest_first[::-1]
        before = entry_id(page.entries[-1])


def read_stored_turns(session_id: str) -> tuple[StoredTurn, ...]:
    """Read a conversation from its log, whoever has it open.

    Raises:
        UsageError: that is no session id.
        SessionNotFound: there is none of that id.
        StorageError: the log cannot be read.
    """
    log = session_path(find_state_home(os.environ) / "sessions", session_id)
    try:
        entries, _ = wait_for(partial(read_session, log))
    except SessionNotFound:
        raise SessionNotFound(
            f"There is no session {session_id!r}.",
            next_step="%shard history --sessions lists those of this folder.",
        ) from None
    return split_turns(active_branch(entries).entries)


def list_stored_sessions(cwd: str) -> tuple[SessionSummary, ...]:
    """List the sessions whose folder is `cwd`, the last used first."""
    found = wait_for(partial(list_sessions, find_state_home(os.environ) / "sessions"))
    return tuple(summary for summary in found if summary.cwd == cwd)


def find_here() -> str:
    """Return the working folder of the kernel.

    Raises:
        UserError: it is gone.
    """
    try:
        return os.getcwd()  # noqa: PTH109 - compared with what a log says, text with text
    except FileNotFoundError:
        raise UserError(
            "The working folder of this kernel does not exist any more.",
            next_step="Change to one that does: %cd PATH",
        ) from None
