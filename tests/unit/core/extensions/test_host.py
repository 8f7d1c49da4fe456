from __future__ import annotations

import anyio
import pytest

from shard_jupyter.contracts.extension_api import ExtensionApi, ExtensionIdentity
from shard_jupyter.contracts.mode import Mode
from shard_jupyter.core.extensions.host import ExtensionHost
from shard_jupyter.types.events import Notice

pytestmark = pytest.mark.proves("A17")


def identity(name: str) -> ExtensionIdentity:
    return ExtensionIdentity(name=name, source=f"test:{name}")


def mode(name: str, description: str = "") -> Mode:
    return Mode(name=name, description=description)


async def test_the_same_key_again_replaces_and_says_whose_it_was() -> None:
    host = ExtensionHost()
    await host.install(identity("one"), lambda api: api.register_mode(mode("m", "first")))
    await host.install(identity("two"), lambda api: api.register_mode(mode("m", "second")))
    snapshot = host.snapshot()
    assert snapshot.modes["m"].description == "second"
    kinds = [(d.kind, d.extension, d.replaced) for d in snapshot.diagnostics]
    assert kinds == [("registered", "one", None), ("replaced", "two", "one")]


async def test_registrations_after_an_await_keep_their_owner() -> None:
    host = ExtensionHost()
    gate = anyio.Event()

    async def slow(api: ExtensionApi) -> None:
        api.register_mode(mode("a"))
        await gate.wait()
        api.register_mode(mode("b"))

    async def quick(api: ExtensionApi) -> None:
        api.register_mode(mode("c"))
        gate.set()

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(host.install, identity("slow"), slow)
            group.start_soon(host.install, identity("quick"), quick)
    owners = {d.key: d.extension for d in host.diagnostics}
    assert owners == {"a": "slow", "c": "quick", "b": "slow"}


async def test_a_setup_that_raises_is_reported_and_the_others_stand() -> None:
    host = ExtensionHost()

    def broken(api: ExtensionApi) -> None:
        raise ValueError("no good")

    assert await host.install(identity("ok"), lambda api: api.register_mode(mode("m")))
    assert not await host.install(identity("bad"), broken)
    assert [e.name for e in host.extensions] == ["ok"]
    assert "no good" in host.diagnostics[-1].message
    assert list(host.snapshot().modes) == ["m"]


async def test_an_api_is_of_no_use_once_its_install_is_over() -> None:
    host, kept = ExtensionHost(), []
    await host.install(identity("x"), kept.append)
    with pytest.raises(RuntimeError, match="after its setup"):
        kept[0].register_mode(mode("late"))


async def test_disposers_run_backwards_and_one_that_raises_starves_nobody() -> None:
    host, order = ExtensionHost(), []

    def make(name: str, fail: bool = False):
        def dispose() -> None:
            order.append(name)
            if fail:
                raise OSError(name)

        return lambda api: dispose

    for name in "abc":
        await host.install(identity(name), make(name, fail=name == "b"))
    await host.aclose()
    assert order == ["c", "b", "a"]
    assert [d.kind for d in host.diagnostics] == ["disposer_failed"]


async def test_a_handler_that_raises_does_not_stop_the_others() -> None:
    host, got = ExtensionHost(), []

    def broken(event: object) -> None:
        raise KeyError("x")

    await host.install(identity("bad"), lambda api: api.on("notice", broken))
    await host.install(identity("good"), lambda api: api.on("*", got.append))
    host.handle_event(Notice(agent_id="a", code="c", message="m"))
    assert len(got) == 1
    assert host.diagnostics[-1].kind == "handler_failed"


async def test_a_handler_of_one_type_gets_only_that_type() -> None:
    host, got = ExtensionHost(), []
    await host.install(identity("x"), lambda api: api.on("turn_end", got.append))
    host.handle_event(Notice(agent_id="a", code="c", message="m"))
    assert got == []


async def test_a_setup_that_raises_leaves_nothing_of_what_it_had_registered() -> None:
    host, disposed = ExtensionHost(), []

    def good(api: ExtensionApi) -> object:
        api.register_mode(mode("m", "good"))
        return lambda: disposed.append("good")

    def broken(api: ExtensionApi) -> None:
        api.register_mode(mode("m", "broken"))
        api.register_mode(mode("other"))
        api.on("*", disposed.append)
        raise ValueError("half way")

    await host.install(identity("good"), good)
    assert not await host.install(identity("broken"), broken)
    assert {name: m.description for name, m in host.snapshot().modes.items()} == {"m": "good"}
    host.handle_event(Notice(agent_id="a", code="c", message="m"))
    await host.aclose()
    assert disposed == ["good"]
    assert [d.kind for d in host.diagnostics] == ["registered", "setup_failed"]


async def test_a_handler_that_raises_is_told_once_and_gets_no_more() -> None:
    host, calls = ExtensionHost(), []

    def broken(event: object) -> None:
        calls.append(event)
        raise KeyError("x")

    await host.install(identity("bad"), lambda api: api.on("*", broken))
    for _ in range(3):
        host.handle_event(Notice(agent_id="a", code="c", message="m"))
    assert len(calls) == 1
    assert [d.kind for d in host.diagnostics].count("handler_failed") == 1
