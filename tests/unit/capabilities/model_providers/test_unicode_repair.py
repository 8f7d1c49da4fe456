"""Whatever comes in, what goes on can be encoded."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.capabilities.model_providers.unicode_repair import (
    PieceMender,
    mend_json,
    mend_text,
)

pytestmark = pytest.mark.proves("A13", "H4d.44")
ANY_TEXT = st.text(st.characters(exclude_categories=()) | st.sampled_from("\ud83d\ude42\ud800a"))


@given(ANY_TEXT)
def test_mended_text_encodes_and_keeps_all_that_is_sound(text: str) -> None:
    mended = mend_text(text)
    mended.encode()
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert mended == joined
    assert mend_text(mended) == mended


@given(st.text())
def test_sound_text_is_left_alone(text: str) -> None:
    assert mend_text(text) == text


@given(ANY_TEXT, st.lists(st.integers(0, 40)))
def test_pieces_add_up_to_the_mended_whole(text: str, cuts: list[int]) -> None:
    """All but a half at the very end, which is still waited for."""
    places = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    mender = PieceMender()
    shown = [mender.push(text[a:b]) for a, b in pairwise(places)]
    whole = mend_text(text)
    assert "".join(shown) in (whole, whole.removesuffix("\ufffd"))


def test_keys_and_nested_values_are_mended() -> None:
    assert mend_json({"a\ud83d": [("\ude42", 1, None, True)]}) == {
        "a\ufffd": [["\ufffd", 1, None, True]]
    }
