"""Everything about files runs twice: as Linux opens them, and part by part as other systems must."""

from __future__ import annotations

import pytest

from shard_jupyter.core.files import open_beneath


@pytest.fixture(autouse=True, params=["openat2", "parts"])
def way_of_opening(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    way = str(request.param)
    if way == "parts":
        monkeypatch.setattr(open_beneath, "has_openat2", lambda: False)
    elif not open_beneath.has_openat2():
        pytest.skip("this kernel has no openat2, or forbids it")
    return way
