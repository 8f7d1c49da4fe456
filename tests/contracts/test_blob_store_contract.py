"""What every implementation of `BlobStore` keeps."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shard_jupyter.contracts.tool_context import BlobStore
from shard_jupyter.errors import StorageError
from shard_jupyter.store.blobs import FileBlobStore
from shard_jupyter.types.content import ImageBlock

pytestmark = pytest.mark.proves("A11")


@pytest.fixture(params=[FileBlobStore])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> BlobStore:
    make: Callable[[Path], BlobStore] = request.param
    return make(tmp_path / "blobs")


async def test_a_block_names_the_bytes_by_their_hash(blobs: BlobStore) -> None:
    block = await blobs.put(b"\x89PNG", "image/png")
    sha256 = hashlib.sha256(b"\x89PNG").hexdigest()
    assert block == ImageBlock(media_type="image/png", sha256=sha256, size_bytes=4)
    assert await blobs.get(block.sha256) == b"\x89PNG"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(data=st.binary(max_size=2000))
async def test_any_bytes_come_back(blobs: BlobStore, data: bytes) -> None:
    assert await blobs.get((await blobs.put(data, "x/y")).sha256) == data


@pytest.mark.parametrize("name", ["0" * 64, "", "../../etc/passwd", "A" * 64, "0" * 64 + "\n"])
async def test_what_is_not_there_is_a_storage_error(blobs: BlobStore, name: str) -> None:
    with pytest.raises(StorageError):
        await blobs.get(name)


async def test_many_writers_of_one_image_agree(blobs: BlobStore) -> None:
    data = b"image" * 20_000
    found: list[ImageBlock] = []

    async def put() -> None:
        found.append(await blobs.put(data, "image/png"))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(put)
    assert len(found) == 20
    assert len(set(found)) == 1
    assert await blobs.get(found[0].sha256) == data
