"""Cells of a notebook are tests that depend on each other: keep them in order under nbval."""


def pytest_collection_modifyitems(items):
    """Undo what a plugin that shuffles tests has done to the cells; leave all others as they are."""
    cells = [item for item in items if hasattr(item, "cell_num")]
    in_order = iter(sorted(cells, key=lambda cell: (str(cell.path), cell.cell_num)))
    items[:] = [next(in_order) if hasattr(item, "cell_num") else item for item in items]
