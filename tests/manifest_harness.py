"""Rows of the manifest that come from other agents: reported faults and server quirks."""

from __future__ import annotations

from tests.manifest import FEATURES, FRAMES, Requirement, built, missing, part
from tests.manifest_jupyter import KERNELS
from tests.manifest_local import LOCAL
from tests.manifest_security import SECURITY

GATE = (
    built("H4a.01", "A rule for one command does not let a whole chain pass"),
    built("H4a.02", "A harmless cd in front takes no ask or deny rule away"),
    built("H4a.03", "What runs inside a substitution or a wrapper is never allowed unseen"),
    built("H4a.04", "Deny beats ask beats allow, whatever the order in the file"),
    built("H4a.05", "The shell cannot write in plan mode"),
    missing("H4a.06", "A child may not do more than its parent's mode"),
    part("H4a.07", "A child's own deny rules reach its session", "child agents"),
    built("H4a.08", "No symlink leads a write out of the workspace"),
    part(
        "H4a.09",
        "A request raised with nobody attached is shown later or denied on record",
        "a daemon that is started anew",
    ),
    part(
        "H4a.10",
        "Requests are replayed only after the sync is acknowledged",
        "a daemon that clients reconnect to",
    ),
    part(
        "H4a.11",
        "A card goes only when the resolved event says so",
        "clients on connections of their own",
    ),
    part(
        "H4a.13",
        "A stale card says so, and answering it is a clear error",
        "the card of a notebook that is opened again",
    ),
    part("H4a.14", "A background ask reaches a human or ends by policy in time", "child agents"),
)

SESSIONS = (
    built("H4b.15", "A torn last line is cut before the next append"),
    built("H4b.16", "A tail cut inside a character does not stop the append"),
    built("H4b.18", "A run of NUL bytes in the middle is skipped and reported"),
    built("H4b.19", "A missing parent hides no history; the repair is told"),
    built("H4b.21", "An assistant message is on disk before its results"),
    built("H4b.22", "Two writers of one session: the second is refused by name"),
    built("H4b.23", "An entry goes to the session that it was made for"),
    part(
        "H4b.24",
        "Images lie beside the log once, by hash",
        "opening reads the whole log, not its tail and an index",
    ),
    built("H4b.25", "A separator inside a text does not split its record"),
    part(
        "H4b.26",
        "A vendor's thread that never ran a turn is not resumed",
        "vendor agents; here a session killed before its first turn ended opens again",
    ),
    built("H4b.27", "A tool that was started is never run again by a retry"),
)

COMPACTION = (
    part(
        "H4c.28",
        "After two compactions every result still has its call",
        "the compactor itself; the window is validated whole",
    ),
    part(
        "H4c.29",
        "Calls without a result are closed before a compaction",
        "the compactor itself; open calls are closed in the window",
    ),
    missing("H4c.30", "A compaction that does not help ends with a clear error"),
    missing("H4c.33", "Bytes and images are budgeted, not only tokens"),
    part(
        "H4c.34",
        "A summary replaces the one before it and never nests",
        "the compactor itself; the window takes the latest summary only",
    ),
)

PROVIDERS = (
    built("H4d.35", "A character cut at a chunk border arrives whole"),
    built("H4d.36", "Tool deltas without an index do not merge two calls"),
    built("H4d.37", "A known call id wins over a wrong index"),
    built("H4d.38", "Call ids that a server repeats are made unique on arrival"),
    built("H4d.39", "A stream without its end is a failure, and no call of it runs"),
    built("H4d.40", "An error within a stream is retried while nothing was shown or run"),
    built("H4d.41", "Retry-After is obeyed up to a minute; beyond, the reset time is shown"),
    built("H4d.42", "Reasoning goes back to the route that wrote it, and only there"),
    built("H4d.43", "Cut-off arguments are an error for the model and never run"),
    built("H4d.44", "Half a surrogate pair is cleaned on the way in and out"),
)

FILES = (
    built("H4e.45", "An edit leaves every other byte of the file as it was"),
    built("H4e.47", "A byte order mark and CR LF survive an edit"),
    built("H4e.49", "An approximate match is bounded and says that it is one"),
    built("H4e.50", "New text is spliced in literally"),
    built("H4e.51", "Nothing is transformed on writing; empty old text is refused"),
    built("H4e.53", "Parallel edits of one file lose none"),
    built("H4e.54", "read, grep and edit count the same lines"),
    built("H4e.55", "A very long line does not flood the context"),
)

SHELL = (
    built("H4f.57", "A call returns although a background child holds its output"),
    built("H4f.58", "A child has no terminal, and no editor or pager waits in it"),
    built("H4f.60", "Output of any size costs bounded memory"),
    built("H4f.61", "A time-out kills the command with all its children"),
)

MCP = (
    missing("H4g.62", "One bad output schema does not take a server's tools away"),
    missing("H4g.63", "One bad input schema does not break every request"),
    missing("H4g.64", "Long tool names stay distinct"),
    missing("H4g.65", "A dead server fails its calls at once"),
)

PLATFORM = (
    missing("H4h.68", "Memory does not grow while idle"),
    missing("H4h.69", "Memory of a session is bounded"),
    missing("H4h.70", "Deltas are sent as deltas"),
    missing("H4h.71", "A dead kernel is noticed and bound again"),
    missing("H4h.72", "A notebook is never written from an empty model"),
    missing("H4h.73", "The server can be stopped while an agent runs"),
)

QUIRKS = (
    built("H2d.split_utf8", "SSE bytes in seven-byte writes"),
    built("H2d.crlf", "SSE lines ended by CR LF"),
    built("H2d.comments", "SSE comment lines between events"),
    built("H2d.nospace", "No space behind data:"),
    built("H2d.no_done", "The stream just ends: a failure, retried"),
    built("H2d.empty_choices", "Chunks without choices"),
    built("H2d.usage_last", "Usage alone in the last chunk"),
    built("H2d.no_tool_id", "Tool deltas without an id"),
    built("H2d.no_tool_index", "Tool deltas without an index"),
    built("H2d.args_object", "Arguments as an object"),
    built("H2d.args_once", "Name and arguments in one delta"),
    built("H2d.finish_stop", "Finish reason stop although there are calls"),
    built("H2d.finish_early", "Finish reason before the last delta"),
    built("H2d.null_content", "content null in tool deltas"),
    built("H2d.reasoning", "Reasoning before the text"),
    built("H2d.u2028", "U+2028 in text and arguments"),
    built("H2d.status429", "429 with Retry-After"),
    built("H2d.status529", "Overloaded at first"),
    built("H2d.error_mid", "An error event within the stream"),
    built("H2d.drop_mid", "The connection is cut within the stream"),
    built("H2d.html_error", "502 with an HTML page"),
    built("H2d.bad_args", "Cut-off argument JSON"),
    built("H2d.unknown_tool", "A call of a tool that does not exist"),
    built("H2d.same_id", "The same call ids in every round"),
)

HARNESS = (
    *GATE,
    *SESSIONS,
    *COMPACTION,
    *PROVIDERS,
    *FILES,
    *SHELL,
    *MCP,
    *PLATFORM,
    *QUIRKS,
)
MANIFEST: tuple[Requirement, ...] = (*FEATURES, *HARNESS, *KERNELS, *LOCAL, *SECURITY, *FRAMES)
