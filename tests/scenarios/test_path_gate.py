"""One gate for every path, whatever tool it comes with, and for whatever belongs to us."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from shard_jupyter.contracts.permission_gate import GateRequest
from shard_jupyter.contracts.tool import Tool
from shard_jupyter.contracts.tool_context import ToolContext
from shard_jupyter.core.calls.tool_boundary import execute_call, read_call, show_call
from shard_jupyter.core.extensions.host import ExtensionHost
from shard_jupyter.core.files.path_guard import spell_as_on_disk
from shard_jupyter.errors import ModelVisibleError, ToolFailed, TurnFailed
from shard_jupyter.surfaces.composition import install_bundled
from shard_jupyter.surfaces.sdk.shard import Shard
from shard_jupyter.testing.scripted_provider import ScriptedProvider, call, say
from shard_jupyter.types.decisions import Rule
from shard_jupyter.types.tool_results import ToolResult, text_result
from tests.agent_rig import AgentRig, open_agent
from tests.faulty_tool import FaultyTool
from tests.tool_rig import make_rig

BROAD = (Rule(effect="allow", tool="*"), Rule(effect="allow", tool="*", path="**"))
NO_PATH = {
    ("bash", "command"), ("edit", "old"), ("edit", "new"), ("write", "content"),
    ("find", "pattern"), ("grep", "pattern"), ("grep", "glob"),
}  # fmt: skip
"""Texts among the arguments that name no file. A new argument belongs here, or it is a path."""
FILLING: dict[str, Any] = {"old": "x", "new": "y", "content": "x", "pattern": "x", "command": "ls"}


async def registered_tools() -> list[Tool]:
    host = ExtensionHost()
    await install_bundled(host)
    return list(host.snapshot().tools.values())


def text_arguments(tool: Tool) -> list[str]:
    properties = tool.spec.input_schema["properties"]
    return [name for name, field in properties.items() if field.get("type") in ("string", None)]


def arguments_with(tool: Tool, name: str, value: str) -> dict[str, Any]:
    needed = {
        key: FILLING[key] for key in tool.spec.input_schema.get("required", []) if key != name
    }
    return {**needed, name: value}


async def judge(rig: AgentRig, tool: Tool, arguments: dict[str, Any]) -> str:
    try:
        parsed, reach = read_call(tool, arguments)
        request = GateRequest(
            call_id="c", tool=tool.spec.name, arguments=dict(parsed), reach=reach,
            read_only=tool.is_read_only, cwd=rig.session.parts.cwd, mode="build",
        )  # fmt: skip
        decision = await anyio.to_thread.run_sync(rig.session.parts.gate.judge, request)
    except ModelVisibleError:
        return "refused"
    return decision.kind


async def judge_all(rig: AgentRig, paths: Sequence[str], *, op: str = "") -> dict[str, str]:
    """What was allowed, by tool and path; every tool that takes a path, or those that write."""
    allowed = {}
    for tool in await registered_tools():
        if op == "write" and tool.is_read_only:
            continue
        for name in text_arguments(tool):
            if (tool.spec.name, name) in NO_PATH:
                continue
            for path in paths:
                kind = await judge(rig, tool, arguments_with(tool, name, path))
                if kind == "allow":
                    allowed[f"{tool.spec.name} {path}"] = kind
    return allowed


@pytest.mark.proves("T34")
async def test_every_path_that_a_tool_takes_is_told_to_the_gate() -> None:
    seen = 0
    for tool in await registered_tools():
        for name in text_arguments(tool):
            if (tool.spec.name, name) in NO_PATH:
                continue
            arguments = arguments_with(tool, name, "../canary/x")
            assert "../canary/x" in tool.reach(tool.parse(arguments)).paths, (tool.spec.name, name)
            seen += 1
    assert seen >= 6


@pytest.mark.proves("T34", "T43")
@pytest.mark.parametrize("rules", [(), BROAD], ids=["no rules", "broad rules"])
async def test_no_tool_goes_outside_by_any_way_without_a_person(
    rules: Sequence[Rule], tmp_path: Path
) -> None:
    with anyio.fail_after(30):
        async with open_agent(tmp_path, rules=rules, ask="inline") as rig:
            (tmp_path / "ws-evil").mkdir()
            (tmp_path / "ws-evil" / "x").write_text("x", encoding="utf-8")
            (rig.cwd / "link").symlink_to("/etc/hostname")
            (rig.cwd / "folder").symlink_to("..")
            (rig.cwd / "dangling").symlink_to("../made-later")
            paths = (
                "..", "../ws-evil", "../ws-evil/x", str(tmp_path / "ws-evil"), "/etc/passwd", "/",
                "link", "folder", "folder/ws-evil/x", "dangling", "/proc/self/cwd", "~/x",
            )  # fmt: skip
            assert await judge_all(rig, paths) == {}
            assert await judge_all(rig, ("src", "a.py")) != {}


@pytest.mark.proves("T34", "T57")
@pytest.mark.parametrize("rules", [(), BROAD], ids=["no rules", "broad rules"])
async def test_no_tool_changes_a_protected_name_that_is_not_there_yet(
    rules: Sequence[Rule], tmp_path: Path
) -> None:
    paths = (".mcp.json", ".git/hooks/x", ".shard/rules/a.json", ".vscode/tasks.json", "a/AGENTS.md",
             ".Git/config", "kernel.json", "sitecustomize.py", ".env")  # fmt: skip
    with anyio.fail_after(30):
        async with open_agent(tmp_path, rules=rules, ask="inline") as rig:
            assert await judge_all(rig, paths, op="write") == {}


@pytest.mark.proves("T34", "T52", "T53")
async def test_no_tool_runs_where_its_path_leads_elsewhere_than_what_was_judged(
    tmp_path: Path,
) -> None:
    rig = make_rig(tmp_path)
    rig.write("real/f", "x")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "f").write_text("x", encoding="utf-8")
    (rig.cwd / "link").symlink_to("../out")
    tried = 0
    for tool in await registered_tools():
        for name in text_arguments(tool):
            if (tool.spec.name, name) in NO_PATH:
                continue
            parsed = tool.parse(arguments_with(tool, name, "link/f"))
            context = replace(rig.context, places={"link/f": str(rig.cwd / "real" / "f")})
            with pytest.raises(ToolFailed, match="leads elsewhere than what was allowed"):
                await execute_call(tool, parsed, context)
            tried += 1
    assert tried >= 6
    assert (tmp_path / "out" / "f").read_text(encoding="utf-8") == "x"


@pytest.mark.proves("T53", "H4a.08")
@pytest.mark.parametrize(("kind", "ask"), [("read", "deny"), ("write", "yes"), ("write", "inline")])
async def test_tool_is_told_where_the_gate_saw_its_path_lead(
    kind: str, ask: str, tmp_path: Path
) -> None:
    told: list[object] = []
    tool = FaultyTool(is_read_only=kind == "read", kind=kind)

    def run(context: ToolContext) -> ToolResult:
        told.append(context.places)
        return text_result("ran")

    tool.on_execute = run
    with anyio.fail_after(30):
        async with open_agent(
            tmp_path, call("odd", path="link"), say("ok"), tools=[tool], ask=ask
        ) as rig:
            rig.session.subscribe(
                lambda event: (
                    rig.session.answer_permission(event.request_id, "allow", by="person")
                    if event.type == "permission_request"
                    else None
                )
            )
            (rig.cwd / "link").symlink_to("target")
            await rig.session.prompt("go")
            assert told == [{"link": str(rig.cwd.resolve() / "target")}]


@pytest.mark.proves("T42")
async def test_workspace_is_what_it_was_when_the_agent_was_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, other = tmp_path / "ws", tmp_path / "ws-secret"
    for folder, word in ((real, "inside"), (other, "outside")):
        folder.mkdir()
        (folder / "f").write_text(word, encoding="utf-8")
    (tmp_path / "given").symlink_to(real)
    script = call("read", path="f"), call("bash", command="cd /; pwd"), call("bash", command="pwd")
    with anyio.fail_after(30):
        async with open_agent(tmp_path, *script, say("ok"), cwd=tmp_path / "given") as rig:
            (tmp_path / "given").unlink()
            (tmp_path / "given").symlink_to(other)
            monkeypatch.chdir(other)
            await rig.session.prompt("go")
            results = [text for _, text in rig.results()]
            assert results[0] == "inside"
            assert "/\n" in f"{results[1]}\n"
            assert str(real) in results[2]
            allowed = await judge_all(rig, (str(other / "f"), "../ws-secret/f", str(other)))
    assert allowed == {}
    assert not any(
        "cwd" in name for tool in await registered_tools() for name in text_arguments(tool)
    )


OWN = (
    "config/shard/config.json", "config/shard/settings.json", "state", "state/rules/granted.json",
    "state/rules/new/x.json", "state/sessions/s/session.jsonl", "state/usage.jsonl",
    "./state/../state/x", "to-state/x",
)  # fmt: skip


@pytest.mark.proves("T60")
@pytest.mark.parametrize("rules", [(), BROAD], ids=["no rules", "broad rules"])
async def test_workspace_that_holds_our_own_folders_gives_them_to_no_tool(
    rules: Sequence[Rule], clean_home: Path, tmp_path: Path
) -> None:
    (clean_home / "state").mkdir(exist_ok=True)
    (clean_home / "to-state").symlink_to("state")
    with anyio.fail_after(30):
        async with open_agent(tmp_path, cwd=clean_home, rules=rules, ask="inline") as rig:
            assert await judge_all(rig, OWN) == {}
            assert await judge_all(rig, ("stateless/x", "config/other.json", "state.txt")) != {}


@pytest.mark.proves("T60")
async def test_own_folders_of_another_environment_are_known_too(tmp_path: Path) -> None:
    ws = tmp_path / "ws"
    environ = {"HOME": str(ws), "SHARD_HOME": str(ws / "kept"), "PATH": os.environ["PATH"]}
    (ws / "kept").mkdir(parents=True, mode=0o700)
    script = [call("read", path="kept/usage.jsonl"), call("write", path="kept/rules/x.json", content="[]"),
              call("write", path=".config/shard/config.json", content="{}"), say("ok")]  # fmt: skip
    rules = [{"effect": "allow", "tool": "*"}]
    with anyio.fail_after(30):
        async with Shard(
            cwd=ws, environ=environ, provider=ScriptedProvider(script), ask="rules",
            overrides={"permissions.rules": rules},
        ) as agent:  # fmt: skip
            statuses: list[str] = []
            agent.subscribe(
                lambda event: statuses.append(event.status) if event.type == "tool_result" else None
            )
            with pytest.raises(TurnFailed, match="denied"):
                await agent.prompt("go")
    assert statuses == ["denied"] * 3
    assert not (ws / "kept" / "rules").exists()
    assert not (ws / ".config").exists()


@pytest.mark.proves("A05", "A06")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("write", {"path": ".env", "content": "NEW=1\n"}),
        ("edit", {"path": ".env", "old": "PUBLIC=1", "new": "PUBLIC=2"}),
    ],
)
async def test_views_of_a_changed_secret_do_not_show_the_rest_of_it(
    name: str, arguments: dict[str, str], tmp_path: Path
) -> None:
    rig = make_rig(tmp_path)
    rig.write(".env", "KEY=hunter2-hunter2\nPUBLIC=1\nOTHER=hunter3-hunter3\n")
    tool = next(tool for tool in await registered_tools() if tool.spec.name == name)
    before = await show_call(tool, tool.parse(arguments), rig.context)
    result = await execute_call(tool, tool.parse(arguments), rig.context)
    assert "not shown" in str(before)
    assert "hunter" not in f"{before}{result}"
    assert next(iter(arguments.values())) in str(before)


MOUNT = """
mkdir -p .git "GIT~1" && mount --bind .git "GIT~1" && exec "$0" -c '
from pathlib import Path
from shard_jupyter.core.files.path_guard import locate
place = locate(Path.cwd(), "GIT~1/hooks/x")
print(place.protected, place.why)
'
"""


@pytest.mark.proves("T59")
@pytest.mark.skipif(sys.platform != "linux", reason="two names of a folder by a mount")
def test_other_name_of_a_protected_folder_on_the_same_disk_is_protected(tmp_path: Path) -> None:
    command = ["unshare", "--mount", "--map-root-user", "--user", "sh", "-c", MOUNT, sys.executable]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        command, cwd=tmp_path.resolve(), env=environment, capture_output=True, text=True,
        encoding="utf-8", check=False, timeout=30,
    )  # fmt: skip
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip(f"no mount here: {done.stderr.strip()[:80]}")
    assert done.stdout.startswith("True .git is run or obeyed"), done.stderr


@pytest.mark.proves("T59")
def test_name_on_the_disk_is_left_alone_where_it_is_the_one_given(tmp_path: Path) -> None:
    (tmp_path / "a~1").mkdir()
    (tmp_path / "a~1" / "é").write_text("", encoding="utf-8")
    assert spell_as_on_disk(tmp_path, ("a~1", "é")) == ("a~1", "é")
    assert spell_as_on_disk(tmp_path, ("b~1", "ü")) == ("b~1", "ü")
