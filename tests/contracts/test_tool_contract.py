"""What every tool owes whoever calls it; run over all built-in ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from shard_jupyter.contracts.tool import Tool
from shard_jupyter.core.tools import builtin_tools
from shard_jupyter.errors import ToolInputError
from shard_jupyter.types.tool_results import ToolResult
from tests.child_watch import assert_no_new_child, children
from tests.tool_rig import ToolRig, make_rig, text_of

pytestmark = pytest.mark.proves("A04", "A05")

TOOLS = {tool.spec.name: tool for tool in builtin_tools()}
SAMPLES: dict[str, dict[str, Any]] = {
    "read": {"path": "src/a.py"},
    "write": {"path": "src/new.py", "content": "x = 1\n"},
    "edit": {"path": "src/a.py", "old": "value = 1", "new": "value = 2"},
    "bash": {"command": "cat src/a.py; seq 100000"},
    "grep": {"pattern": "value"},
    "find": {"pattern": "*.py"},
    "ls": {"path": "src"},
}
each_tool = pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)


@pytest.fixture
def rig(tmp_path) -> ToolRig:
    rig = make_rig(tmp_path, output_limit_bytes=16_384)
    rig.write("src/a.py", "value = 1\n" + "# filler value\n" * 5000)
    for n in range(30):
        rig.write(f"many/{n}.py", "value\n" * 20)
    return rig


def sample(tool: Tool) -> dict[str, Any]:
    return dict(tool.parse(SAMPLES[tool.spec.name]))


def state_of(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    return {
        str(path.relative_to(folder)): (
            path.lstat().st_mode,
            path.lstat().st_ino,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in sorted(folder.rglob("*"))
    }


def test_every_built_in_tool_has_a_sample_here():
    assert set(SAMPLES) == set(TOOLS)


def test_all_specs_together_leave_room_in_the_first_request():
    specs = [tool.spec.model_dump() for tool in TOOLS.values()]
    assert len(json.dumps(specs)) <= 3200


def test_bash_says_that_nothing_persists():
    assert "cwd, environment and functions do not persist between calls" in (
        TOOLS["bash"].spec.description
    )


@each_tool
def test_spec_is_stable_and_its_schema_is_one(tool):
    jsonschema = pytest.importorskip("jsonschema")
    schema = tool.spec.input_schema
    assert tool.spec == tool.spec
    assert schema["type"] == "object"
    assert "title" not in json.dumps(schema)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(SAMPLES[tool.spec.name], schema)


@each_tool
def test_wrong_arguments_are_refused_in_words(tool):
    good = SAMPLES[tool.spec.name]
    wrong: list[dict[str, Any]] = [{**good, "no_such_argument": 1}]
    for name in good:
        wrong.append({**good, name: {"not": "text"}})
        wrong.append({**good, name: 5})
        wrong.append({**good, name: "half \ud83d"})
    for name in tool.spec.input_schema.get("required", []):
        wrong.append({key: value for key, value in good.items() if key != name})
    for arguments in wrong:
        with pytest.raises(ToolInputError) as caught:
            tool.parse(arguments)
        assert tool.spec.name in str(caught.value)
        str(caught.value).encode("utf-8")


@each_tool
def test_parsing_twice_is_parsing_once(tool):
    once = tool.parse(SAMPLES[tool.spec.name])
    assert tool.parse(once) == once
    json.dumps(once)


@each_tool
def test_reach_says_where_the_call_goes(tool):
    reach = tool.reach(sample(tool))
    if tool.is_read_only:
        assert reach.kind in ("read", "none")
    else:
        assert reach.kind in ("write", "execute", "network")
    assert reach.summary
    assert "\n" not in reach.summary
    assert reach.paths or reach.command


@each_tool
async def test_preview_shows_something_and_changes_nothing(tool, rig):
    before = state_of(rig.cwd)
    shown = await tool.preview(sample(tool), rig.context)
    assert shown
    assert state_of(rig.cwd) == before


@each_tool
async def test_preview_of_an_impossible_call_raises_nothing(tool, rig):
    arguments = {**sample(tool), **({"path": "/nowhere/\0"} if "path" in sample(tool) else {})}
    assert await tool.preview(arguments, rig.context)


@each_tool
async def test_read_only_tool_changes_nothing(tool, rig):
    before = state_of(rig.cwd)
    await tool.execute(sample(tool), rig.context)
    assert (state_of(rig.cwd) == before) is (tool.is_read_only or tool.spec.name == "bash")


@each_tool
async def test_result_is_bounded_shown_and_plain_data(tool, rig):
    result = await tool.execute(sample(tool), rig.context)
    assert 0 < len(text_of(result).encode("utf-8")) <= rig.context.output_limit_bytes
    assert result.render
    assert ToolResult.model_validate_json(result.model_dump_json()) == result
    for path in result.details.get("changed_paths", []):
        assert Path(path).is_absolute()
        assert Path(path).exists()


@each_tool
async def test_cancellation_leaves_no_child_and_no_part_of_a_file(tool, rig):
    before = children()
    arguments = sample(tool)
    if tool.spec.name == "bash":
        arguments = {"command": "setsid sleep 60 & sleep 60"}
    complete = {b"", *(path.read_bytes() for path in (rig.cwd / "src").iterdir()), b"x = 1\n"}
    complete |= {data.replace(b"value = 1", b"value = 2") for data in complete}
    for milliseconds in (0, 1, 2, 4, 8, 16):
        with anyio.move_on_after(milliseconds / 1000):
            await tool.execute(arguments, rig.context)
        assert {path.read_bytes() for path in (rig.cwd / "src").iterdir()} <= complete
        if (rig.cwd / "src/a.py").read_bytes().startswith(b"value = 2"):
            rig.write("src/a.py", "value = 1\n" + "# filler value\n" * 5000)
    assert_no_new_child(before)


@each_tool
async def test_one_instance_serves_calls_at_the_same_time(tool, rig):
    results: list[ToolResult] = []

    async def one() -> None:
        results.append(await tool.execute(sample(tool), rig.context))

    if tool.spec.name == "edit":
        return
    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(one)
    assert len(results) == 4
    assert not any(result.is_error for result in results)
