from __future__ import annotations

from pathlib import Path

import pytest

from shard_jupyter.errors import StorageError
from shard_jupyter.store.blobs import FileBlobStore, copy_blobs

pytestmark = pytest.mark.proves("A11")


@pytest.fixture
def blobs(tmp_path: Path) -> FileBlobStore:
    return FileBlobStore(tmp_path / "session" / "blobs")


def test_equal_bytes_are_kept_once_and_private(blobs: FileBlobStore) -> None:
    names = {blobs.write(b"x" * 1000) for _ in range(5)}
    (path,) = blobs.folder.iterdir()
    assert {path.name} == names
    assert path.stat().st_mode & 0o777 == 0o600
    assert blobs.folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("damage", [b"", b"\0" * 1000, b"x" * 999])
def test_damaged_bytes_are_never_handed_out_and_a_new_put_heals_them(
    blobs: FileBlobStore, damage: bytes
) -> None:
    name = blobs.write(b"x" * 1000)
    (blobs.folder / name).write_bytes(damage)
    with pytest.raises(StorageError) as caught:
        blobs.read(name)
    assert caught.value.code == "blob_damaged"
    assert blobs.write(b"x" * 1000) == name
    assert blobs.read(name) == b"x" * 1000


async def test_a_folder_that_cannot_be_written_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError, match="cannot be written") as caught:
        await FileBlobStore(tmp_path / "file" / "blobs").put(b"x", "image/png")
    assert caught.value.next_step


def test_a_blob_that_is_a_folder_is_a_storage_error(blobs: FileBlobStore) -> None:
    (blobs.folder / ("0" * 64)).mkdir(parents=True)
    with pytest.raises(StorageError):
        blobs.read("0" * 64)


def test_a_copy_shares_the_bytes_and_skips_what_is_missing(
    blobs: FileBlobStore, tmp_path: Path
) -> None:
    names = [blobs.write(b"one"), blobs.write(b"two"), blobs.write(b"three")]
    target = FileBlobStore(tmp_path / "fork" / "blobs")
    target.write(b"one")
    copy_blobs(blobs, target, frozenset([*names[:2], "f" * 64, "../session"]))
    assert sorted(path.name for path in target.folder.iterdir()) == sorted(names[:2])
    assert (target.folder / names[1]).stat().st_nlink == 2
    assert target.read(names[1]) == b"two"
