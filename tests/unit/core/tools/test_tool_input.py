from __future__ import annotations

import pytest
from inline_snapshot import snapshot
from pydantic import Field

from shard_jupyter.contracts.tool import Reach
from shard_jupyter.core.tools.tool_input import InputTool, ToolInput
from shard_jupyter.errors import ToolFailed, ToolInputError
from shard_jupyter.types.render_descriptors import StatusDescriptor
from shard_jupyter.types.tool_results import text_result

pytestmark = pytest.mark.proves("A04")


class SampleInput(ToolInput):
    path: str
    """where"""
    count: int = Field(default=3, ge=1)
    deep: bool = False


class SampleTool(InputTool[SampleInput]):
    name = "sample"
    description = "For the test."
    input_model = SampleInput

    def reach_of(self, call):
        return Reach(kind="read", paths=(call.path,))

    async def show(self, call, context):
        raise ToolFailed("cannot be shown")

    async def run(self, call, context):
        return text_result(f"{call.path}×{call.count}")


TOOL = SampleTool()


def test_schema_holds_what_a_model_needs_and_no_more():
    assert TOOL.spec.input_schema == snapshot(
        {
            "type": "object",
            "properties": {
                "path": {"description": "where", "type": "string"},
                "count": {"default": 3, "minimum": 1, "type": "integer"},
                "deep": {"type": "boolean"},
            },
            "required": ["path"],
        }
    )


def test_arguments_are_normalised():
    assert TOOL.parse({"path": "a", "count": "5", "deep": None}) == {"path": "a", "count": 5}
    assert TOOL.parse({"path": "a", "count": 3}) == {"path": "a"}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, snapshot("sample: 'path' is missing. It takes: path, count (optional), deep (optional).")),
        ({"path": "a", "cuont": 1}, snapshot("sample: There is no argument 'cuont'; perhaps 'count'. It takes: path, count (optional), deep (optional).")),
        ({"path": "a", "zzz": 1}, snapshot("sample: There is no argument 'zzz'. It takes: path, count (optional), deep (optional).")),
        ({"path": 5}, snapshot("sample: 'path': input should be a valid string, not 5. It takes: path, count (optional), deep (optional).")),
        ({"path": "a", "count": 0}, snapshot("sample: 'count': input should be greater than or equal to 1, not 0. It takes: path, count (optional), deep (optional).")),
        ({"path": "\ud83d"}, snapshot("sample: 'path' holds half of a surrogate pair, which is no text.")),
        ({"path": ["x" * 500]}, snapshot("sample: 'path': input should be a valid string, not ['xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…. It takes: path, count (optional), deep (optional).")),
    ],
)  # fmt: skip
def test_wrong_arguments_are_told_what_would_fit(arguments, text):
    with pytest.raises(ToolInputError) as caught:
        TOOL.parse(arguments)
    assert str(caught.value) == text
    str(caught.value).encode("utf-8")


async def test_preview_that_fails_is_a_warning_and_no_error():
    shown = await TOOL.preview({"path": "a"}, None)
    assert shown == (StatusDescriptor(label="cannot be shown", tone="warn"),)


async def test_parsed_arguments_reach_the_tool():
    result = await TOOL.execute(TOOL.parse({"path": "a"}), None)
    assert result.content[0].text == "a×3"
    assert TOOL.reach({"path": "a"}).paths == ("a",)
