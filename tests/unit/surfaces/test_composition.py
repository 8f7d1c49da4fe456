"""Everything that is bundled came in through the one door."""

from __future__ import annotations

import pytest

from shard_jupyter.core.extensions.host import ExtensionHost
from shard_jupyter.surfaces.composition import BUNDLED, install_bundled

pytestmark = pytest.mark.proves("A17", "A04")


async def test_every_tool_mode_and_provider_enters_through_an_install() -> None:
    host = ExtensionHost()
    await install_bundled(host)
    snapshot = host.snapshot()
    assert [e.name for e in snapshot.extensions] == [name for name, _ in BUNDLED]
    assert set(snapshot.tools) == {"read", "write", "edit", "bash", "grep", "find", "ls"}
    assert set(snapshot.modes) == {"build", "plan"}
    assert set(snapshot.providers) == {
        "openai", "openai-responses", "anthropic", "local", "replay"
    }  # fmt: skip
    owners = {(d.seam, d.key): d.extension for d in snapshot.diagnostics}
    assert owners["tool", "bash"] == "tools"
    assert owners["provider", "openai"] == "model-providers"
    assert {d.kind for d in snapshot.diagnostics} == {"registered"}


async def test_installing_twice_replaces_and_says_so() -> None:
    host = ExtensionHost()
    await install_bundled(host)
    await install_bundled(host)
    kinds = [d.kind for d in host.diagnostics]
    assert kinds.count("registered") == kinds.count("replaced")
