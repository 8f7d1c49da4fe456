"""Ask a server who it is, with our key. Blocks; the answers are judged by pure functions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from pydantic_core import from_json

from shard_jupyter.capabilities.local_models.engines.engine import Dialect

_ASK_SECONDS = 5.0
_SIGN_OF_LIFE_SECONDS = 2.0
_ROUTES: Mapping[Dialect, str] = {
    "llama-server": "/props",
    "llama-cpp-python": "/v1/models",
}
_REFUSED = 401


@dataclass(frozen=True)
class ServerWord:
    """What the right server says of itself. `context_tokens` None: it does not say."""

    context_tokens: int | None
    supports_tools: bool | None
    chat_template: str


class StrangerError(Exception):
    """Who answers is not the server that was started. Its text says why."""


def ask_server(base_url: str, key: str, dialect: Dialect, model_path: Path) -> ServerWord | None:
    """Return what it says of itself, None while it does not answer yet.

    Raises:
        StrangerError: it does not know our key, takes any key, or serves another model.
    """
    import httpx2  # noqa: PLC0415 - costs start-up time; only a start of a server needs it

    url = base_url + _ROUTES[dialect]
    try:
        # Never through a proxy; and preparing TLS, which is not used, would take most of the time.
        with httpx2.Client(trust_env=False, verify=False, timeout=_ASK_SECONDS) as client:
            answer = client.get(url, headers={"Authorization": f"Bearer {key}"})
            if answer.status_code == 200:
                unasked = client.get(url, headers={"Authorization": "Bearer no"})
                if unasked.status_code != _REFUSED:
                    raise StrangerError("it answers without its key")
                return read_answer(answer.content, dialect, model_path)
    except httpx2.TransportError:
        return None
    if answer.status_code in (_REFUSED, 403, 404):
        raise StrangerError(f"it does not know the key it was given (HTTP {answer.status_code})")
    return None


def read_answer(body: bytes, dialect: Dialect, model_path: Path) -> ServerWord:
    """Judge the answer to the question who it is.

    Raises:
        StrangerError: it serves another model, or says nothing that can be read.
    """
    try:
        said: Any = from_json(body)
        if dialect == "llama-cpp-python":
            served, word = said["data"][0]["id"], ServerWord(None, None, "")
        else:
            served, word = said["model_path"], _read_props(said)
    except (ValueError, LookupError, TypeError) as error:
        raise StrangerError("it does not say which model it serves") from error
    if not _is_same_file(str(served), model_path):
        raise StrangerError("it serves another model")
    return word


def _read_props(said: dict[str, Any]) -> ServerWord:
    caps = said.get("chat_template_caps")
    tools = caps.get("supports_tools") if isinstance(caps, dict) else None
    template = said.get("chat_template")
    context = said["default_generation_settings"]["n_ctx"]
    return ServerWord(
        context_tokens=int(context),
        supports_tools=tools if isinstance(tools, bool) else None,
        chat_template=template if isinstance(template, str) else "",
    )


def _is_same_file(served: str, model_path: Path) -> bool:
    if served == str(model_path):
        return True
    try:
        return os.path.samefile(served, model_path)  # noqa: PTH121 - `served` may be no path at all
    except (OSError, ValueError):
        return False


def is_answering(base_url: str) -> bool:
    """Say whether anybody answers there; one that is only slow counts. The key is not sent."""
    import httpx2  # noqa: PLC0415 - loaded by the start of the server already

    try:
        with httpx2.Client(trust_env=False, verify=False, timeout=_SIGN_OF_LIFE_SECONDS) as client:
            client.get(base_url + "/health")
    except httpx2.TimeoutException:
        return True
    except httpx2.TransportError:
        return False
    return True


def is_listening(pid: int, port: int) -> bool | None:
    """Say whether process `pid` itself listens on `port`; None: the system does not tell."""
    try:
        found = psutil.Process(pid).net_connections("inet")
    except psutil.NoSuchProcess:
        return False
    except (psutil.Error, OSError):  # a system that hides what it has open
        return None
    return any(each.status == psutil.CONN_LISTEN and each.laddr.port == port for each in found)
