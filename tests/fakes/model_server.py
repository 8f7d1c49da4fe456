"""The mock model server as a real process, and a turn loop just large enough to talk to it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio.to_thread
import httpx2
import pytest

from shard_jupyter.capabilities.model_providers.anthropic_messages import ANTHROPIC_FACTORY
from shard_jupyter.capabilities.model_providers.openai_chat import CHAT_FACTORY
from shard_jupyter.capabilities.model_providers.openai_responses import RESPONSES_FACTORY
from shard_jupyter.contracts.provider import (
    Answered,
    Failed,
    Provider,
    ProviderEvent,
    ProviderFailure,
    ProviderRequest,
    ProviderSettings,
)
from shard_jupyter.contracts.tool import ToolSpec
from shard_jupyter.contracts.tool_context import BlobStore
from shard_jupyter.types.content import TextBlock, ToolCallBlock, ToolResultBlock
from shard_jupyter.types.messages import Message, user_text

MODEL = "mock-1"
FACTORIES = {
    "chat": CHAT_FACTORY,
    "responses": RESPONSES_FACTORY,
    "anthropic": ANTHROPIC_FACTORY,
}
PATHS = {"chat": "/v1", "responses": "/v1", "anthropic": ""}
SPEC = ToolSpec(
    name="write",
    description="Write a file.",
    input_schema={
        "type": "object",
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["path"],
    },
)


@dataclass(frozen=True)
class MockModel:
    url: str

    async def get(self, path: str) -> Any:
        """Ask the server about itself; `/__hung` and `/__dropped` answer when it happens."""
        async with httpx2.AsyncClient(trust_env=False, verify=False, timeout=20) as client:
            return (await client.get(self.url + path)).json()

    def ask(self, path: str) -> Any:
        """As `get`, for tests without an event loop."""
        with urllib.request.urlopen(self.url + path, timeout=20) as answer:
            return json.loads(answer.read())

    def reset(self) -> None:
        with urllib.request.urlopen(self.url + "/__reset", data=b"{}", timeout=10):
            pass

    async def provider(
        self, protocol: str, blobs: BlobStore | None = None, **settings: Any
    ) -> Provider:
        settings.setdefault("timeout_seconds", 10.0)
        made = ProviderSettings(base_url=self.url + PATHS[protocol], **settings)
        return await anyio.to_thread.run_sync(FACTORIES[protocol].create, MODEL, made, blobs)


@contextmanager
def running_server() -> Iterator[MockModel]:
    """One real process on a free port of the loopback, killed at the end."""
    command = [sys.executable, str(Path(__file__).with_name("mock_model.py"))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={"PATH": os.defpath}) as process:
        assert process.stdout is not None
        try:
            yield MockModel(process.stdout.readline().decode().strip())
        finally:
            process.send_signal(signal.SIGKILL)


@pytest.fixture(scope="session")
def model_server() -> Iterator[MockModel]:
    with running_server() as server:
        yield server


@pytest.fixture
def mock_model(model_server: MockModel) -> MockModel:
    model_server.reset()
    return model_server


def request_of(prompt: str | Message, *more: Message) -> ProviderRequest:
    first = prompt if isinstance(prompt, Message) else user_text(prompt)
    return ProviderRequest(
        model=MODEL, system="You are a test.", messages=(first, *more), tools=(SPEC,)
    )


async def ask_once(provider: Provider, request: ProviderRequest) -> list[ProviderEvent]:
    async with aclosing(provider.stream(request)) as events:
        return [event async for event in events]


async def answer_of(provider: Provider, request: ProviderRequest) -> Answered:
    last = (await ask_once(provider, request))[-1]
    assert isinstance(last, Answered), last
    return last


async def failure_of(provider: Provider, request: ProviderRequest) -> ProviderFailure:
    last = (await ask_once(provider, request))[-1]
    assert isinstance(last, Failed), last
    return last.failure


@dataclass
class Conversation:
    """What a prompt came to."""

    messages: list[Message]
    runs: list[ToolCallBlock] = field(default_factory=list)
    """Calls that a harness would have run."""
    broken: list[ToolCallBlock] = field(default_factory=list)
    """Calls whose arguments could not be read."""
    answers: list[Answered] = field(default_factory=list)
    failures: list[ProviderFailure] = field(default_factory=list)
    deltas: list[ProviderEvent] = field(default_factory=list)

    @property
    def closing(self) -> str:
        return self.messages[-1].text


async def converse(provider: Provider, prompt: str, *, most_calls: int = 12) -> Conversation:
    """Ask, run calls, answer them, until the model has nothing more to do. Retries what may be."""
    talk = Conversation([user_text(prompt)])
    for _ in range(most_calls):
        *deltas, last = await ask_once(provider, request_of(*talk.messages))
        if isinstance(last, Failed):
            talk.failures.append(last.failure)
            assert last.failure.retryable, last.failure
            continue
        assert isinstance(last, Answered)
        talk.deltas.extend(deltas)
        talk.answers.append(last)
        talk.messages.append(last.message)
        if not last.message.tool_calls:
            return talk
        talk.messages.append(_run_all(talk, last.message))
    raise AssertionError(f"no end after {most_calls} calls: {talk.answers[-1:]} {talk.failures}")


def _run_all(talk: Conversation, message: Message) -> Message:
    results = []
    for call in message.tool_calls:
        (talk.broken if call.arguments_error else talk.runs).append(call)
        text = call.arguments_error or f"wrote {json.dumps(call.arguments)}"
        results.append(
            ToolResultBlock(
                call_id=call.call_id,
                name=call.name,
                content=(TextBlock(text=re.sub("[\ud800-\udfff]", "?", text)),),
                is_error=bool(call.arguments_error),
            )
        )
    return Message(role="tool", content=tuple(results))
