from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shard_jupyter.core.text.text_encoding import UTF8, TextEncoding, detect_encoding
from shard_jupyter.core.tools.edit_plan import EditPlan, apply_plan, plan_edit, splice
from shard_jupyter.errors import ToolFailed

pytestmark = pytest.mark.proves("A05")


def edit(text: str, old: str, new: str, *, everywhere: bool = False) -> str:
    return apply_plan(text, plan_edit(text, old, new, everywhere=everywhere))


@pytest.mark.proves("H4e.50")
@pytest.mark.parametrize("new", [r"\1 $& \g<0> $1 %s {0} \n", "\\", "$$"])
def test_new_text_is_never_expanded(new):
    assert edit("a OLD b", "OLD", new) == f"a {new} b"
    assert edit("a\r\nOLD\r\n", "a\nOLD", new) == f"{new}\r\n"


def test_old_text_is_no_pattern():
    assert edit("a.b a+b", "a+b", "x") == "a.b x"
    assert edit("a.\r\nb*\r\n", ".\nb*", "x") == "ax\r\n"


def test_several_matches_are_refused_with_their_lines():
    with pytest.raises(ToolFailed, match=r"occurs 3 times, at lines 1, 2, 4\.") as caught:
        plan_edit("x\nx\ny\nx\n", "x", "z", everywhere=False)
    assert "set all" in str(caught.value)


def test_all_replaces_every_occurrence_left_to_right():
    assert edit("aaaa", "aa", "b", everywhere=True) == "bb"
    assert edit("x\r\ny\r\nx\r\ny\r\n", "x\ny", "z", everywhere=True) == "z\r\nz\r\n"


def test_line_feed_in_old_matches_either_line_end_and_new_takes_the_one_there():
    assert edit("a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz") == "x\r\ny\r\nz\r\nc\r\n"
    assert edit("a\nb\nc\n", "a\r\nb", "x\r\ny") == "x\ny\nc\n"
    assert edit("a\r\nb\nc\r\n", "b", "x\ny") == "a\r\nx\ny\nc\r\n"
    assert edit("a\nb\r\nlast", "last", "x\ny") == "a\nb\r\nx\r\ny"


def test_lines_that_an_edit_repeats_keep_their_own_line_ends():
    text = "one\r\ntwo\nthree\r\nfour\n"
    assert edit(text, "one\ntwo\nthree\nfour", "one\nTWO\nthree\nfour") == (
        "one\r\nTWO\nthree\r\nfour\n"
    )
    assert edit(text, "one\ntwo\nthree\nfour", "one\ntwo\nNEW\nthree\nfour") == (
        "one\r\ntwo\nNEW\nthree\r\nfour\n"
    )


class TestApproximate:
    pytestmark = pytest.mark.proves("H4e.49")

    def test_whitespace_and_quotes_may_differ_and_it_is_said(self):
        text = "def f():\n\tx  =  “one”\n\treturn x\n"
        plan = plan_edit(text, 'x = "one"\nreturn x', 'x = "two"\nreturn x', everywhere=False)
        assert plan.is_approximate
        assert apply_plan(text, plan) == 'def f():\n\tx = "two"\n\treturn x\n'

    def test_exact_match_is_not_called_approximate(self):
        assert not plan_edit("  a b c d e\n", "a b c d e", "x", everywhere=False).is_approximate

    def test_other_number_is_no_match(self):
        text = "alpha(1)\nbeta(2)\ngamma(3)\n" * 1
        with pytest.raises(ToolFailed, match=r"(?s)not in the file.*2: beta\(2\)"):
            plan_edit(text, "beta(9)", "beta(10)", everywhere=False)

    @pytest.mark.parametrize("old", ["beta(9)", "nothing like it"])
    def test_a_refusal_reads_as_whole_sentences(self, old: str):
        with pytest.raises(ToolFailed) as raised:
            plan_edit("alpha(1)\nbeta(2)\n", old, "x", everywhere=False)
        told = str(raised.value)
        assert told.endswith("Read the file and give it exactly.")
        assert ". ." not in told
        assert "\n\n" not in told

    def test_stale_block_does_not_swallow_the_file(self):
        body = "".join(f"    step_{n}(value)\n" for n in range(50))
        text = f"def run(value):\n{body}    return value\n"
        with pytest.raises(ToolFailed):
            plan_edit(
                text, "def run(value):\n    return value\n", "def run():\n    pass\n",
                everywhere=False,
            )  # fmt: skip

    def test_two_places_are_refused(self):
        text = "if  a_long_name:\n    go()\nif   a_long_name:\n    go()\n"
        with pytest.raises(ToolFailed, match="there 2 times, at lines 1, 3"):
            plan_edit(text, "if a_long_name:\ngo()", "x", everywhere=False)

    def test_short_text_is_never_matched_approximately(self):
        with pytest.raises(ToolFailed):
            plan_edit("a  =  1\n", "a = 1", "a = 2", everywhere=False)

    def test_kept_lines_stay_as_they_are_and_new_ones_get_the_indentation(self):
        text = "class A:\n\tdef f(self):\n\t\treturn  1   # odd blanks\n"
        old = "    def f(self):\n        return 1 # odd blanks\n"
        new = "    def f(self):\n        log()\n        return 1 # odd blanks\n"
        assert edit(text, old, new) == (
            "class A:\n\tdef f(self):\n\t\tlog()\n\t\treturn  1   # odd blanks\n"
        )

    def test_line_ends_of_the_place_are_kept(self):
        text = "head\r\nvalue   =   compute()\r\ntail\r\n"
        assert edit(text, "value = compute()", "value = 1\nother = 2") == (
            "head\r\nvalue = 1\r\nother = 2\r\ntail\r\n"
        )
        assert edit(text, "value = compute()\n", "other()\n") == "head\r\nother()\r\ntail\r\n"

    @given(
        st.lists(
            st.sampled_from(["alpha = 1", "beta  = 2", "\tgamma", "", "delta(3)"]), max_size=9
        ),
        st.lists(st.sampled_from(["alpha  =  1", "beta = 2", "gamma"]), min_size=1, max_size=3),
    )
    def test_span_is_never_longer_than_what_was_asked_for(self, lines, wanted):
        text = "".join(f"{line}\n" for line in lines)
        try:
            plan = plan_edit(text, "\n".join(wanted), "NEW", everywhere=False)
        except ToolFailed:
            return
        change = plan.replacements[0]
        assert text[change.start : change.end].count("\n") < len(wanted)


def test_edit_that_was_made_before_is_recognised():
    with pytest.raises(ToolFailed, match="the new text is, at line 2: perhaps"):
        plan_edit("a\nnew value\n", "old value", "new value", everywhere=False)


def test_nearest_lines_are_shown_with_their_numbers():
    text = "import os\n\ndef compute(alpha, beta):\n    return alpha\n"
    with pytest.raises(ToolFailed, match=r"(?s)3: def compute\(alpha, beta\):"):
        plan_edit(text, "def compute(alpha, gamma):", "x", everywhere=False)


@pytest.mark.proves("H4e.45", "H4e.47", "H4e.51")
@given(
    before=st.text(alphabet="aé\t\f\r\n ü€\u2028", max_size=20),
    after=st.text(alphabet="aé\t\f\r\n ü€\u2028", max_size=20),
    old=st.text(alphabet="xyz\n", min_size=1, max_size=6),
    new=st.text(alphabet="é\\1$&\n\tz", max_size=8),
    codec=st.sampled_from(["utf-8", "utf-16-le", "utf-32-be", "cp1252", "utf-8-bom"]),
)
def test_bytes_outside_the_match_stay_the_same(before, after, old, new, codec):
    encoding = (
        TextEncoding("utf-8", b"\xef\xbb\xbf") if codec == "utf-8-bom" else TextEncoding(codec)
    )
    try:
        head, middle, tail = (part.encode(encoding.codec) for part in (before, old, after))
    except UnicodeEncodeError:
        assume(False)
        return
    text = before + old + after
    data = encoding.bom + head + middle + tail
    try:
        plan = plan_edit(text, old, new, everywhere=False)
        changed = splice(data, text, encoding, plan)
    except ToolFailed:
        return
    if plan.is_approximate:
        return
    change = plan.replacements[0]
    start = len(encoding.bom) + len(text[: change.start].encode(encoding.codec))
    rest = text[change.end :].encode(encoding.codec)
    assert changed.startswith(data[:start])
    assert changed.endswith(rest)
    assert changed[start : len(changed) - len(rest)].decode(encoding.codec) == change.text
    assert changed == encoding.bom + apply_plan(text, plan).encode(encoding.codec)


@pytest.mark.proves("H4e.45")
@given(data=st.binary(max_size=80), old=st.binary(min_size=1, max_size=5))
def test_any_bytes_survive_an_edit_elsewhere(data, old):
    data = data + b"\nMARKER-LINE\n" + old
    encoding = detect_encoding(data)
    if encoding is None:
        return
    text = encoding.decode(data)
    if text.count("MARKER-LINE") != 1:
        return
    plan = plan_edit(text, "MARKER-LINE", "CHANGED", everywhere=False)
    try:
        changed = splice(data, text, encoding, plan)
    except ToolFailed:
        return
    wanted = "CHANGED".encode(encoding.codec)
    marker = "MARKER-LINE".encode(encoding.codec)
    assert changed == data.replace(marker, wanted, 1)


def test_place_that_is_not_certain_in_the_bytes_is_refused():
    # Two byte pairs of this codec mean the same character; it encodes to the other one.
    data = b"\x81\xca\xfa\x54 x"  # both are U+FFE2
    text = data.decode("cp932")
    assert text.encode("cp932") != data
    plan = plan_edit(text, "x", "y", everywhere=False)
    with pytest.raises(ToolFailed, match="cannot be edited safely as cp932"):
        splice(data, text, TextEncoding("cp932"), plan)


def test_ascii_letter_inside_a_double_byte_character_is_no_match():
    data = "乗A".encode("gbk")
    assert data[1:2].isascii() or data.count(b"A") >= 1
    text = data.decode("gbk")
    plan = plan_edit(text, "A", "B", everywhere=False)
    assert splice(data, text, TextEncoding("gbk"), plan) == "乗B".encode("gbk")


def test_character_that_was_there_may_stay_in_a_guessed_encoding():
    encoding = TextEncoding("cp1252", is_guessed=True)
    data = b"menu\xe9 = 1"
    text = encoding.decode(data)
    plan = plan_edit(text, "menué = 1", "menué = 2", everywhere=False)
    assert splice(data, text, encoding, plan) == b"menu\xe9 = 2"
    with pytest.raises(ToolFailed, match="only guessed"):
        splice(data, text, encoding, plan_edit(text, "1", "ü", everywhere=False))


def test_empty_plan_changes_nothing():
    assert splice(b"abc", "abc", UTF8, EditPlan(())) == b"abc"
