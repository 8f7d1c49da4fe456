"""What is promised, row by row, and how much of it is there.

A test names the rows that it proves with `@pytest.mark.proves("A11", "H4b.15")`, with ids as plain
strings, so that they can be collected without running anything. `tests/requirements.py` compares
both directions: a row that is built or part has a test, one that is missing has none.

Ids: A–E are the features of the product. H4x.nn are faults that users of other agents reported
and that must not happen here, H2d.NAME are quirks of model servers, frNNN are lines of
tests/data/bad_frames.jsonl. J3.nn are in tests/manifest_jupyter.py, L*.… in tests/manifest_local.py.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Status = Literal["built", "part", "missing"]
CORPUS = Path(__file__).parent / "data" / "bad_frames.jsonl"


@dataclass(frozen=True)
class Requirement:
    """One promise. `gap` says what a row of status part still lacks."""

    id: str
    text: str
    status: Status
    gap: str = ""


def built(row_id: str, text: str) -> Requirement:
    return Requirement(row_id, text, "built")


def part(row_id: str, text: str, gap: str) -> Requirement:
    return Requirement(row_id, text, "part", gap)


def missing(row_id: str, text: str) -> Requirement:
    return Requirement(row_id, text, "missing")


CORE = (
    built("A01", "Layers point inward only; a linter holds them"),
    built("A02", "Contracts are plain data with an exported schema"),
    built("A03", "Turn loop: mode filter before the call, gate at execution, cut at boundaries"),
    built("A04", "One tool shape and one registry for every origin"),
    built("A05", "Tools read, write, edit, bash, grep, find, ls"),
    part(
        "A06",
        "Permission gate: deny, ask, grants, allow, mode, else ask",
        "tools of MCP servers, child agents",
    ),
    part("A07", "Modes as policy bundles; a plan survives on its branch", "review and debug modes"),
    part(
        "A08",
        "Descriptors drawn by every client, also without JavaScript",
        "TypeScript views",
    ),
    missing("A09", "Deterministic compactor with extractors and fixed section order"),
    missing("A10", "Compaction after a turn at the reserve, within one at the brim"),
    built("A11", "Append-only session log with lineage; repaired on open, nothing lost"),
    missing("A12", "recall over everything, across compactions"),
    built("A13", "Model providers behind one router, SDKs imported late"),
    missing("A14", "Typed loaders with precedence, trust, diagnostics, bounds"),
    missing("A15", "Agent Skills: catalogue, activation, life after compaction"),
    built("A16", "Event bus of plain data; a transport is one more subscriber"),
    part(
        "A17",
        "Extensions register through one surface, with disposers and diagnostics",
        "files of user and project, reload, entry points",
    ),
    missing("A18", "Dialogs over the wire: select, confirm, input, editor, notify"),
    part(
        "A19",
        "Validated configuration and state folders; usage log",
        "every key of every later part; policy of an admin",
    ),
    missing("A20", "Code index: outline, symbol, signatures"),
    missing("A21", "Language servers on top of the code index"),
    missing("A22", "MCP client through the one registry and the one gate"),
)

DAEMON = (
    part(
        "B01",
        "Daemon that supervises and runs no agent logic",
        "the daemon; the process that holds agents ends in good order and leaves nothing",
    ),
    part(
        "B02",
        "One protocol over every transport",
        "unix socket, WebSocket, Jupyter comm; a socket pair to the agent process is there",
    ),
    built("B03", "Records are split at LF only; other separators survive"),
    part(
        "B04",
        "Commands and events of agents and of the registry, served",
        "queue, dialogs, tools of clients, operations on a session but list, events of the registry",
    ),
    missing("B05", "A request goes to all clients, the first answer wins"),
    part(
        "B06",
        "Headless policy and time-out; open requests shown on attach",
        "questions that wait in a daemon",
    ),
    missing("B07", "Observers never answer; a child's request goes up to an ancestor"),
    missing("B08", "Durable agents, fenced generations, lazy restore"),
    missing("B09", "Attach without a lost or doubled event"),
    missing("B10", "Session operations compact, fork, list, branch, switch"),
    built("B11", "SDK: an agent in process, without a socket"),
    part(
        "B12",
        "Command line",
        "everything that needs the daemon: agent, attach, list, kill, web",
    ),
    missing("B13", "Subagents as durable jobs with six tools"),
    missing("B14", "Browser access behind Jupyter's login, with our checks on top"),
    missing("B15", "Remote use behind proxies and prefixes"),
    missing("B16", "Owner of an agent; authorizer actions"),
)

SHADOW = (
    missing("C01", "One agent on our loop or on a vendor's, behind one seam"),
    missing("C02", "Vendor adapters: Codex, Claude, ACP"),
    missing("C03", "Vendor processes: group, stall, clean environment, kill"),
    missing("C04", "Catalogue of models by official probes, stable routing ids"),
    missing("C05", "Usage limits, told by the vendor; unknown stays unknown"),
    missing("C06", "SQLite store with forward migrations, backup and repair"),
    missing("C07", "Durable events with cursors; readers resume"),
    missing("C08", "One active prompt; queued follow-ups; checks before a row"),
    missing("C09", "Consent before context goes to another vendor"),
    part(
        "C10",
        "Managed local model server",
        "one server for all agents of the daemon; GPU paths and macOS are untried",
    ),
    missing("C11", "OpenRouter and configured endpoints in the picker"),
    missing("C12", "File checkpoints, verification summary, web tools, images"),
    missing("C13", "Second opinions"),
    missing("C14", "Compare models on one task"),
    missing("C15", "Goals, background tasks, worktrees, memory, commands, feed"),
    missing("C16", "User's rulebook, delivered to every vendor"),
    missing("C17", "After a restart unfinished jobs are interrupted, nothing is replayed"),
    missing("C18", "Control socket checks its peer; stale sockets go"),
    missing("C19", "Front end: push, stable rows, paged transcripts, safe Markdown"),
    missing("C20", "Consent dialog, timeline, summaries, settings"),
    part(
        "C21",
        "doctor, about, update notice, policy file",
        "about, update notice, system policy file",
    ),
    missing("C22", "Command line, console and MCP clients of one engine"),
)

JUPYTER = (
    missing("D01", "Server extension under the Jupyter base URL"),
    built("D02", "Cell and line magics"),
    missing("D03", "Widgets: transcript, approval, orchestrator, picker"),
    missing("D04", "An approval is answered while the cell runs"),
    part(
        "D05",
        "A saved notebook reads well with nothing running",
        "the renderer of our own MIME type",
    ),
    missing("D06", "Shard kernel: a notebook is a session"),
    missing("D07", "Sidebar that oversees every agent"),
    missing("D08", "Renderer, launcher, commands, settings, accessibility"),
    part("D09", "Headless runs, exit codes, replay", "Shard kernel, run-notebook"),
    missing("D10", "JupyterHub: prefixes, OAuth, isolation, policy"),
    missing("D11", "Console as terminal interface"),
    part("D12", "Example notebooks that CI runs", "notebooks of the Shard kernel"),
)

BEYOND = (
    missing("E01", "Notebook tools on the open notebook"),
    missing("E02", "Tools in the user's live kernel"),
    missing("E03", "Running a cell again branches the lineage"),
    part("E04", "Record and replay", "a whole notebook"),
    missing("E05", "Shard as an ACP agent and as an MCP server"),
    missing("E06", "Agents on other machines by kernel provisioners"),
    missing("E07", "Incremental compaction"),
    missing("E08", "Budgets and admin policy"),
    part(
        "E09",
        "Sandbox of the operating system",
        "other systems than Linux; limits of memory and processor; kernels of the python tool",
    ),
    missing("E10", "Agents forked from a prepared process"),
)

FEATURES = (*CORE, *DAEMON, *SHADOW, *JUPYTER, *BEYOND)

_NEEDS_SOCKET = {
    "fr083": "that a real socket joins the fragments",
    "fr088": "that a real socket stops inflating at the limit, or does not compress",
}


def _frames() -> tuple[Requirement, ...]:
    lines = [json.loads(line) for line in CORPUS.read_bytes().split(b"\n") if line]
    return tuple(
        Requirement(
            line["id"],
            f"{line['name']}: {line['expect']}",
            "part" if line["id"] in _NEEDS_SOCKET else "built",
            _NEEDS_SOCKET.get(line["id"], ""),
        )
        for line in lines
    )


FRAMES = _frames()
