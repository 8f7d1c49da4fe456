"""Keys of providers reach the provider, and nothing and nobody else."""

from __future__ import annotations

import os
import traceback
from pathlib import Path
from typing import Any

import anyio
import pytest

from shard_jupyter.contracts.provider import ProviderSettings
from shard_jupyter.errors import TurnFailed, UserError
from shard_jupyter.surfaces.sdk.shard import Shard
from shard_jupyter.testing.scripted_provider import ScriptedProvider, call, say
from tests.fakes.model_server import MockModel

pytestmark = pytest.mark.proves("B11", "A13", "A05")

KEYS = {
    "OPENAI_API_KEY": "key-of-openai-0123456789",
    "ANTHROPIC_API_KEY": "key-of-anthropic-0123456789",
    "CORP_GATEWAY": "key-of-the-gateway-0123456789",
    "GITHUB_TOKEN": "token-of-github-0123456789",
    "AWS_SESSION": "session-of-aws-0123456789",
}
MODELS = ["openai:mock", "openai-responses:mock", "anthropic:mock"]


def environ(url: str = "http://127.0.0.1:9") -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": os.environ["HOME"],
        "SHARD_HOME": os.environ["SHARD_HOME"],
        "OPENAI_BASE_URL": f"{url}/v1",
        "ANTHROPIC_BASE_URL": url,
        **KEYS,
    }


GATEWAY = {"providers.openai.api_key_env": "CORP_GATEWAY"}


def find_leaks(*texts: object) -> list[str]:
    joined = "\n".join(map(str, texts))
    return [name for name, value in KEYS.items() if value in joined]


def stored_bytes(*folders: Path) -> str:
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    assert files
    return "\n".join(file.read_bytes().decode("utf-8", "replace") for file in files)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("prompt", ["go @@shell env @@", "go @@status 401 @@"])
async def test_no_key_is_in_an_event_a_file_an_error_or_a_child(
    tmp_path: Path, mock_model: MockModel, model: str, prompt: str
) -> None:
    workspace = tmp_path / "ws"
    workspace.mkdir()
    seen: list[object] = []
    with anyio.fail_after(30):
        agent = Shard(
            cwd=workspace,
            model=model,
            ask="yes",
            record=tmp_path / "cassette.jsonl",
            environ=environ(mock_model.url),
            overrides=GATEWAY,
        )
        agent.subscribe(lambda event: seen.extend([event.model_dump_json(), repr(event)]))
        async with agent:
            try:
                result = await agent.prompt(prompt)
                seen.append(repr(result))
            except TurnFailed as error:
                seen.extend([repr(error), str(error), *traceback.format_exception(error)])
            seen.extend(everything_of(agent))
            agent_environment = agent.session.parts.environment
    state = stored_bytes(Path(os.environ["SHARD_HOME"]), tmp_path)
    assert find_leaks(*seen, state, agent_environment) == []
    if "401" in prompt:
        # The server had the key, and sent it back.
        assert "Incorrect API key provided: " in str(seen)
        assert "***" in str(seen)


def everything_of(agent: Shard) -> list[str]:
    """What a debugger, a log line or a traceback with locals would show."""
    plan = agent._plan
    assert plan is not None
    shown: list[Any] = [agent, agent._options, plan, plan.spec, plan.router, agent.session]
    parts = agent.session.parts
    shown += [parts, parts.provider, parts.environment]
    shown += [vars(plan.router)]
    return [repr(value) for value in shown]


def test_settings_of_a_provider_never_show_their_key() -> None:
    settings = ProviderSettings(base_url="http://x", api_key=KEYS["OPENAI_API_KEY"])
    shown = [repr(settings), str(settings), f"{settings}", f"{settings!r:>5}", repr([settings])]
    shown += [str(list(settings.__repr_args__())), repr({"openai": settings})]
    assert find_leaks(*shown) == []


async def test_an_error_while_opening_shows_no_key(tmp_path: Path) -> None:
    wrong: list[dict[str, Any]] = [
        {"model": "openai:x", "mode": "nothing"},
        {"model": "openai"},
        {"model": "anthropic:x", "overrides": {"providers.anthropic.timeout_seconds": "soon"}},
    ]
    for options in wrong:
        with pytest.raises(UserError) as caught:
            async with Shard(cwd=tmp_path, environ=environ(), **options):
                pass
        error = caught.value
        assert find_leaks(error, repr(error), *traceback.format_exception(error)) == []


async def test_a_variable_that_is_named_in_the_configuration_is_kept_from_children_too(
    tmp_path: Path,
) -> None:
    provider = ScriptedProvider([call("bash", command="env"), say("ok")])
    with anyio.fail_after(10):
        async with Shard(
            cwd=tmp_path, provider=provider, ask="yes", environ=environ(), overrides=GATEWAY
        ) as agent:
            await agent.prompt("go")
    told = provider.requests[1].messages[-1].content[0].content[0].text
    assert "PATH=" in told
    assert find_leaks(told) == []
