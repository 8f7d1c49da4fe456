from __future__ import annotations

import codecs
import os

import pytest

from shard_jupyter.errors import ToolFailed
from shard_jupyter.types.content import ImageBlock
from shard_jupyter.types.render_descriptors import KvDescriptor, KvPair, TextDescriptor
from tests.tool_rig import ToolRig, make_rig, text_of, tool_of

pytestmark = pytest.mark.proves("A05")

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 40


@pytest.fixture
def rig(tmp_path) -> ToolRig:
    return make_rig(tmp_path)


async def test_short_file_is_shown_as_it_is(rig):
    rig.write("a.py", "x = 1\ny = 2\n")
    result = await rig.call("read", path="a.py")
    assert text_of(result) == "x = 1\ny = 2"
    assert result.render[1] == TextDescriptor(text="x = 1\ny = 2", language="py")


async def test_part_of_a_file_says_how_to_go_on(rig):
    rig.write("n.txt", "".join(f"{n}\n" for n in range(1, 101)))
    text = text_of(await rig.call("read", path="n.txt", offset=10, limit=2))
    assert text == "10\n11\n[lines 10-11 of 100; continue with offset=12]"
    assert (
        text_of(await rig.call("read", path="n.txt", offset=99)) == "99\n100\n[lines 99-100 of 100]"
    )


async def test_long_file_is_bounded_in_lines_and_bytes(rig):
    rig.write("n.txt", "x\n" * 5000)
    text = text_of(await rig.call("read", path="n.txt"))
    assert text.endswith("[lines 1-2000 of 5000; continue with offset=2001]")
    rig.write("wide.txt", ("y" * 1000 + "\n") * 100)
    text = text_of(await rig.call("read", path="wide.txt"))
    assert len(text) <= rig.context.output_limit_bytes
    assert "of 100; continue with offset=" in text


async def test_following_the_offsets_gives_every_line_once(rig):
    lines = [f"{n} {'z' * (n * 37 % 900)}" for n in range(1, 400)]
    rig.write("f.txt", "\n".join(lines))
    seen: list[str] = []
    offset = 1
    while True:
        *shown, note = text_of(await rig.call("read", path="f.txt", offset=offset)).split("\n")
        seen += shown
        if "continue with offset=" not in note:
            break
        offset = int(note.rpartition("=")[2].rstrip("]"))
    assert seen == lines


@pytest.mark.proves("H4e.54")
async def test_line_numbers_are_the_same_for_read_grep_and_edit(rig):
    rig.write("odd.txt", "one\ftwo\x85\n\x1c\u2028\nneedle\nend\n")
    grep = text_of(await rig.call("grep", pattern="needle"))
    assert grep == "odd.txt:3:needle"
    assert text_of(await rig.call("read", path="odd.txt", offset=3, limit=1)).startswith("needle\n")
    assert "(line 3)" in text_of(await rig.call("edit", path="odd.txt", old="needle", new="x"))


@pytest.mark.proves("H4e.55")
async def test_file_of_one_long_line_does_not_flood(rig):
    rig.write("min.json", "[" + "1," * 1_500_000 + "1]")
    text = text_of(await rig.call("read", path="min.json"))
    assert len(text) < 3000
    assert "characters cut]" in text
    assert "find a part of one with grep" in text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (codecs.BOM_UTF8 + b"a\r\nb\r\n", "a\nb\n[encoding utf-8 with BOM. line ends are CRLF]"),
        ("hé\n".encode("utf-16"), "hé\n[encoding utf-16-le with BOM]"),
        (b"# coding: latin-1\nmenu\xe9\n", "# coding: latin-1\nmenué\n[encoding latin-1]"),
    ],
)
async def test_encoding_and_line_ends_are_told_where_they_matter(data, text, rig):
    rig.write("f", data)
    assert text_of(await rig.call("read", path="f")) == text


async def test_guessed_encoding_is_called_guessed(rig):
    rig.write("f", b"menu\xe9 na\xefve d\xe9j\xe0 vu\n" * 5)
    assert "[encoding guessed to be " in text_of(await rig.call("read", path="f"))


async def test_empty_file_is_called_empty(rig):
    rig.write("e", "")
    assert text_of(await rig.call("read", path="e")) == "(empty file)"


async def test_blank_lines_are_lines(rig):
    rig.write("b", "\n\n")
    assert text_of(await rig.call("read", path="b")) == "\n"


async def test_image_goes_to_the_model_as_an_image(rig):
    rig.write("p.png", PNG)
    label, block = (await rig.call("read", path="p.png")).content
    assert label.text == "p.png: image/png, 48 bytes"
    assert isinstance(block, ImageBlock)
    assert await rig.context.blobs.get(block.sha256) == PNG


@pytest.mark.parametrize(
    ("start", "media"),
    [
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF0000WEBPVP8 ", "image/webp"),
    ],
)
async def test_images_are_known_by_their_first_bytes(start, media, rig):
    rig.write("misnamed.txt", start + b"\0\0\0")
    assert (await rig.call("read", path="misnamed.txt")).content[1].media_type == media


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("none", "none does not exist"),
        ("folder", "folder is a folder. Use ls"),
        ("data.bin", "binary file of 9 bytes"),
        ("pipe", "a pipe"),
        ("short", "short has 1 line; there is no line 7"),
        ("/dev/zero", "a device"),
    ],
)
async def test_what_cannot_be_read_is_refused_in_words(path, reason, rig):
    (rig.cwd / "folder").mkdir()
    rig.write("data.bin", b"ab\0\1\2\3\4\5\6")
    rig.write("short", "x\n")
    os.mkfifo(rig.cwd / "pipe")
    with pytest.raises(ToolFailed, match=reason):
        await rig.call("read", path=path, offset=7 if path == "short" else 1)


async def test_file_larger_than_memory_should_be_is_read_in_part(rig):
    line = b"0123456789" * 10 + b"\n"
    rig.write("big.log", line * 200_000)
    text = text_of(await rig.call("read", path="big.log", offset=150_000, limit=1))
    assert text.startswith("0123456789")
    assert text.endswith("[lines 150000-150000; continue with offset=150001]")
    text = text_of(await rig.call("read", path="big.log", offset=200_000))
    assert text.endswith("[lines 200000-200000 of 200000]")
    with pytest.raises(ToolFailed, match="200,000 lines; there is no line 200001"):
        await rig.call("read", path="big.log", offset=200_001)


async def test_surrogates_and_zero_bytes_never_reach_the_model(rig):
    rig.write("f", b"ok " + b"x" * 9000 + b"\0 \xed\xa0\x80 end")
    text_of(await rig.call("read", path="f")).encode("utf-8")


async def test_preview_and_reach_name_the_file(rig):
    tool = tool_of("read")
    arguments = tool.parse({"path": "a\n.py", "offset": 5, "limit": 10})
    assert await tool.preview(arguments, rig.context) == (
        KvDescriptor(pairs=(KvPair(k="path", v="a\\n.py"), KvPair(k="lines", v="5 to 14"))),
    )
    reach = tool.reach(arguments)
    assert (reach.kind, reach.paths, reach.summary) == ("read", ("a\n.py",), "read a\\n.py")
