"""Rows of the manifest about the permission gate.

Tnn: what went wrong elsewhere, by the row of the threat table. Rows about servers, browsers, MCP
and child agents come with those parts.
"""

from __future__ import annotations

from tests.manifest import built, part

THREATS = (
    built("T34", "Every tool that takes a path goes through one path gate"),
    built("T42", "The workspace is fixed when an agent is made; a longer name is no child of it"),
    built("T43", "Neither a prefix nor a symlink leads out of the workspace"),
    built("T44", "What runs without a person is what was parsed, never the text itself"),
    built("T45", "No command that can reach the network runs without a person"),
    built("T46", "sed runs without a person only where it prints"),
    built("T47", "An option that a table does not know is asked, abbreviated or grouped too"),
    built("T48", "More commands than are looked at means asked"),
    built("T49", "Control characters and letters of other scripts are refused before parsing"),
    built("T50", "All checks must hold; none of them ends the others early"),
    built("T51", "Each call has a fresh shell; what changes its state is asked"),
    built("T52", "Rules look at the path as given and at where it leads"),
    built("T53", "A folder that is swapped for a link between check and use is noticed"),
    built("T54", "State is private, and no temporary name can be guessed"),
    built("T55", "Nothing of an untrusted project acts; its deny rules do"),
    built("T56", "No file of the workspace moves the configuration elsewhere"),
    built("T57", "Protected names are protected before they exist"),
    built("T58", "A yes is for the content that was seen: another file under the name asks anew"),
    built("T59", "Protected names are compared without case and in one Unicode form"),
    built("T60", "No tool changes our own configuration or rules without a person"),
    built("T62", "A headless run takes no allow rule and no code from the project by itself"),
    built("T63", "Deny rules hold in every mode and under ask=yes"),
    built("T64", "Every command of a chain is judged, not the first"),
    built("T65", "Trust is given for a run, never read from a repository"),
    part(
        "T66",
        "A value that looks like an option is not taken for one",
        "values of links",
    ),
    built("T67", "Values of git's configuration are never put into a shell"),
    built("T68", "Programs are started with lists of arguments, never through a shell string"),
    built("T69", "Words are quoted by the standard library alone"),
    built("T72", "No view loads a remote image or hides where a link leads"),
    built("T73", "Invisible characters in results are visible to people"),
    built("T74", "A question shows all that would run, with nothing hidden in it"),
    built("T76", "Start-up files of interpreters and tools are protected"),
    built("T77", "A hostile repository runs nothing through git commands that only read"),
    built("T78", "What bash evaluates inside quotes is not taken for data"),
    built("T79", "Late, foreign, repeated and widened answers change nothing"),
    built("T81", "Equal questions of a message are one; a broad always needs a second step"),
)

SANDBOX = (
    built("E09.probe", "The sandbox is what was tried here, not what was hoped for"),
    built("E09.writes", "A sandboxed command writes only in the workspace and its own folder"),
    built("E09.reads", "A sandboxed command reads neither keys nor our state"),
    built("E09.network", "A sandboxed command has no network, over TCP, UDP or a socket file"),
    built("E09.lifted", "A yes to a question that names the network lifts that for its call"),
    built("E09.processes", "A sandboxed command neither signals nor looks into other processes"),
    built("E09.missing", "What the sandbox cannot do here is said, and what relied on it asks"),
    built("E09.required", "Where a sandbox is required and there is none, nothing runs"),
)
SECURITY = (*THREATS, *SANDBOX)
