from __future__ import annotations

import pytest

from shard_jupyter.errors import ToolFailed, ToolInputError
from shard_jupyter.types.render_descriptors import DiffDescriptor, StatusDescriptor
from tests.tool_rig import ToolRig, make_rig, text_of, tool_of

pytestmark = pytest.mark.proves("A05")


@pytest.fixture
def rig(tmp_path) -> ToolRig:
    return make_rig(tmp_path)


async def test_new_file_is_written_byte_for_byte_with_its_folders(rig):
    content = "a\tb\r\nnaïve\u2028\f\n"
    result = await rig.call("write", path="src/deep/a.py", content=content)
    assert (rig.cwd / "src/deep/a.py").read_bytes() == content.encode()
    assert text_of(result) == "Created src/deep/a.py (2 lines)."
    assert result.details == {"changed_paths": [str(rig.cwd / "src/deep/a.py")]}
    assert isinstance(result.render[0], DiffDescriptor)
    assert (result.render[0].added, result.render[0].removed) == (2, 0)


async def test_overwriting_says_what_was_there(rig):
    rig.write("a", "1\n2\n3\n").chmod(0o600)
    result = await rig.call("write", path="a", content="1\n")
    assert text_of(result) == "Overwrote a (1 line; before: 3 lines)."
    assert (rig.cwd / "a").stat().st_mode & 0o777 == 0o600


async def test_preview_shows_the_change_and_makes_none(rig):
    rig.write("a", "1\n2\n")
    tool = tool_of("write")
    (diff,) = await tool.preview(tool.parse({"path": "a", "content": "1\n3\n"}), rig.context)
    assert diff.hunks[0].lines == (" 1", "-2", "+3")
    assert (rig.cwd / "a").read_text(encoding="utf-8") == "1\n2\n"


async def test_replacing_a_binary_file_is_said_before_and_after(rig):
    rig.write("b", b"\0\1\2")
    tool = tool_of("write")
    warning, _ = await tool.preview({"path": "b", "content": "x"}, rig.context)
    assert warning == StatusDescriptor(label="replaces binary, 3 bytes with text", tone="warn")
    assert "before: binary, 3 bytes" in text_of(await rig.call("write", path="b", content="x"))


@pytest.mark.proves("H4d.44")
async def test_half_a_surrogate_pair_is_refused(rig):
    with pytest.raises(ToolInputError, match="half of a surrogate pair"):
        await rig.call("write", path="a", content="x\ud83d")
    assert list(rig.cwd.iterdir()) == []


@pytest.mark.parametrize(("path", "reason"), [(".", "is a folder"), ("a/b", "no folder")])
async def test_what_cannot_be_written_is_refused_in_words(path, reason, rig):
    rig.write("a", "x")
    with pytest.raises(ToolFailed, match=reason):
        await rig.call("write", path=path, content="x")


async def test_write_goes_through_a_link_to_its_target(rig):
    rig.write("real.txt", "old")
    (rig.cwd / "link.txt").symlink_to("real.txt")
    result = await rig.call("write", path="link.txt", content="new")
    assert (rig.cwd / "link.txt").is_symlink()
    assert (rig.cwd / "real.txt").read_text(encoding="utf-8") == "new"
    assert result.details["changed_paths"] == [str(rig.cwd / "real.txt")]
