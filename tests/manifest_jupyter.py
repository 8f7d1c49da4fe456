"""Rows of the manifest that users of other notebook agents reported (J3.nn)."""

from __future__ import annotations

from tests.manifest import built, missing, part

KERNELS = (
    part(
        "J3.1",
        "An approval is answered while its cell runs",
        "by a click: widget and server extension; here by stdin",
    ),
    missing("J3.2", "Agents outlive the restart of a kernel"),
    built("J3.3", "An interrupt during a stream, a tool or a question ends the turn within 2 s"),
    built("J3.5", "Output of an agent never appears in another cell"),
    built("J3.6", "The transcript has what the log has"),
    built("J3.7", "A comment above the magic gets a hint that names it"),
    built("J3.8", "A prompt arrives byte for byte, whatever is in it"),
    built("J3.9", "A bare or empty magic, or a wrong option, is one clear line and a failed cell"),
    built("J3.10", "A failure of the model fails the cell"),
    built("J3.11", "A console without widgets gets text that reads well"),
    part(
        "J3.12", "Other cells and their outputs are left alone", "in JupyterLab with the extension"
    ),
    part("J3.13", "No fixed port: two of us at once both work", "two Jupyter servers"),
    built("J3.32", "A saved notebook has a readable transcript without a kernel"),
    built("J3.36", "A headless run never hangs and leaves nothing behind"),
    part("J3.38", "An export keeps the transcript, with no script and nothing remote", "PDF"),
    built("J3.39", "Strict nbval passes whatever the chunks, delays and hash seed"),
)
