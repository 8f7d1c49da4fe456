"""Tables and arrays of the real libraries; each test needs its library to be installed."""

from __future__ import annotations

import datetime as dt
import sys
from types import ModuleType
from typing import Any

import pytest

from shard_jupyter.surfaces.magics.attachments import library_summary
from shard_jupyter.surfaces.magics.attachments.variable_summary import summarize_variable

pytestmark = pytest.mark.proves("D02")


def load(name: str) -> Any:
    return pytest.importorskip(name, reason=f"{name} is not installed")


def text_of(value: object) -> str:
    text = summarize_variable("x", value).text
    assert "could not be looked at" not in text
    return text


class Silent:
    """A value in a table that must not be asked for anything."""

    def __repr__(self) -> str:
        raise AssertionError("code of a value ran")

    __str__ = __len__ = __iter__ = __array__ = __repr__  # type: ignore[assignment]


# ------------------------------------------------------------ numpy
def test_an_array_shows_shape_dtype_and_first_values() -> None:
    np = load("numpy")
    assert text_of(np.arange(3)) == "numpy.ndarray, shape 3, dtype int64\nvalues: [0, 1, 2]"
    big = text_of(np.zeros((100, 50)))
    assert big.startswith("numpy.ndarray, shape 100 × 50, dtype float64\nfirst values: [[0.0,")
    assert text_of(np.array(["2026-01-02"], dtype="M8[ns]")).endswith(
        "values: ['2026-01-02T00:00:00.000000000']"
    )
    assert text_of(np.array(5)) == "numpy.ndarray, shape (), dtype int64\nvalues: 5"
    assert text_of(np.array([])) == "numpy.ndarray, shape 0, dtype float64"


def test_scalars_of_an_array_library_are_shown_as_values() -> None:
    np = load("numpy")
    scalars = [np.float64(1.5), np.int8(3), np.bool_(True), np.datetime64("NaT"), np.str_("x")]
    assert text_of(scalars) == "5 items:\n[1.5, 3, True, NaT, 'x']"


def test_objects_in_an_array_are_not_asked() -> None:
    np = load("numpy")
    array = np.empty(2, dtype=object)
    array[0], array[1] = Silent(), "text"
    assert "Silent>, 'text']" in text_of(array)


def test_a_subclass_of_an_array_is_only_named() -> None:
    np = load("numpy")

    class Mine(np.ndarray):  # type: ignore[misc,name-defined]
        def tolist(self) -> Any:
            raise AssertionError("code of a subclass ran")

    assert text_of(np.arange(3).view(Mine)).startswith("only the type is given")


# ------------------------------------------------------------ pandas
def test_a_frame_shows_shape_dtypes_and_head() -> None:
    pd = load("pandas")
    frame = pd.DataFrame(
        {"a": range(100), "b": ["x"] * 100, "c": pd.Categorical(["u"] * 100), 4: [1.5] * 100}
    )
    lines = text_of(frame).split("\n")
    assert lines[0] == "pandas.DataFrame, 100 rows × 4 columns"
    assert lines[1:3] == ["columns:", "  'a': int64"]
    assert "  'c': category" in lines
    assert "  4: float64" in lines
    assert "first 5 rows:" in lines
    assert lines[-6] == "  index | 'a' | 'b' | 'c' | 4"
    assert lines[-5] == "  0 | 0 | 'x' | 'u' | 1.5"


def test_series_and_index_show_values() -> None:
    pd = load("pandas")
    moments = pd.Series(pd.to_datetime(["2026-01-02"]), name="when")
    text = text_of(moments)
    assert text.startswith("pandas.Series 'when', 1 values, dtype datetime64")
    assert text.endswith("  0 | 2026-01-02T00:00:00")
    index = pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])
    assert text_of(index) == "pandas.MultiIndex, 2 labels: ('a', 1), ('b', 2)"


def test_missing_values_and_extension_types_of_the_library_are_shown() -> None:
    pd = load("pandas")
    frame = pd.DataFrame(
        {
            "n": pd.array([1, None], dtype="Int64"),
            "s": pd.array(["a", None], dtype="string"),
            "z": pd.to_datetime(["2026-01-02", None]).tz_localize("UTC"),
            "p": pd.period_range("2026-01", periods=2, freq="M"),
            "t": pd.to_timedelta([1, None], unit="D"),
        }
    )
    text = text_of(frame)
    assert "  0 | 1 | 'a' | 2026-01-02T00:00:00+00:00 | 2026-01 | 1 days 00:00:00" in text
    assert "  1 | <NA> | <NA> | NaT | 2026-02 | NaT" in text


def test_objects_in_a_frame_are_not_asked() -> None:
    pd = load("pandas")
    frame = pd.DataFrame({"a": pd.Series([Silent(), "text"], dtype=object)})
    assert "Silent>" in text_of(frame)
    assert "Silent>" in text_of(frame["a"])


def test_a_subclass_of_a_frame_is_only_named() -> None:
    pd = load("pandas")

    class Mine(pd.DataFrame):  # type: ignore[misc,name-defined]
        @property
        def shape(self) -> Any:
            raise AssertionError("code of a subclass ran")

    assert text_of(Mine({"a": [1]})).startswith("only the type is given")


def test_a_column_of_a_foreign_type_is_left_out() -> None:
    pd = load("pandas")
    extensions = pytest.importorskip("pandas.api.extensions")

    class Dtype(extensions.ExtensionDtype):  # type: ignore[misc]
        name = "mine"
        type = object

        @classmethod
        def construct_array_type(cls) -> Any:
            return Array

    class Array(extensions.ExtensionArray):  # type: ignore[misc]
        def __init__(self, length: int) -> None:
            self.length = length

        dtype = property(lambda self: Dtype())
        nbytes = 0

        def __len__(self) -> int:
            return self.length

        def __getitem__(self, item: object) -> Any:
            raise AssertionError("code of a foreign array ran")

        def copy(self) -> Any:
            return self

    frame = pd.DataFrame({"a": pd.Series(Array(3)), "b": [1, 2, 3]})
    text = text_of(frame)
    assert "  0 | values not shown | 1" in text
    assert "Dtype" in text


def test_a_wide_frame_is_bounded() -> None:
    pd = load("pandas")
    text = text_of(pd.DataFrame([[0] * 500]))
    assert "pandas.DataFrame, 1 rows × 500 columns" in text
    assert "… 460 more columns" in text


# ------------------------------------------------------------ polars
def test_a_polars_frame_shows_shape_dtypes_and_head() -> None:
    pl = load("polars")
    frame = pl.DataFrame({"a": list(range(100)), "b": ["x"] * 100, "c": [[1, 2]] * 100})
    lines = text_of(frame).split("\n")
    assert lines[0] == "polars.DataFrame, 100 rows × 3 columns"
    assert lines[1:5] == ["columns:", "  'a': Int64", "  'b': String", "  'c': List(Int64)"]
    assert lines[-5] == "  0 | 'x' | [1, 2]"


def test_polars_series_and_lazy_frames_are_told_apart() -> None:
    pl = load("polars")
    series = pl.Series("when", [dt.date(2026, 1, 2)])
    assert text_of(series) == "polars.Series 'when', 1 values, dtype Date: 2026-01-02"
    assert "not collected" in text_of(pl.DataFrame({"a": [1]}).lazy())


def test_objects_in_a_polars_frame_are_not_asked() -> None:
    pl = load("polars")
    assert "Silent>" in text_of(pl.Series("o", [Silent()], dtype=pl.Object))


# ------------------------------------------------------------ arrow
def test_an_arrow_table_shows_shape_types_and_head() -> None:
    pa = load("pyarrow")
    table = pa.table(
        {"a": list(range(9)), "l": [[1]] * 9, "s": [{"x": 1}] * 9, "d": pa.array(["u"] * 9).dictionary_encode()}
    )  # fmt: skip
    lines = text_of(table).split("\n")
    assert lines[0] == "pyarrow.Table, 9 rows × 4 columns"
    assert "  'a': int64" in lines
    assert lines[-5] == "  0 | [1] | {'x': 1} | 'u'"
    assert text_of(pa.array([1, None])) == "pyarrow.Int64Array, 2 values, type int64: 1, None"
    assert "pyarrow.ChunkedArray, 1 values" in text_of(pa.chunked_array([[1]]))
    assert text_of(table.to_batches()[0]).startswith("pyarrow.RecordBatch, 9 rows × 4 columns")


def test_an_arrow_extension_type_is_left_out() -> None:
    pa = load("pyarrow")

    class Mine(pa.ExtensionType):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__(pa.int64(), "mine")

        def __arrow_ext_serialize__(self) -> bytes:
            return b""

        @classmethod
        def __arrow_ext_deserialize__(cls, storage: object, serialized: bytes) -> Any:
            return cls()

        def __str__(self) -> str:
            raise AssertionError("code of a foreign type ran")

        __repr__ = __str__

    array = pa.ExtensionArray.from_storage(Mine(), pa.array([1, 2]))
    assert "values not shown" in text_of(pa.table({"e": array}))


# ------------------------------------------------------------ the boundary
def test_a_library_that_fails_is_told_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("numpy")
    module.__file__ = "/x/site-packages/numpy/__init__.py"
    module.ndarray = type("ndarray", (), {"__module__": "numpy"})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "numpy", module)
    text = summarize_variable("x", module.ndarray()).text
    assert text == "numpy.ndarray, which could not be looked at (AttributeError)"
    assert library_summary.LIBRARIES
