"""Lets a kernel answer a cell that holds half a surrogate pair.

ipykernel sends each cell back as its input and cannot encode such a character: it neither runs the
cell nor replies, and the notebook waits for ever. JSON has an escape for it, which is what the
notebook itself sent. All else is packed as before.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

Pack = Callable[[Any], bytes]


class SurrogatePacker:
    """Packs a message; where `usual` cannot encode it, with escapes."""

    def __init__(self, usual: Pack) -> None:
        self.usual = usual

    def __call__(self, content: Any) -> bytes:  # noqa: ANN401 - any message
        try:
            return self.usual(content)
        except UnicodeEncodeError:
            from jupyter_client.jsonutil import json_default  # noqa: PLC0415 - a kernel has it

            return json.dumps(content, default=json_default, allow_nan=False).encode("ascii")


def pack_surrogates(shell: InteractiveShell) -> None:
    """Change the session of a kernel; a shell without a kernel has none."""
    session = _session_of(shell)
    if session is not None and not isinstance(session.pack, SurrogatePacker):
        session.pack = SurrogatePacker(session.pack)


def unpack_surrogates(shell: InteractiveShell) -> None:
    session = _session_of(shell)
    if session is not None and isinstance(session.pack, SurrogatePacker):
        session.pack = session.pack.usual


def _session_of(shell: InteractiveShell) -> Any:  # noqa: ANN401 - a jupyter_client Session
    return getattr(getattr(shell, "kernel", None), "session", None)
