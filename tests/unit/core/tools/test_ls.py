from __future__ import annotations

import os

import pytest

from shard_jupyter.errors import ToolFailed
from shard_jupyter.types.render_descriptors import TreeDescriptor
from tests.tool_rig import ToolRig, make_rig, text_of

pytestmark = pytest.mark.proves("A05")


@pytest.fixture
def rig(tmp_path) -> ToolRig:
    return make_rig(tmp_path)


async def test_folders_come_first_and_files_show_their_size(rig):
    rig.write("b.txt", "x" * 1234)
    rig.write(".hidden", "")
    (rig.cwd / "z").mkdir()
    (rig.cwd / "link").symlink_to("/etc/passwd")
    os.mkfifo(rig.cwd / "pipe")
    result = await rig.call("ls")
    assert text_of(result).split("\n") == [
        "z/",
        ".hidden  0",
        "b.txt  1,234",
        "link  -> /etc/passwd",
        "pipe  (special)",
    ]
    assert isinstance(result.render[0], TreeDescriptor)
    assert result.render[0].root.children[0].label == "z/"


async def test_empty_folder_is_called_empty(rig):
    assert text_of(await rig.call("ls")) == "(empty folder)"


async def test_large_folder_is_bounded_and_says_so(rig):
    for n in range(700):
        rig.write(f"f{n:03}", "")
    text = text_of(await rig.call("ls"))
    assert text.count("\n") == 500
    assert text.endswith("[500 of 700 names shown: use find with a pattern]")


async def test_odd_names_are_shown_visibly_on_one_line(rig):
    (rig.cwd / "a\nb\u202e").mkdir()
    (rig.cwd / os.fsdecode(b"\xff")).mkdir()
    assert text_of(await rig.call("ls")).split("\n") == ["a\\nb\\u202e/", "\ufffd/"]


@pytest.mark.parametrize(
    ("path", "reason"), [("none", "does not exist"), ("f", "is a file. Use read")]
)
async def test_what_cannot_be_listed_is_refused_in_words(path, reason, rig):
    rig.write("f", "")
    with pytest.raises(ToolFailed, match=reason):
        await rig.call("ls", path=path)
