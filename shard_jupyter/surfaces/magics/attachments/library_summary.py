"""Describes tables and arrays of the libraries that data comes in: what it is, its shape, its head.

Only the library's own classes are touched. Values in them may be anything, so they are written like
all others, and a column of a foreign type is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from shard_jupyter.surfaces.magics.attachments.plain_values import (
    MAX_ITEMS,
    MAX_TEXT_CHARS,
    ZONES,
    Writer,
)
from shard_jupyter.surfaces.magics.attachments.real_types import is_class, library_of, type_name

LIBRARIES = frozenset({"numpy", "pandas", "polars", "pyarrow"})
MAX_ROWS = 5
MAX_COLUMNS = 40
MAX_CELLS_WIDE = 12
_HIDDEN = "values not shown"


def summarize_library(value: object, writer: Writer) -> str | None:
    """Describe a table, series or array; None for anything else."""
    kind = type(value)
    library = library_of(kind, LIBRARIES)
    if not library:
        return None
    name = "Array" if library == "pyarrow" and kind.__name__.endswith("Array") else kind.__name__
    describe = _DESCRIBERS.get((library, name))
    if describe is None:
        return None
    try:
        return describe(value, writer)
    except Exception as error:  # noqa: BLE001 - the fault boundary around foreign code
        return f"{type_name(kind)}, which could not be looked at ({type_name(type(error))})"


def _describe_array(value: Any, writer: Writer) -> str:  # noqa: ANN401 - numpy.ndarray
    shape = " × ".join(f"{length:,}" for length in value.shape) or "()"
    lines = [f"numpy.ndarray, shape {shape}, dtype {_short(str(value.dtype))}"]
    if value.size and library_of(type(value.dtype), LIBRARIES):
        length = MAX_ROWS if value.ndim > 1 else MAX_ITEMS
        corner = value[(slice(0, length),) * value.ndim] if value.ndim else value
        title = "values" if corner.size == value.size else "first values"
        # Moments come as bare numbers otherwise where Python has no type for them.
        plain = corner.astype(str) if value.dtype.kind in "mM" else corner
        lines.append(f"{title}: {writer.write(plain.tolist())}")
    return "\n".join(lines)


def _describe_pandas_frame(value: Any, writer: Writer) -> str:  # noqa: ANN401 - pandas.DataFrame
    rows, columns = value.shape
    names = [writer.write(name) for name in _pandas_labels(value.columns, MAX_COLUMNS)]
    types = [value.dtypes.iloc[number] for number in range(min(columns, MAX_COLUMNS))]
    # Column by column: a slice of the whole would ask the array of a foreign type for its part.
    cells = [
        _pandas_values(value, number, types[number], writer)
        for number in range(min(len(types), MAX_CELLS_WIDE))
    ]
    index = [writer.write(label) for label in _pandas_labels(value.index, MAX_ROWS)]
    return "\n".join(
        [
            f"pandas.DataFrame, {rows:,} rows × {columns:,} columns",
            *_column_lines(names, [_pandas_dtype(kind) for kind in types], columns),
            *_table_lines(["index", *names], [index, *cells]),
        ]
    )


def _describe_pandas_series(value: Any, writer: Writer) -> str:  # noqa: ANN401 - pandas.Series
    dtype = value.dtype
    head = [_HIDDEN]
    if _is_known_dtype(dtype):
        head = [writer.write(item) for item in value.iloc[:MAX_ROWS].tolist()]
    index = [writer.write(label) for label in _pandas_labels(value.index, MAX_ROWS)]
    name = writer.write(value.name)
    return "\n".join(
        [
            f"pandas.Series {name}, {len(value):,} values, dtype {_pandas_dtype(dtype)}",
            *_table_lines(["index", "value"], [index, head]),
        ]
    )


def _describe_pandas_index(value: Any, writer: Writer) -> str:  # noqa: ANN401 - pandas.Index
    labels = [writer.write(label) for label in _pandas_labels(value, MAX_ROWS)]
    return f"pandas.{type(value).__name__}, {len(value):,} labels: {', '.join(labels)}"


def _pandas_values(frame: Any, number: int, dtype: object, writer: Writer) -> list[str]:  # noqa: ANN401
    if not _is_known_dtype(dtype):
        return [_HIDDEN] * min(MAX_ROWS, len(frame.index))
    return [writer.write(item) for item in frame.iloc[:, number].iloc[:MAX_ROWS].tolist()]


def _pandas_labels(index: Any, count: int) -> list[object]:  # noqa: ANN401 - pandas.Index
    if not library_of(type(index), LIBRARIES) or not _is_known_dtype(index.dtype):
        return [_HIDDEN] * min(count, len(index))
    labels: list[object] = index[:count].tolist()
    return labels


def _pandas_dtype(dtype: object) -> str:
    return _short(str(dtype)) if _is_known_dtype(dtype) else type_name(type(dtype))


def _is_known_dtype(dtype: Any) -> bool:  # noqa: ANN401
    """A dtype of the user's own brings its own array, whose code would give the values."""
    kind = type(dtype)
    if not library_of(kind, LIBRARIES):
        return False
    if kind.__name__ == "DatetimeTZDtype":
        return id(type(dtype.tz)) in ZONES
    return kind.__name__ != "ArrowDtype" or _is_plain_arrow(dtype.pyarrow_dtype)


def _short(text: str) -> str:
    return text if len(text) <= MAX_TEXT_CHARS else f"{text[:MAX_TEXT_CHARS]}…"


def _describe_polars_frame(value: Any, writer: Writer) -> str:  # noqa: ANN401 - polars.DataFrame
    rows, columns = value.shape
    names = [writer.write(name) for name in value.columns[:MAX_COLUMNS]]
    types = value.dtypes[:MAX_COLUMNS]
    cells = [
        _polars_values(value.to_series(number), writer)
        for number in range(min(len(names), MAX_CELLS_WIDE))
    ]
    return "\n".join(
        [
            f"polars.DataFrame, {rows:,} rows × {columns:,} columns",
            *_column_lines(names, [_polars_dtype(kind) for kind in types], columns),
            *_table_lines(names, cells),
        ]
    )


def _describe_polars_series(value: Any, writer: Writer) -> str:  # noqa: ANN401 - polars.Series
    name = writer.write(value.name)
    size = f"{len(value):,} values, dtype {_polars_dtype(value.dtype)}"
    return f"polars.Series {name}, {size}: {', '.join(_polars_values(value, writer))}"


def _polars_values(series: Any, writer: Writer) -> list[str]:  # noqa: ANN401 - polars.Series
    if not _is_plain_polars(series.dtype):
        return [_HIDDEN] * min(MAX_ROWS, len(series))
    return [writer.write(item) for item in series.head(MAX_ROWS).to_list()]


def _polars_dtype(dtype: Any) -> str:  # noqa: ANN401 - a polars DataType, or a class of them
    if _is_plain_polars(dtype):
        return _short(str(dtype))
    return type_name(dtype if is_class(dtype) else type(dtype))


def _is_plain_polars(dtype: Any) -> bool:  # noqa: ANN401 - a polars DataType, or a class of them
    """Whether no part of it is an extension type, which a user may have defined."""
    if not library_of(dtype if is_class(dtype) else type(dtype), LIBRARIES):
        return False
    if is_class(dtype):
        return True
    parts = [field.dtype for field in getattr(dtype, "fields", ())]
    inner = getattr(dtype, "inner", None)
    return all(_is_plain_polars(part) for part in ([*parts, inner] if inner else parts))


def _describe_polars_lazy(value: object, writer: Writer) -> str:
    del value, writer
    return "polars.LazyFrame, not collected, so that nothing is known of its values"


def _describe_arrow_table(value: Any, writer: Writer) -> str:  # noqa: ANN401 - pyarrow.Table
    fields = [value.schema.field(number) for number in range(min(value.num_columns, MAX_COLUMNS))]
    names = [writer.write(field.name) for field in fields]
    cells = [
        _arrow_values(value.column(number), writer)
        for number in range(min(len(fields), MAX_CELLS_WIDE))
    ]
    return "\n".join(
        [
            f"pyarrow.{type(value).__name__}, {value.num_rows:,} rows × {value.num_columns:,} columns",
            *_column_lines(names, [_arrow_type(field.type) for field in fields], value.num_columns),
            *_table_lines(names, cells),
        ]
    )


def _describe_arrow_array(value: Any, writer: Writer) -> str:  # noqa: ANN401 - pyarrow.Array
    values = ", ".join(_arrow_values(value, writer))
    kind = type(value).__name__
    return f"pyarrow.{kind}, {len(value):,} values, type {_arrow_type(value.type)}: {values}"


def _arrow_type(kind: Any) -> str:  # noqa: ANN401 - pyarrow.DataType
    return _short(str(kind)) if _is_plain_arrow(kind) else type_name(type(kind))


def _arrow_values(column: Any, writer: Writer) -> list[str]:  # noqa: ANN401
    head = column.slice(0, MAX_ROWS)
    if not _is_plain_arrow(column.type):
        return [_HIDDEN] * len(head)
    return [writer.write(item) for item in head.to_pylist()]


def _is_plain_arrow(kind: Any) -> bool:  # noqa: ANN401 - pyarrow.DataType
    """Whether no part of the type is an extension, whose values may be of a user's class."""
    if not library_of(type(kind), LIBRARIES) or hasattr(kind, "storage_type"):
        return False
    names = ("value_type", "key_type", "item_type")  # of lists, maps, dictionaries
    parts = [getattr(kind, name) for name in names if hasattr(kind, name)]
    if not parts:  # of structs and unions
        parts = [kind.field(number).type for number in range(kind.num_fields)]
    return all(_is_plain_arrow(part) for part in parts)


def _column_lines(names: Sequence[str], types: Sequence[str], count: int) -> Iterator[str]:
    yield "columns:"
    yield from (f"  {name}: {kind}" for name, kind in zip(names, types, strict=False))
    if count > MAX_COLUMNS:
        yield f"  … {count - MAX_COLUMNS:,} more columns"


def _table_lines(names: Sequence[str], columns: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the head as rows with bars between the cells."""
    rows = list(zip(*columns, strict=False))
    if not rows:
        return
    yield "first row:" if len(rows) == 1 else f"first {len(rows)} rows:"
    more = " | …" if len(names) > len(columns) else ""
    yield "  " + " | ".join(names[: len(columns)]) + more
    yield from ("  " + " | ".join(row) + more for row in rows)


_PANDAS_INDEXES = (
    "Index", "RangeIndex", "MultiIndex", "DatetimeIndex", "TimedeltaIndex", "PeriodIndex",
    "CategoricalIndex", "IntervalIndex",
)  # fmt: skip
_DESCRIBERS: dict[tuple[str, str], Callable[[Any, Writer], str]] = {
    ("numpy", "ndarray"): _describe_array,
    ("pandas", "DataFrame"): _describe_pandas_frame,
    ("pandas", "Series"): _describe_pandas_series,
    **{("pandas", name): _describe_pandas_index for name in _PANDAS_INDEXES},
    ("polars", "DataFrame"): _describe_polars_frame,
    ("polars", "Series"): _describe_polars_series,
    ("polars", "LazyFrame"): _describe_polars_lazy,
    ("pyarrow", "Table"): _describe_arrow_table,
    ("pyarrow", "RecordBatch"): _describe_arrow_table,
    ("pyarrow", "Array"): _describe_arrow_array,
}
