"""Files that are here already, the disk, the lock, and the setting that forbids the network."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from shard_jupyter.capabilities.local_models.catalog.fetch.source_failed import SourceFailed
from shard_jupyter.capabilities.local_models.catalog.own_files import hold_lock
from shard_jupyter.capabilities.local_models.catalog.pull_progress import ProgressMeter
from shard_jupyter.capabilities.local_models.catalog.remove_model import remove_model
from shard_jupyter.capabilities.local_models.catalog.sources.errand import Errand
from shard_jupyter.capabilities.local_models.catalog.sources.local_copy import copy_found
from shard_jupyter.errors import NetworkForbidden, StorageError, UserError
from shard_jupyter.store.atomic_file import make_private_folder
from tests.fakes.model_shop import HUB_PATH, send, send_and_stall, status
from tests.fakes.pull_rig import DATA, PullRig

pytestmark = pytest.mark.proves("C10")


async def test_a_file_of_another_store_is_copied_and_nothing_is_asked(rig: PullRig) -> None:
    found = rig.root / "theirs.gguf"
    found.write_bytes(DATA)
    rig.use(candidates=(found,), network="local")
    await rig.pull()
    await rig.check_whole()
    assert rig.shop.requests == []
    assert rig.target.stat().st_ino != found.stat().st_ino
    assert rig.told[-1].phase == "copy"


async def test_changing_the_other_file_later_does_not_change_ours(rig: PullRig) -> None:
    found = rig.root / "theirs.gguf"
    found.write_bytes(DATA)
    rig.use(candidates=(found,))
    await rig.pull()
    found.write_bytes(bytes(len(DATA)))
    await rig.check_whole()


async def test_a_file_of_the_right_size_with_other_bytes_is_passed_over(rig: PullRig) -> None:
    wrong, gone, right = rig.root / "wrong", rig.root / "gone", rig.root / "right"
    wrong.write_bytes(bytes(len(DATA)))
    right.write_bytes(DATA)
    rig.use(candidates=(gone, wrong, rig.root, right), network="local")
    await rig.pull()
    await rig.check_whole()
    assert [p.note for p in rig.told if p.phase == "failed"] == [
        "it is another file: its SHA-256 differs"
    ]


async def test_a_file_named_by_its_hash_is_tried_first(rig: PullRig) -> None:
    other, blob = rig.root / "a.gguf", rig.root / f"sha256-{rig.model.sha256}"
    other.write_bytes(bytes(len(DATA)))
    blob.write_bytes(DATA)
    rig.use(candidates=(other, blob))
    await rig.pull()
    assert {p.source for p in rig.told} == {str(blob)}


async def test_a_file_that_became_a_pipe_is_not_waited_for(rig: PullRig, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    await anyio.to_thread.run_sync(make_private_folder, rig.target.parent)
    errand = Errand(rig.model, rig.target, rig.sources, ProgressMeter(rig.told.append))
    with anyio.fail_after(10), pytest.raises(SourceFailed):
        await copy_found(errand, tmp_path / "pipe")


async def test_where_no_file_here_is_right_the_network_is_asked(rig: PullRig) -> None:
    wrong = rig.root / "wrong.gguf"
    wrong.write_bytes(bytes(len(DATA)))
    rig.use(candidates=(wrong,))
    rig.shop.put(HUB_PATH, send(DATA))
    await rig.pull()
    await rig.check_whole()


@pytest.mark.parametrize("with_wrong_file", [True, False])
async def test_network_local_refuses_before_any_connection(
    rig: PullRig, with_wrong_file: bool
) -> None:
    wrong = rig.root / "wrong.gguf"
    wrong.write_bytes(bytes(len(DATA)) if with_wrong_file else b"")
    rig.use(candidates=(wrong,), network="local")
    with pytest.raises(NetworkForbidden, match="shard config set network on"):
        await rig.pull()
    assert rig.shop.requests == []


async def test_a_file_put_there_by_hand_is_checked_and_kept(rig: PullRig) -> None:
    rig.target.parent.mkdir(parents=True)
    rig.target.write_bytes(DATA)
    rig.target.chmod(0o600)
    rig.use(network="local")
    await rig.pull()
    await rig.check_whole()


async def test_a_wrong_file_in_its_place_is_replaced(rig: PullRig) -> None:
    rig.target.parent.mkdir(parents=True)
    rig.target.write_bytes(bytes(len(DATA)))
    rig.shop.put(HUB_PATH, send(DATA))
    await rig.pull()
    await rig.check_whole()


async def test_a_file_that_was_touched_is_checked_again(rig: PullRig) -> None:
    rig.shop.put(HUB_PATH, send(DATA))
    await rig.pull()
    rig.target.write_bytes(DATA[:-1] + b"!")
    await rig.pull()
    await rig.check_whole()
    assert len(rig.asked_hub()) == 2


async def test_too_little_space_is_said_before_anything_is_asked(rig: PullRig) -> None:
    rig.use(free_bytes=lambda _: 30_000)
    with pytest.raises(StorageError, match="30 kB of space left") as caught:
        await rig.pull()
    assert caught.value.code == "disk_full"
    assert rig.shop.requests == []


async def test_space_that_an_earlier_pull_has_taken_is_not_needed_again(rig: PullRig) -> None:
    rig.shop.put(HUB_PATH, send(DATA, cut_after=40_000), status(404))
    rig.use(indexes=())
    await rig.pull_in_vain()
    rig.use(free_bytes=lambda _: 60_001)
    rig.shop.put(HUB_PATH, send(DATA))
    await rig.pull()
    await rig.check_whole()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
async def test_a_disk_that_fills_up_meanwhile_keeps_what_came(rig: PullRig, number: int) -> None:
    def fail(_: object) -> int:
        raise OSError(number, os.strerror(number))

    rig.use(free_bytes=fail)
    with pytest.raises(StorageError, match="is full") as caught:
        await rig.pull()
    assert caught.value.code == "disk_full"


async def test_a_folder_that_cannot_be_made_is_told(rig: PullRig) -> None:
    (rig.root / "state").write_bytes(b"a file")
    with pytest.raises(StorageError, match="SHARD_HOME"):
        await rig.pull()


async def test_a_symlink_in_the_place_of_the_rest_is_not_followed(rig: PullRig) -> None:
    victim = rig.root / "victim"
    victim.write_bytes(b"precious")
    rig.part.parent.mkdir(parents=True)
    rig.part.symlink_to(victim)
    rig.shop.put(HUB_PATH, send(DATA))
    with pytest.raises(StorageError):
        await rig.pull()
    assert victim.read_bytes() == b"precious"


async def test_a_second_puller_says_so_and_touches_nothing(rig: PullRig) -> None:
    came = threading.Event()
    rig.shop.put(HUB_PATH, send_and_stall(DATA, 100, came, rig.shop))
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(rig.pull)
            await anyio.to_thread.run_sync(came.wait)
            with pytest.raises(UserError, match="Another process is fetching") as caught:
                await rig.pull()
            with pytest.raises(UserError, match="Another process is fetching"):
                await anyio.to_thread.run_sync(remove_model, rig.model, rig.places)
            group.cancel_scope.cancel()
    assert caught.value.code == "pull_busy"
    rig.shop.put(HUB_PATH, send(DATA))
    await rig.pull()
    await rig.check_whole()


def test_the_lock_comes_free_with_its_holder(tmp_path: Path) -> None:
    for _ in range(2):
        with hold_lock(tmp_path / "m.gguf"):
            pass


async def test_removing_frees_all_that_a_pull_left(rig: PullRig) -> None:
    rig.shop.put(HUB_PATH, send(DATA))
    await rig.pull()
    rig.part.write_bytes(bytes(1000))
    other = rig.target.parent / "theirs.gguf"
    other.write_bytes(b"GGUF")
    mark = rig.target.with_name(f"{rig.target.name}.json").stat().st_size
    freed = await anyio.to_thread.run_sync(remove_model, rig.model, rig.places)
    assert freed == len(DATA) + 1000 + mark
    left = {path.name for path in rig.target.parent.iterdir() if not path.name.startswith(".")}
    assert left == {"theirs.gguf"}
    assert await anyio.to_thread.run_sync(remove_model, rig.model, rig.places) is None


def test_removing_where_nothing_ever_was_makes_nothing(rig: PullRig) -> None:
    assert remove_model(rig.model, rig.places) is None
    assert not rig.places.models_home.exists()


def test_what_cannot_be_removed_is_told(rig: PullRig) -> None:
    rig.target.mkdir(parents=True)
    with pytest.raises(StorageError, match="cannot be removed"):
        remove_model(rig.model, rig.places)
