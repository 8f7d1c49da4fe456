"""Whatever stands in a descriptor, all three forms show it and obey none of it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shard_jupyter.surfaces.render_static.html import render_all_html, render_html
from shard_jupyter.surfaces.render_static.markdown import render_all_markdown, render_markdown
from shard_jupyter.surfaces.render_static.plain import render_all, render_plain
from shard_jupyter.types.render_descriptors import (
    RenderDescriptor,
    TextDescriptor,
    UsageDescriptor,
)
from tests.unit.surfaces.render_static.hostile import (
    PIECES,
    WHOLE,
    assert_visible,
    check_html,
    check_markdown,
    every_kind,
)

pytestmark = pytest.mark.proves("A08", "J3.38")

STRINGS = (*PIECES, *WHOLE, "`" * 300, "<" * 300, "\n" * 50, "")
soup = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
any_text = st.text(alphabet=st.characters(exclude_categories=()), max_size=40)


def check_every_form(descriptor: RenderDescriptor) -> None:
    assert_visible(render_plain(descriptor))
    check_html(render_html(descriptor))
    check_markdown(render_markdown(descriptor))


@pytest.mark.parametrize("evil", STRINGS, ids=range(len(STRINGS)))
def test_every_kind_is_harmless_in_every_form(evil: str) -> None:
    for descriptor in every_kind(evil):
        check_every_form(descriptor)


@settings(deadline=None)
@given(soup | any_text)
def test_no_mix_of_tricks_is_obeyed(evil: str) -> None:
    for descriptor in every_kind(evil):
        check_every_form(descriptor)


@settings(deadline=None)
@given(soup)
def test_descriptors_after_each_other_do_not_leak_into_the_next(evil: str) -> None:
    descriptors = [*every_kind(evil), TextDescriptor(text="the end")]
    assert_visible(render_all(descriptors))
    assert check_html(render_all_html(descriptors)).endswith("the end\n")
    assert "the end" in check_markdown(render_all_markdown(descriptors))


@pytest.mark.parametrize("hidden", "\u202e\x1b\u200b\ud83d\ufeff\x07\u2028")
def test_hidden_characters_are_shown_by_their_number(hidden: str) -> None:
    mark = f"⟨U+{ord(hidden):04X}⟩"
    for descriptor in every_kind(f"a{hidden}b"):
        if isinstance(descriptor, UsageDescriptor):
            continue
        assert mark in render_plain(descriptor)
        assert mark in check_html(render_html(descriptor))
        assert mark in check_markdown(render_markdown(descriptor))
