"""A search does not find what a rule forbids or asks for, wherever it begins (H4a.07)."""

from __future__ import annotations

from pathlib import Path

import pytest

from shard_jupyter.testing.scripted_provider import call
from shard_jupyter.types.decisions import Rule
from tests.agent_rig import AgentRig
from tests.scenarios.test_permission_flow import run

pytestmark = pytest.mark.proves("A06", "H4a.07", "T52")
MARK = "needle"


def make_files(folder: Path) -> Path:
    cwd = folder / "ws"
    for name in ("secrets/key.txt", "sub/deep/own.cfg", "sub/open.txt", "Über/key.txt"):
        path = cwd / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{MARK} {name}\n", encoding="utf-8")
    return cwd


async def search(folder: Path, rule: Rule, name: str, path: str) -> AgentRig:
    extra = {"grep": {"pattern": MARK}, "find": {"pattern": "*"}, "ls": {}}[name]
    step = call(name, path=path, **extra)
    return await run(folder, step, ask="rules", rules=[rule, Rule(effect="allow", tool="*")])


@pytest.mark.parametrize("effect", ["deny", "ask"])
@pytest.mark.parametrize("tool", ["grep", "find"])
@pytest.mark.parametrize(
    ("glob", "path", "hidden", "kept"),
    [
        ("secrets/**", ".", "secrets/key.txt", "sub/open.txt"),
        ("secrets/", ".", "secrets/key.txt", "sub/open.txt"),
        ("SECRETS/*", ".", "secrets/key.txt", "sub/open.txt"),
        ("**/*.cfg", "sub", "own.cfg", "sub/open.txt"),
        ("sub/deep/*", "sub", "own.cfg", "sub/open.txt"),
        ("u\u0308ber/**", ".", "ber/key.txt", "secrets/key.txt"),
        ("{cwd}/secrets/**", ".", "secrets/key.txt", "sub/open.txt"),
        ("link/deep/*", "link", "own.cfg", "link/open.txt"),
    ],
)
async def test_a_search_of_a_folder_above_leaves_out_what_a_rule_names(
    tmp_path: Path, effect: str, tool: str, glob: str, path: str, hidden: str, kept: str
) -> None:
    cwd = make_files(tmp_path)
    (cwd / "link").symlink_to("sub")
    rule = Rule(effect=effect, tool=tool, path=glob.replace("{cwd}", str(cwd)))
    [(status, text)] = (await search(tmp_path, rule, tool, path)).results()
    found = [line for line in text.split("\n") if not line.startswith("[")]
    assert status == "ok"
    assert any(kept in line for line in found)
    assert not any(hidden in line for line in found)
    assert "a rule leaves out" in text


@pytest.mark.parametrize("tool", ["grep", "find", "ls"])
@pytest.mark.parametrize("path", ["secrets", "./secrets", "sub/../secrets", "link"])
async def test_the_folder_itself_is_denied_by_each_of_its_names(
    tmp_path: Path, tool: str, path: str
) -> None:
    cwd = make_files(tmp_path)
    (cwd / "link").symlink_to("secrets")
    rule = Rule(effect="deny", tool="*", path="secrets/**")
    [(status, text)] = (await search(tmp_path, rule, tool, path)).results()
    assert (status, MARK in text) == ("denied", False)


async def test_a_rule_for_another_tool_leaves_nothing_out(tmp_path: Path) -> None:
    make_files(tmp_path)
    rule = Rule(effect="deny", tool="write", path="secrets/**")
    [(_, text)] = (await search(tmp_path, rule, "grep", ".")).results()
    assert "secrets/key.txt" in text
    assert "a rule leaves out" not in text


async def test_names_of_a_folder_are_shown_where_its_content_is_not(tmp_path: Path) -> None:
    make_files(tmp_path)
    rule = Rule(effect="deny", tool="*", path="secrets/**")
    [(status, text)] = (await search(tmp_path, rule, "ls", ".")).results()
    assert (status, "secrets/" in text) == ("ok", True)


@pytest.mark.parametrize("command", [f"grep -r {MARK} .", "cat */key.txt", "head -v s*/*"])
@pytest.mark.parametrize("ask", ["rules", "yes"])
async def test_no_command_that_is_known_to_read_finds_it_either(
    tmp_path: Path, command: str, ask: str
) -> None:
    make_files(tmp_path)
    rule = Rule(effect="deny", tool="bash", path="secrets/**")
    step = call("bash", command=command)
    rig = await run(tmp_path, step, ask=ask, rules=[rule])
    [(status, text)] = rig.results()
    assert (status, MARK in text) == ("denied", False)
    without = await run(tmp_path / "without", step, ask=ask)
    assert without.results()[0][0] != "denied"
