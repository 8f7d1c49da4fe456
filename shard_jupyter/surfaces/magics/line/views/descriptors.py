"""The few shapes that the views of this folder are made of. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shard_jupyter.types.render_descriptors import KvDescriptor, KvPair, TableDescriptor


def make_facts(pairs: Iterable[tuple[str, str]]) -> KvDescriptor:
    """Make labelled lines; those without a value are left out."""
    return KvDescriptor(pairs=tuple(KvPair(k=label, v=value) for label, value in pairs if value))


def make_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, total: int | None = None
) -> TableDescriptor:
    """Make a table. `total`: how many rows there are, if these are not all."""
    return TableDescriptor(
        columns=tuple(head), rows=tuple(tuple(row) for row in rows), total_rows=total
    )
