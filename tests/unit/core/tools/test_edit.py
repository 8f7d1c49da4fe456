from __future__ import annotations

import anyio
import pytest

from shard_jupyter.errors import ToolFailed, ToolInputError
from shard_jupyter.types.render_descriptors import DiffDescriptor, StatusDescriptor
from tests.tool_rig import ToolRig, make_rig, text_of, tool_of

pytestmark = pytest.mark.proves("A05")


@pytest.fixture
def rig(tmp_path) -> ToolRig:
    return make_rig(tmp_path)


async def edit_bytes(rig: ToolRig, data: bytes, old: str, new: str, **more) -> bytes:
    rig.write("f", data)
    await rig.call("edit", path="f", old=old, new=new, **more)
    return (rig.cwd / "f").read_bytes()


@pytest.mark.proves("H4e.45")
@pytest.mark.parametrize("rest", [b"menu\xe9", "乗数".encode("gbk"), b"\xff\xfe\x80", b"\xc3"])
async def test_ascii_edit_leaves_every_other_byte(rest, rig):
    data = b"first line\nsecond\n" + rest + b"\nlast\n"
    assert await edit_bytes(rig, data, "first", "FIRST") == data.replace(b"first", b"FIRST")


@pytest.mark.proves("H4e.45")
async def test_new_characters_into_a_guessed_encoding_are_refused(rig):
    with pytest.raises(ToolFailed, match="only guessed"):
        await edit_bytes(rig, b"menu\xe9\nsecond\n", "second", "zwölf")
    assert (rig.cwd / "f").read_bytes() == b"menu\xe9\nsecond\n"


@pytest.mark.proves("H4e.47")
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
async def test_bom_and_crlf_survive(bom, rig):
    data = bom + b"one\r\ntwo\r\n"
    assert await edit_bytes(rig, data, "one\ntwo", "one\nzwölf\ntwo") == (
        bom + "one\r\nzwölf\r\ntwo\r\n".encode()
    )


@pytest.mark.proves("H4e.47")
async def test_utf16_is_edited_as_utf16(rig):
    data = "\ufeffone\r\ntwo\r\n".encode("utf-16-le")
    assert await edit_bytes(rig, data, "two", "zwölf") == "\ufeffone\r\nzwölf\r\n".encode(
        "utf-16-le"
    )


@pytest.mark.proves("H4e.49")
async def test_approximate_match_is_announced_with_its_diff(rig):
    rig.write("f.py", "def go():\n    total   =  1 + 2\n")
    result = await rig.call("edit", path="f.py", old="total = 1 + 2", new="total = 3")
    text = text_of(result)
    assert "matched approximately" in text
    assert "-    total   =  1 + 2\n+    total = 3" in text
    assert isinstance(result.render[0], StatusDescriptor)
    assert (rig.cwd / "f.py").read_text(encoding="utf-8") == "def go():\n    total = 3\n"


@pytest.mark.proves("H4e.49")
async def test_stale_text_changes_nothing(rig):
    before = "alpha(1)\nbeta(2)\ngamma(3)\n"
    rig.write("f", before)
    with pytest.raises(ToolFailed, match=r"beta\(2\)"):
        await rig.call("edit", path="f", old="beta(9)", new="beta(10)")
    assert (rig.cwd / "f").read_text(encoding="utf-8") == before


@pytest.mark.proves("H4e.50")
async def test_new_text_is_put_in_as_it_is(rig):
    assert await edit_bytes(rig, b"a OLD b", "OLD", r"\1 $& \g<0>") == rb"a \1 $& \g<0> b"


@pytest.mark.proves("H4e.51")
async def test_tabs_of_a_makefile_stay_tabs(rig):
    data = b"all:\n\tcc -c a.c\n\tld a.o\n"
    assert await edit_bytes(rig, data, "cc -c a.c", "cc -O2 -c a.c") == (
        b"all:\n\tcc -O2 -c a.c\n\tld a.o\n"
    )


@pytest.mark.proves("H4e.51")
async def test_empty_old_text_is_refused(rig):
    rig.write("f", "abc")
    with pytest.raises(ToolInputError, match="'old': string should have at least 1 character"):
        await rig.call("edit", path="f", old="", new="x")
    with pytest.raises(ToolInputError, match="same text"):
        await rig.call("edit", path="f", old="x", new="x")


@pytest.mark.proves("H4e.53")
async def test_parallel_edits_of_one_file_are_all_made(rig):
    rig.write("f.txt", "".join(f"line {n}\n" for n in range(40))).chmod(0o640)
    (rig.cwd / "link.txt").symlink_to("f.txt")

    async def edit(n: int) -> None:
        path = "link.txt" if n % 2 else "f.txt"
        await rig.call("edit", path=path, old=f"line {n}\n", new=f"LINE {n} {'x' * n}\n")

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            for n in range(40):
                tasks.start_soon(edit, n)
    wanted = "".join(f"LINE {n} {'x' * n}\n" for n in range(40))
    assert (rig.cwd / "f.txt").read_text(encoding="utf-8") == wanted
    assert (rig.cwd / "f.txt").stat().st_mode & 0o777 == 0o640
    assert sorted(p.name for p in rig.cwd.iterdir()) == ["f.txt", "link.txt"]


@pytest.mark.proves("H4e.53")
async def test_cancelled_edit_leaves_the_old_file_or_the_new(rig):
    old, new = "a" * 2_000_000 + "END", "a" * 2_000_000 + "FIN"
    for delay in range(12):
        rig.write("f", old)
        with anyio.move_on_after(delay / 1000):
            await rig.call("edit", path="f", old="END", new="FIN")
        assert (rig.cwd / "f").read_text(encoding="utf-8") in (old, new)
        assert [p.name for p in rig.cwd.iterdir()] == ["f"]


async def test_several_matches_are_refused_and_all_takes_them(rig):
    rig.write("f", "x\ny\nx\n")
    with pytest.raises(ToolFailed, match="2 times, at lines 1, 3"):
        await rig.call("edit", path="f", old="x", new="z")
    result = await rig.call("edit", path="f", old="x", new="z", all=True)
    assert text_of(result) == "Edited f (2 places, first line 1)."
    assert (rig.cwd / "f").read_text(encoding="utf-8") == "z\ny\nz\n"


async def test_result_names_the_line_and_the_path(rig):
    rig.write("f", "a\nb\n")
    result = await rig.call("edit", path="f", old="b", new="c")
    assert text_of(result) == "Edited f (line 2)."
    assert result.details == {"changed_paths": [str(rig.cwd / "f")]}
    (diff,) = result.render
    assert isinstance(diff, DiffDescriptor)
    assert diff.hunks[0].lines == (" a", "-b", "+c")


async def test_preview_shows_the_change_or_why_there_is_none(rig):
    rig.write("f", "a\nb\n")
    tool = tool_of("edit")
    (diff,) = await tool.preview({"path": "f", "old": "b", "new": "c"}, rig.context)
    assert diff.hunks[0].lines == (" a", "-b", "+c")
    (status,) = await tool.preview({"path": "f", "old": "zzz", "new": "c"}, rig.context)
    assert status.tone == "warn"
    (status,) = await tool.preview({"path": "none", "old": "b", "new": "c"}, rig.context)
    assert status.label == "none does not exist."
    assert (rig.cwd / "f").read_text(encoding="utf-8") == "a\nb\n"


async def test_binary_file_is_refused(rig):
    rig.write("f", b"\0abc")
    with pytest.raises(ToolFailed, match=r"f is binary \(4 bytes\)"):
        await rig.call("edit", path="f", old="abc", new="x")
