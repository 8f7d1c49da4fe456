from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.core.text.text_encoding import UTF8, TextEncoding, detect_encoding
from shard_jupyter.errors import ToolFailed

pytestmark = pytest.mark.proves("A05", "H4e.45")

BOMS = (
    codecs.BOM_UTF8,
    codecs.BOM_UTF16_LE,
    codecs.BOM_UTF16_BE,
    codecs.BOM_UTF32_LE,
    codecs.BOM_UTF32_BE,
)


@pytest.mark.parametrize(
    ("data", "codec", "guessed"),
    [
        (b"", "utf-8", False),
        (b"plain", "utf-8", False),
        ("naïve ☃".encode(), "utf-8", False),
        (codecs.BOM_UTF8 + b"x", "utf-8", False),
        (codecs.BOM_UTF16_LE + "x\n".encode("utf-16-le"), "utf-16-le", False),
        (codecs.BOM_UTF32_LE + "x\n".encode("utf-32-le"), "utf-32-le", False),
        (b"# -*- coding: latin-1 -*-\ns = 'menu\xe9'\n", "latin-1", False),
        (b"#!/usr/bin/python\n# vim: set fileencoding=cp1251 :\n\xef\xf0\n", "cp1251", False),
        (("これは日本語の文章です。\n" * 20).encode("shift_jis"), "cp932", True),
    ],
)  # fmt: skip
def test_encoding_is_found(data, codec, guessed):
    found = detect_encoding(data)
    assert found is not None
    assert (codecs.lookup(found.codec).name, found.is_guessed) == (
        codecs.lookup(codec).name,
        guessed,
    )


@pytest.mark.parametrize("data", [b"\x00\x01\x02", b"\x7fELF\x02\x01\x01\x00" + b"\x00" * 50])
def test_binary_is_no_text(data):
    assert detect_encoding(data) is None


def test_declared_encoding_that_does_not_read_the_file_is_only_a_claim():
    found = detect_encoding(b"# coding: ascii\n menu\xe9\n")
    assert found is not None
    assert found.is_guessed


@pytest.mark.parametrize("codec", ["rot13", "utf-7", "unicode_escape", "nonsense", "hex"])
def test_declared_codec_without_fixed_places_is_not_used(codec):
    found = detect_encoding(f"# coding: {codec}\n menu".encode() + b"\xe9\n")
    assert found is None or found.codec != codec


@given(st.binary(max_size=60))
def test_whatever_is_found_reads_the_file_and_writes_it_back(data):
    found = detect_encoding(data)
    if found is None:
        assert b"\0" in data or data.startswith(BOMS)
        return
    text = found.decode(data)
    if found.codec in ("utf-8", "latin-1"):
        assert found.bom + text.encode(found.codec) == data


def test_new_characters_are_refused_in_a_guessed_encoding():
    guess = TextEncoding("cp1252", is_guessed=True)
    assert guess.encode("ascii") == b"ascii"
    with pytest.raises(ToolFailed, match=r"only guessed \(cp1252\).*iconv"):
        guess.encode("é")


def test_character_that_the_encoding_lacks_is_named():
    with pytest.raises(ToolFailed, match="latin-1, which has no '☃'"):
        TextEncoding("latin-1").encode("a☃")


def test_plain_utf8_needs_no_mention():
    assert UTF8.is_plain
    assert not TextEncoding("utf-8", codecs.BOM_UTF8).is_plain
