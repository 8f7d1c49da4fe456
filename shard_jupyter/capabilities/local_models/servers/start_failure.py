"""Why a server did not come up, taken from the end of its log, and what to do. Pure."""

from __future__ import annotations

import re

from shard_jupyter.errors import UserError

CODE = "local_server"
_LONGEST = 300
_CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)
_STAMP = re.compile(r"^\d+\.\d\d\.\d\d\d\.\d\d\d [A-Z] ")
_TELLING = re.compile(
    r"error|fail|couldn't|cannot|insufficient|not within|invalid|unable|no such|out of memory"
    r"|not found|terminate called|exception",
    re.IGNORECASE,
)
_SAYS_LITTLE = re.compile(
    r"Traceback \(most recent|Failed to init server|exiting due to|failed to load model"
    r"|failed to create context|server\.Server\(|raise ValueError",
    re.IGNORECASE,
)
_MEMORY = re.compile(
    r"insufficient memory|out of memory|failed to allocate|bad_alloc|cannot allocate", re.IGNORECASE
)
_BROKEN_ENGINE = re.compile(
    r"shared librar|GLIBC|ImportError|ModuleNotFoundError|No module named|AttributeError"
    r"|error: unrecognized|invalid argument:",
    re.IGNORECASE,
)
_BROKEN_MODEL = re.compile(
    r"gguf|magic|file bounds|load model|loading model|Model path does not exist|tensor",
    re.IGNORECASE,
)
_ILLEGAL_INSTRUCTION = 128 + 4
_KILLED = 128 + 9


def explain_exit(title: str, exit_code: int, log: bytes, *, secret: str) -> UserError:
    """Make the error of a child that ended before it could serve."""
    reason = find_reason(log, secret=secret)
    told = f": {reason}" if reason else f" (exit code {exit_code}, and it said nothing)."
    return UserError(
        f"The server for {title} ended while it started{told}",
        code=CODE,
        next_step=_advise(exit_code, log.decode("utf-8", "replace")),
    )


def explain_silence(title: str, seconds: float, log: bytes, *, secret: str) -> UserError:
    """Make the error of a child that lives and does not serve."""
    last = _last_line(_lines(log, secret))
    told = f" Its last words: {last}" if last else ""
    return UserError(
        f"The server for {title} was not ready after {seconds:.0f} s.{told}",
        code=CODE,
        next_step="Try again when the machine is less busy, or use a smaller model.",
    )


def explain_stranger(title: str, what: str) -> UserError:
    """Make the error of a server that is up and is not the one that was started."""
    return UserError(
        f"The server for {title} cannot be trusted: {what}.",
        code=CODE,
        next_step="Try again. If it stays so, choose another engine (local_models.engine).",
    )


def find_reason(log: bytes, *, secret: str) -> str:
    """Return the line that says most, harmless to show; empty when there is none."""
    lines = _lines(log, secret)
    telling = [line for line in lines if _TELLING.search(line)]
    best = [line for line in telling if not _SAYS_LITTLE.search(line)]
    return _last_line(best or telling or lines)


def _lines(log: bytes, secret: str) -> list[str]:
    text = log.decode("utf-8", "replace")
    if secret:
        text = text.replace(secret, "…")
    shown = (_make_visible(_STAMP.sub("", line.strip())) for line in text.split("\n"))
    return [line for line in shown if line]


def _last_line(lines: list[str]) -> str:
    if not lines:
        return ""
    line = lines[-1]
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def _make_visible(text: str) -> str:
    return _CONTROL.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)


def _advise(exit_code: int, log: str) -> str:
    if exit_code == _KILLED or _MEMORY.search(log):
        return (
            "Close other programs, set a smaller context (local_models.context_tokens), or use a"
            " smaller model."
        )
    if exit_code == _ILLEGAL_INSTRUCTION or _BROKEN_ENGINE.search(log):
        return (
            "Install the engine again (pip install --force-reinstall 'shard-jupyter[local]'), or"
            " choose another (local_models.engine)."
        )
    if _BROKEN_MODEL.search(log):
        return "Fetch the model again (shard models pull), or choose another."
    return "Try again. If it stays so, choose another engine (local_models.engine)."
