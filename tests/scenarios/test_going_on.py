"""Another model in the middle, and a session that goes on as it was left."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import anyio
import pytest

from shard_jupyter import ApprovalAnswer, Shard
from shard_jupyter.contracts.mode import Mode
from shard_jupyter.errors import (
    AgentBusy,
    AgentClosed,
    NetworkForbidden,
    TurnFailed,
    UnknownModel,
    UsageError,
    UserError,
)
from shard_jupyter.testing.scripted_provider import ScriptedProvider, call, hang, say
from shard_jupyter.types.events import AgentEvent, ModelSwitched, Notice
from tests.fakes.model_server import MockModel

pytestmark = pytest.mark.proves("A13", "B11")
WRITE = call("write", path="a", content="x")


async def record(folder: Path, file: Path, *prompts: str, **options: Any) -> Path:
    """Leave a cassette that answers these prompts, each with a question that a person allows."""
    script = [step for _ in prompts for step in (WRITE, say("Done."))]
    async with Shard(
        cwd=folder,
        provider=ScriptedProvider(script),
        record=file,
        on_approval=lambda _: ApprovalAnswer(decision="allow"),
    ) as agent:
        for prompt in prompts:
            await agent.prompt(prompt)
    (folder / "a").unlink()
    return file


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def routes(mock_model: MockModel) -> dict[str, str]:
    """An environment in which `openai:` and `anthropic:` lead to a server of this machine."""
    return {
        **os.environ,
        "OPENAI_BASE_URL": f"{mock_model.url}/v1",
        "ANTHROPIC_BASE_URL": mock_model.url,
        "ANTHROPIC_API_KEY": "k" * 20,
        "OPENAI_API_KEY": "k" * 20,
    }


class TestSwitch:
    async def test_the_next_prompt_goes_to_the_other_model_and_it_is_told_once(
        self, work: Path, routes: dict[str, str]
    ) -> None:
        events: list[AgentEvent] = []
        provider = ScriptedProvider([say("one")])
        with anyio.fail_after(30):
            async with Shard(cwd=work, provider=provider, environ=routes) as agent:
                agent.subscribe(events.append)
                await agent.prompt("a")
                await agent.switch_model("openai:mock")
                await agent.switch_model("openai:mock")
                assert provider.closed
                assert (await agent.prompt("b")).outcome == "completed"
                await agent.switch_model("anthropic:mock")
                await agent.prompt("c")
                assert agent.model == "anthropic:mock"
        switches = [(e.old_model, e.new_model) for e in events if isinstance(e, ModelSwitched)]
        assert switches == [
            ("scripted:test", "openai:mock"),
            ("openai:mock", "anthropic:mock"),
        ]

    @pytest.mark.parametrize(
        ("model", "options", "error"),
        [
            ("nothing:x", {}, UnknownModel),
            ("", {}, UnknownModel),
            ("openai:gpt-5", {}, UserError),
            ("openai:gpt-5", {"overrides": {"network": "local"}}, NetworkForbidden),
            ("replay:none.jsonl", {}, UserError),
            ("replay:README", {}, UserError),
        ],
    )
    async def test_what_cannot_answer_is_refused_and_all_is_as_before(
        self,
        model: str,
        options: dict[str, Any],
        error: type[UserError],
        work: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.chdir(work)
        (work / "README").write_text("hello", encoding="utf-8")
        events: list[AgentEvent] = []
        provider = ScriptedProvider([say("ok")])
        with anyio.fail_after(20):
            async with Shard(cwd=work, provider=provider, **options) as agent:
                agent.subscribe(events.append)
                with pytest.raises(error) as caught:
                    await agent.switch_model(model)
                assert caught.value.next_step
                assert events == []
                assert (await agent.prompt("go")).text == "ok"

    async def test_under_a_budget_in_money_the_other_model_needs_a_price(
        self, work: Path, routes: dict[str, str]
    ) -> None:
        priced = {
            f"prices.{model}.{part}_usd_per_million": 1.0
            for model in ("scripted:test", "anthropic:mock")
            for part in ("input", "output")
        }
        provider = ScriptedProvider([say("ok")])
        with anyio.fail_after(20):
            async with Shard(
                cwd=work, provider=provider, environ=routes, budget="$1", overrides=priced
            ) as agent:
                with pytest.raises(UsageError, match="'openai:mock' has no price"):
                    await agent.switch_model("openai:mock")
                assert not provider.closed
                await agent.switch_model("anthropic:mock")
                assert (await agent.prompt("go")).outcome == "completed"

    async def test_not_while_a_turn_runs_nor_before_nor_after(
        self, work: Path, routes: dict[str, str]
    ) -> None:
        provider = ScriptedProvider([hang()])
        agent = Shard(cwd=work, provider=provider, environ=routes)
        with pytest.raises(AgentClosed):
            await agent.switch_model("openai:mock")
        with anyio.fail_after(20):
            async with agent, anyio.create_task_group() as group:
                group.start_soon(lambda: agent.prompt("go", check=False))
                await provider.wait_until_hanging()
                with pytest.raises(AgentBusy):
                    await agent.switch_model("openai:mock")
                await agent.interrupt()
            with pytest.raises(AgentClosed):
                await agent.switch_model("openai:mock")

    @pytest.mark.proves("E04")
    async def test_a_cassette_answers_questions_while_it_is_played_and_no_longer(
        self, work: Path, tmp_path: Path, routes: dict[str, str]
    ) -> None:
        file = await record(work, tmp_path / "run.jsonl", "go")
        life = tmp_path / "life.jsonl"
        with anyio.fail_after(20):
            async with Shard(cwd=work, model="openai:mock", environ=routes, record=life) as agent:
                await agent.switch_model(f"replay:{file}")
                with pytest.raises(UsageError, match="is the one that is played"):
                    await agent.prompt("go", record=file)
                assert (await agent.prompt("go")).text == "Done."
                await agent.switch_model("openai:mock")
                with pytest.raises(TurnFailed) as caught:
                    await agent.prompt('go @@call write {"path": "a", "content": "y"} @@')
        assert caught.value.code == "denied"
        assert (work / "a").read_text(encoding="utf-8") == "x"
        assert life.read_bytes().startswith(file.read_bytes())

    @pytest.mark.proves("E04")
    async def test_who_was_named_to_decide_still_does(self, work: Path, tmp_path: Path) -> None:
        file = await record(work, tmp_path / "run.jsonl", "go")
        with anyio.fail_after(20):
            async with Shard(cwd=work, provider=ScriptedProvider([]), ask="deny") as agent:
                await agent.switch_model(f"replay:{file}")
                assert len((await agent.prompt("go", check=False)).denials) == 1
            async with Shard(cwd=work, model=f"replay:{file}", ask="recorded") as agent:
                with pytest.raises(UsageError, match="plays none"):
                    await agent.switch_model("openai:mock")


class TestResume:
    async def session(self, work: Path, **options: Any) -> str:
        async with Shard(cwd=work, provider=ScriptedProvider([say("ok")]), **options) as agent:
            await agent.prompt("a")
            return agent.session_id

    async def reopen(self, work: Path, session: str, **options: Any) -> tuple[str, str, list[str]]:
        """Give mode, model and warnings."""
        told: list[str] = []
        agent = Shard(cwd=work, session=session, **options)
        agent.subscribe(
            lambda e: told.append(e.message) if isinstance(e, Notice) and e.tone != "info" else None
        )
        with anyio.fail_after(20):
            async with agent:
                return agent.mode, agent.model, told

    @pytest.mark.proves("A07")
    async def test_a_session_goes_on_in_the_mode_in_which_it_was_left(self, work: Path) -> None:
        with anyio.fail_after(30):
            session = await self.session(work)
            for mode in ("plan", "build", "plan"):
                given: dict[str, Any] = {"provider": ScriptedProvider([])}
                async with Shard(cwd=work, session=session, **given) as agent:
                    agent.set_mode(mode)
                assert await self.reopen(work, session, **given) == (mode, "scripted:test", [])
            # What is given for a run counts, and is what it goes on with.
            for options in ({"mode": "build"}, {"overrides": {"mode": "build"}}):
                async with Shard(cwd=work, session=session, **given) as agent:
                    agent.set_mode("plan")
                assert (await self.reopen(work, session, **given, **options))[0] == "build"
                assert (await self.reopen(work, session, **given))[0] == "build"

    @pytest.mark.proves("A07")
    async def test_a_session_that_was_begun_in_a_mode_stays_in_it(self, work: Path) -> None:
        with anyio.fail_after(30):
            session = await self.session(work, mode="plan")
            assert (await self.reopen(work, session, provider=ScriptedProvider([])))[0] == "plan"

    @pytest.mark.proves("A07")
    async def test_a_mode_that_is_gone_is_told_and_the_configured_one_holds(
        self, work: Path
    ) -> None:
        with anyio.fail_after(30):
            session = await self.session(work)
            provider = ScriptedProvider([])
            async with Shard(cwd=work, session=session, provider=provider) as agent:
                modes = agent.session.parts.modes.modes
                modes["gone"] = Mode(name="gone", description="of an extension")
                agent.set_mode("gone")
            mode, _, told = await self.reopen(work, session, provider=ScriptedProvider([]))
        assert mode == "build"
        assert told == [
            "The session was in mode 'gone', which does not exist any more. It goes on in 'build'."
        ]

    async def test_a_session_goes_on_with_the_model_that_was_used_last(
        self, work: Path, routes: dict[str, str]
    ) -> None:
        configured = {"environ": {**routes, "SHARD_MODEL": "openai:configured"}}
        with anyio.fail_after(30):
            async with Shard(cwd=work, model="openai:mock", environ=routes) as agent:
                await agent.prompt("a")
                session = agent.session_id
            assert (await self.reopen(work, session, **configured))[1:] == ("openai:mock", [])
            async with Shard(cwd=work, session=session, **configured) as agent:
                await agent.switch_model("anthropic:mock")
            assert (await self.reopen(work, session, **configured))[1] == "anthropic:mock"
            for given in ({"model": "openai:b"}, {"overrides": {"model": "openai:b"}}):
                assert (await self.reopen(work, session, **configured, **given))[1] == "openai:b"
            assert (await self.reopen(work, session, **configured))[1] == "anthropic:mock"

    async def test_a_model_that_cannot_be_used_any_more_gives_way_to_the_configured_one(
        self, work: Path, routes: dict[str, str]
    ) -> None:
        configured = {**routes, "SHARD_MODEL": "openai:mock"}
        with anyio.fail_after(30):
            session = await self.session(work)
            _, model, told = await self.reopen(work, session, environ=configured)
            assert model == "openai:mock"
            assert len(told) == 1
            assert "was used with 'scripted:test', which cannot be used now" in told[0]
            assert told[0].endswith("It goes on with 'openai:mock'.")
            with pytest.raises(UnknownModel, match="scripted:test"):
                await self.reopen(work, session, environ=routes)

    @pytest.mark.proves("E04")
    async def test_a_cassette_is_played_on_as_long_as_it_is_there(
        self, work: Path, tmp_path: Path, routes: dict[str, str]
    ) -> None:
        file = await record(work, tmp_path / "run.jsonl", "one", "two")
        configured = {**routes, "SHARD_MODEL": "openai:mock"}
        with anyio.fail_after(30):
            async with Shard(cwd=work, model=f"replay:{file}", environ=configured) as agent:
                await agent.prompt("one")
                session = agent.session_id
            async with Shard(cwd=work, session=session, environ=configured) as agent:
                assert agent.model == f"replay:{file}"
                result = await agent.prompt("two", check=False)
            assert result.text == "Done."
            file.unlink()
            _, model, told = await self.reopen(work, session, environ=configured)
        assert model == "openai:mock"
        assert "cannot be read" in told[0]

    async def test_a_session_that_does_not_exist_is_refused_as_before(self, work: Path) -> None:
        with anyio.fail_after(10), pytest.raises(UserError, match="There is no session"):
            await self.reopen(work, "session-0", provider=ScriptedProvider([]))


def test_the_log_tells_the_mode_only_where_it_was_chosen(work: Path) -> None:
    async def entries(**options: Any) -> list[str]:
        async with Shard(cwd=work, provider=ScriptedProvider([]), **options) as agent:
            session = agent.session_id
        log = anyio.Path(os.environ["SHARD_HOME"], "sessions", session, "session.jsonl")
        data = await log.read_bytes()
        return [json.loads(line)["type"] for line in data.split(b"\n") if line]

    assert anyio.run(entries) == ["session"]

    async def given() -> list[str]:
        return await entries(mode="plan")

    assert anyio.run(given) == ["session", "checkpoint"]
