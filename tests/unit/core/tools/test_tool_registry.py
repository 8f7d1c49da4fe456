from __future__ import annotations

import pytest

from shard_jupyter.contracts.mode import Mode
from shard_jupyter.core.tools import builtin_tools
from shard_jupyter.core.tools.tool_registry import ToolRegistry
from tests.unit.core.tools.test_tool_input import SampleTool

pytestmark = pytest.mark.proves("A04")


def names(registry: ToolRegistry, **mode) -> list[str]:
    offered = registry.offered(Mode(name="m", description="", **mode))
    return [tool.spec.name for tool in offered]


def test_everything_is_offered_in_a_fixed_order():
    registry = ToolRegistry(builtin_tools())
    assert names(registry) == ["read", "write", "edit", "bash", "grep", "find", "ls"]


def test_read_only_mode_offers_only_tools_that_change_nothing():
    assert names(ToolRegistry(builtin_tools()), read_only=True) == ["read", "grep", "find", "ls"]


def test_globs_choose_and_the_order_stays():
    registry = ToolRegistry(builtin_tools())
    assert names(registry, tools=("ls", "r*")) == ["read", "ls"]
    assert names(registry, tools=()) == []
    assert names(registry, tools=("write",), read_only=True) == []


def test_later_tool_of_the_same_name_replaces_and_is_reported():
    first, second = SampleTool(), SampleTool()
    registry = ToolRegistry((first, *builtin_tools()))
    assert registry.add(second) is first
    assert registry.find("sample") is second
    assert registry.names[0] == "sample"
    assert len(registry.names) == 8


def test_removed_tool_is_gone():
    registry = ToolRegistry([SampleTool()])
    assert registry.remove("sample") is not None
    assert registry.remove("sample") is None
    assert registry.find("sample") is None
    assert names(registry) == []
