from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.errors import StorageError
from shard_jupyter.store import entry_codec
from shard_jupyter.store.entry_codec import decode_line, encode_entry, entry_id, entry_parent
from shard_jupyter.types.content import TextBlock
from shard_jupyter.types.session_entries import CheckpointEntry, MessageEntry, ToolResultEntry
from shard_jupyter.types.wire_model import Unknown
from tests.entry_builders import NOON, result, user

pytestmark = pytest.mark.proves("A11")

any_text = st.text(st.characters() | st.sampled_from("\ud800\udfff\ud83d\u2028\n\r\0"), max_size=20)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.proves("H4b.25")
@given(text=any_text, details=st.dictionaries(any_text, plain, max_size=4))
def test_any_entry_is_one_line_and_comes_back(text: str, details: dict[str, Any]) -> None:
    entry = result("e1", None, "call-1", text).model_copy(update={"details": details})
    line, stored = encode_entry(entry)
    assert b"\n" not in line
    assert b"\0" not in line
    assert decode_line(line).entry == stored


@pytest.mark.proves("H4b.25")
@pytest.mark.parametrize(
    "separator", ["\u2028", "\u2029", "\x85", "\f", "\v", "\x1c", "\r", "\r\n"]
)
def test_characters_that_others_take_for_line_ends_stay_inside(separator: str) -> None:
    line, stored = encode_entry(user("e1", None, f"one{separator}two"))
    assert stored == user("e1", None, f"one{separator}two")
    assert decode_line(line).entry == stored


@pytest.mark.proves("H4d.44")
@pytest.mark.parametrize("place", ["text", "value", "key", "raw"])
def test_half_characters_are_replaced_and_never_break_the_writer(place: str) -> None:
    entry: Any = {
        "text": user("e1", None, "cut \ud83d"),
        "value": result("e1", None, "c").model_copy(update={"details": {"k": ["\udc00"]}}),
        "key": result("e1", None, "c").model_copy(update={"details": {"\ud800": 1}}),
        "raw": Unknown(tag="new", raw={"type": "new", "id": "e1", "x": "\ud800"}),
    }[place]
    line, stored = encode_entry(entry)
    assert "\ufffd" in line.decode("utf-8")
    assert decode_line(line).entry == stored
    assert type(stored) is type(entry)


@pytest.mark.proves("H4d.44")
def test_an_escaped_half_character_does_not_cost_the_entry() -> None:
    line, _ = encode_entry(user("e1", None, "HALF"))
    decoded = decode_line(line.replace(b"HALF", b"\\ud83d"))
    assert decoded.kind == "half_characters"
    assert decoded.entry == user("e1", None, "\ufffd")


def test_an_entry_of_a_newer_version_is_kept_with_every_field() -> None:
    line = b'{"id":"e9","parentId":"e8","type":"hologram","depth":{"x":[1,2]}}'
    decoded = decode_line(line)
    assert isinstance(decoded.entry, Unknown)
    assert decoded.kind is None
    assert (entry_id(decoded.entry), entry_parent(decoded.entry)) == ("e9", "e8")
    assert encode_entry(decoded.entry)[0] == line


def test_unknown_fields_of_a_known_entry_are_written_again() -> None:
    line, _ = encode_entry(user("e1", None))
    newer = line[:-1] + b',"mood":"calm"}'
    decoded = decode_line(newer)
    assert isinstance(decoded.entry, MessageEntry)
    assert encode_entry(decoded.entry)[0] == newer


def test_an_object_that_does_not_fit_its_type_is_kept_raw_and_reported() -> None:
    decoded = decode_line(b'{"id":"e1","type":"message","role":"narrator"}')
    assert isinstance(decoded.entry, Unknown)
    assert decoded.kind == "unfit_entry"
    assert "message" in decoded.reason


@pytest.mark.parametrize(
    "line",
    [b"", b"\0" * 300, b"[]", b"null", b"{}", b'{"id":1}', b'{"id":""}', b'{"id":"a"', b"\xff\xfe"]
    + [b'{"id":"\xc3"}', b'{"id":"a"}{"id":"b"}', b"[" * 5000, b'{"id":"\\u' + b"[" * 5000],
)
def test_what_holds_no_entry_is_damage_and_no_exception(line: bytes) -> None:
    decoded = decode_line(line)
    assert decoded.entry is None
    assert decoded.kind == "damaged_line"
    assert decoded.reason


@given(st.binary(max_size=200))
def test_any_bytes_can_be_judged(line: bytes) -> None:
    decoded = decode_line(line)
    assert (decoded.entry is None) <= (decoded.kind == "damaged_line")


@pytest.mark.proves("H4b.18")
def test_zero_bytes_beside_an_entry_do_not_hide_it() -> None:
    line, stored = encode_entry(user("e1", None))
    decoded = decode_line(b"\0" * 100 + line)
    assert decoded.entry == stored
    assert decoded.kind == "damaged_line"


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


def deep_entry(depth: int) -> CheckpointEntry:
    entry = CheckpointEntry(id="e1", timestamp=NOON, artifact_kind="deep")
    return entry.model_copy(update={"artifact": nested(depth)})


@pytest.mark.parametrize("depth", [0, 64, 150, 190])
def test_a_deep_entry_comes_back(depth: int) -> None:
    line, stored = encode_entry(deep_entry(depth))
    assert decode_line(line).entry == stored


@pytest.mark.parametrize("depth", [220, 250, 260, 3000])
def test_an_entry_too_deep_for_the_reader_is_refused_by_the_writer(depth: int) -> None:
    """The two have different limits; an entry between them would be written and then lost."""
    with pytest.raises(StorageError, match="checkpoint"):
        encode_entry(deep_entry(depth))


def test_an_object_that_is_no_json_is_refused_by_name() -> None:
    entry = result("e1", None, "c").model_copy(update={"details": {"x": object()}})
    with pytest.raises(StorageError, match="tool_result"):
        encode_entry(entry)


def test_an_entry_without_an_id_is_refused() -> None:
    with pytest.raises(StorageError, match="no id"):
        encode_entry(Unknown(tag="new", raw={"type": "new"}))


def test_a_line_over_the_limit_is_refused_when_it_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(entry_codec, "LINE_LIMIT", 1000)
    encode_entry(user("e1", None, "x" * 100))
    with pytest.raises(StorageError, match="1000"):
        encode_entry(user("e1", None, "x" * 1000))


def test_results_keep_their_parts() -> None:
    entry = ToolResultEntry(
        id="e1",
        timestamp=NOON,
        turn_id="t",
        call_id="c",
        name="bash",
        content=(TextBlock(text="a"), TextBlock(text="b")),
        status="uncertain",
        details={"exit_code": 3, "ratio": float("inf")},
    )
    assert decode_line(encode_entry(entry)[0]).entry == entry
