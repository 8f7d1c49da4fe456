"""Variables are described, bounded, and none of their code runs."""

from __future__ import annotations

import datetime as dt
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from types import FrameType
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.errors import UsageError
from shard_jupyter.surfaces.magics.attachments.variable_summary import (
    MAX_VARIABLE_BYTES,
    VariableSummary,
    summarize_variable,
)

pytestmark = pytest.mark.proves("D02")


@contextmanager
def no_code_of_ours_runs() -> Iterator[None]:
    """Fail if any function of this file runs meanwhile."""
    ran: list[str] = []

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename == __file__:
            ran.append(frame.f_code.co_qualname)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(before)
    assert [name for name in ran if not name.startswith("no_code_of_ours_runs")] == []


def summarize(value: object, name: str = "x") -> VariableSummary:
    with no_code_of_ours_runs():
        summary = summarize_variable(name, value)
    assert len(summary.text.encode("utf-8")) <= MAX_VARIABLE_BYTES
    return summary


def text_of(value: object) -> str:
    return summarize(value).text


# ------------------------------------------------------------ hostile values
def trap(*_: Any, **__: Any) -> Any:
    raise AssertionError("code of the variable ran")


TRAPS = (
    "__repr__", "__str__", "__len__", "__iter__", "__getattr__", "__getattribute__", "__bool__",
    "__format__", "__bytes__", "__dir__", "__sizeof__", "__int__", "__float__", "__index__",
    "__getitem__", "__contains__", "__call__", "__enter__", "__next__", "__reduce__", "__array__",
    "__dataframe__", "__lt__", "__reversed__", "__length_hint__", "_repr_html_", "__get__",
)  # fmt: skip


class Meta(type):
    __repr__ = __str__ = __len__ = __iter__ = __call__ = trap  # type: ignore[assignment]
    __instancecheck__ = __subclasscheck__ = __dir__ = mro_ = trap  # type: ignore[assignment]

    def __getattribute__(cls, name: str) -> Any:
        return trap()

    def __hash__(cls) -> int:
        return trap()

    def __eq__(cls, other: object) -> bool:
        return trap()

    @property
    def __module__(cls) -> str:
        return trap()


def hostile(*bases: type, meta: type = type) -> type:
    body: dict[str, Any] = dict.fromkeys(TRAPS, trap)
    body["__class__"] = body["__dict__"] = property(trap)
    return meta.__new__(meta, "Hostile", bases, body)


PLAIN = hostile()
WITH_META = hostile(meta=Meta)
INSTANCES: list[object] = [
    object.__new__(PLAIN),
    object.__new__(WITH_META),
    list.__new__(hostile(list)),
    dict.__new__(hostile(dict)),
    str.__new__(hostile(str), "text"),
    int.__new__(hostile(int), 5),
    float.__new__(hostile(float), 5.0),
    tuple.__new__(hostile(tuple), (1, 2)),
    set.__new__(hostile(set)),
    bytes.__new__(hostile(bytes), b"x"),
    dt.datetime.__new__(hostile(dt.datetime), 2026, 1, 1),
    Decimal.__new__(hostile(Decimal), "1"),
    Exception.__new__(hostile(Exception)),
]


@pytest.mark.parametrize("number", range(len(INSTANCES)))
def test_no_method_of_a_foreign_class_runs(number: int) -> None:
    value = INSTANCES[number]
    summary = summarize(value)
    assert summary.text.startswith("only the type is given")
    assert summary.type_name.endswith("Hostile")
    for container in ([value], (value,), {1: value}, deque([value]), [[value]], {"a": [value]}):
        assert "Hostile>" in text_of(container)


def test_a_hostile_class_is_described_by_its_name() -> None:
    assert "Hostile" in text_of(PLAIN)
    assert "Hostile" in text_of(WITH_META)
    assert "Hostile>" in text_of([PLAIN, WITH_META]) or "type>" in text_of([PLAIN, WITH_META])


def test_a_name_of_a_class_that_is_no_plain_text_is_left_out() -> None:
    class Named(str):
        __slots__ = ()
        __str__ = __repr__ = __format__ = __add__ = partition = trap  # type: ignore[assignment]

    odd = type("Odd", (), {"__module__": Named("mod"), "__doc__": Named("doc")})
    odd.__qualname__ = Named("Odd")
    assert summarize(odd()).type_name == "unnamed"
    assert "class unnamed" in text_of(odd)


def test_keys_and_members_of_a_foreign_class_are_not_asked() -> None:
    class Key:
        def __hash__(self) -> int:
            return 1

        def __eq__(self, other: object) -> bool:
            return self is other

        __repr__ = __str__ = trap  # type: ignore[assignment]

    key = Key()
    for value in ({key: 1}, {key}, frozenset([key]), {key: {key: key}}):
        assert "Key>" in text_of(value)


def test_a_time_zone_of_a_foreign_class_is_not_asked() -> None:
    class Zone(dt.tzinfo):
        utcoffset = dst = tzname = __repr__ = __str__ = trap  # type: ignore[assignment]

    text = text_of([dt.datetime(2026, 1, 2, tzinfo=Zone()), dt.time(3, tzinfo=Zone())])
    assert "2026-01-02T00:00:00 (" in text
    assert "Zone)" in text


def test_bounds_of_a_range_of_a_foreign_class_are_not_asked() -> None:
    class Number(int):
        __repr__ = __str__ = trap  # type: ignore[assignment]

    assert text_of(range(Number(1), Number(5), Number(2))) in ("range", "range(1, 5, 2)")


def test_a_class_that_lies_about_its_module_is_no_library_class() -> None:
    body = {"__module__": "pandas", "shape": property(trap), "__len__": trap}
    fake = type("DataFrame", (), body)
    assert text_of(fake()).startswith("only the type is given")


def test_a_namesake_of_a_library_class_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    body = {"__module__": "numpy", "shape": property(trap)}
    module = type(sys)("numpy")
    module.__file__ = "/x/site-packages/numpy/__init__.py"
    module.ndarray = type("ndarray", (), body)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "numpy", module)
    assert text_of(type("ndarray", (), body)()).startswith("only the type is given")


def test_a_module_beside_the_notebook_is_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    module = type(sys)("polars")
    module.__file__ = "/home/ada/project/polars.py"
    module.DataFrame = type(  # type: ignore[attr-defined]
        "DataFrame", (), {"__module__": "polars", "shape": property(trap)}
    )
    monkeypatch.setitem(sys.modules, "polars", module)
    assert text_of(module.DataFrame()).startswith("only the type is given")


# ------------------------------------------------------------ plain values
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "None"),
        (True, "True"),
        (42, "42"),
        (1.5, "1.5"),
        (2j, "2j"),
        (b"ab\x00", "b'ab\\x00'"),
        (bytearray(b"ab"), "bytearray(b'ab')"),
        (range(3), "range(0, 3, 1)"),
        (Decimal("1.50"), "1.50"),
        (dt.date(2026, 1, 2), "2026-01-02"),
        (dt.timedelta(days=1), "1 day, 0:00:00"),
        (dt.datetime(2026, 1, 2, tzinfo=dt.UTC), "2026-01-02T00:00:00+00:00"),
        (dt.datetime(2026, 1, 2, tzinfo=ZoneInfo("UTC")), "2026-01-02T00:00:00+00:00"),
        ([1, "a", None], "3 items:\n[1, 'a', None]"),
        ((1,), "1 item:\n(1,)"),
        ([], "0 items:\n[]"),
        ({"a": [1, {"b": (2, 3)}]}, "1 item:\n{'a': [1, {'b': (… 2 items)}]}"),
        ({3, 1, 2}, "3 items:\n{1, 2, 3}"),
        (frozenset("ba"), "2 items:\nfrozenset({'a', 'b'})"),
        (deque([1]), "1 item:\n[1]"),
        (OrderedDict(a=1), "1 item:\n{'a': 1}"),
        (defaultdict(list, a=1), "1 item:\n{'a': 1}"),
        (Counter("aab"), "2 items:\n{'a': 2, 'b': 1}"),
        ("two\nlines", "9 characters:\ntwo\nlines"),
    ],
)
def test_plain_values_are_shown_with_their_content(value: object, text: str) -> None:
    assert text_of(value) == text


def test_what_is_too_much_is_counted() -> None:
    assert text_of(list(range(1000))).endswith("19, … 980 more]")
    assert text_of(dict.fromkeys(range(1000), 0)).endswith("19: 0, … 980 more}")
    assert text_of(10**5000) == "an integer of 16,610 bits"
    assert "(1,000 characters)" in text_of(["x" * 1000])
    assert "(1,000 bytes)" in text_of([b"x" * 1000])
    long = text_of("head" + "x" * 1_000_000 + "tail")
    assert long.startswith("1,000,008 characters:\nhead")
    assert long.endswith("tail")
    assert "cut …" in long


def test_a_value_within_itself_has_an_end() -> None:
    loop: list[object] = []
    loop.append(loop)
    wide = {str(i): [{str(j): [j] * 50 for j in range(50)}] * 50 for i in range(50)}
    assert text_of(loop) == "1 item:\n[[[[… 1 item]]]]"
    assert len(text_of(wide)) <= MAX_VARIABLE_BYTES


def test_a_set_of_texts_reads_alike_in_every_process() -> None:
    words = {f"word{number}" for number in range(100)}
    assert text_of(words).startswith("100 items:\n{'word0', 'word1', 'word10', 'word11'")


def test_half_a_character_becomes_visible() -> None:
    assert text_of("a\ud800b") == "3 characters:\na\\ud800b"


nested = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.tuples(inner)
    ),
    max_leaves=40,
)


@given(value=nested, limit=st.integers(256, 4096))
def test_any_value_stays_within_its_limit(value: object, limit: int) -> None:
    try:
        summary = summarize_variable("x", value, limit_bytes=limit)
    except UsageError:
        return
    assert len(summary.text.encode("utf-8")) <= limit


# ------------------------------------------------------------ secrets
KEY = "sk-" + "a1B2" * 8


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("api_key", "x"),
        ("OPENAI_API_KEY", "x"),
        ("password", b"x"),
        ("tokens", ["abc"]),
        ("credentials", {"user": "ada"}),
        ("config", {"api_key": "hunter2hunter2"}),
        ("config", {"a": [{"password": "hunter2"}]}),
        ("text", f"the key is {KEY}."),
        ("rows", [["a", KEY]]),
        ("url", "postgres://ada:hunter2@db/x"),
        ("pem", "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----"),
        ("header", {"Authorization": "x"}),
    ],
)
def test_what_looks_like_a_secret_is_refused_in_words(name: str, value: object) -> None:
    with pytest.raises(UsageError) as refused:
        summarize_variable(name, value)
    assert refused.value.message.startswith(f"@{name} is not sent: ")
    assert KEY not in str(refused.value)
    assert "hunter2" not in str(refused.value)
    assert refused.value.next_step


def test_a_secret_of_the_environment_is_refused() -> None:
    with pytest.raises(UsageError, match="@line is not sent"):
        summarize_variable("line", "export X=correct-horse", secrets=("correct-horse",))


def test_a_default_named_like_a_secret_is_refused() -> None:
    def connect(password: str = "hunter2") -> None: ...

    with pytest.raises(UsageError, match="password"):
        summarize_variable("connect", connect)


@pytest.mark.parametrize(
    ("name", "value"),
    [("keys", [1, 2]), ("max_tokens", 100), ("tokens", 5), ("monkey", "x"), ("keyboard", ["a"]), ("api_key", "")],
)  # fmt: skip
def test_what_is_no_secret_is_sent(name: str, value: object) -> None:
    assert summarize_variable(name, value).text
