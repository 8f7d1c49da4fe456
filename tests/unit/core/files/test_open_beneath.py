from __future__ import annotations

import errno
import os
import stat
import time
from pathlib import Path

import pytest

from shard_jupyter.core.files import open_beneath
from shard_jupyter.core.files.open_beneath import PATH_ONLY, OpenRoot, sync_folder

pytestmark = pytest.mark.proves("T43", "T53", "H4a.08")
READ = os.O_RDONLY | os.O_NONBLOCK


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "ws"
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "f").write_bytes(b"inside")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "f").write_bytes(b"outside")
    return folder


def read(ws: Path, *parts: str) -> bytes:
    with OpenRoot(ws) as root, os.fdopen(root.open(parts, READ), "rb") as file:
        return file.read()


def open_files() -> int:
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.is_dir() else 0


def test_file_below_is_opened_however_deep(ws: Path) -> None:
    assert read(ws, "a", "b", "f") == b"inside"


def test_root_itself_is_opened(ws: Path) -> None:
    with OpenRoot(ws) as root:
        descriptor = root.open((), os.O_RDONLY)
        assert os.stat("a", dir_fd=descriptor).st_ino == (ws / "a").stat().st_ino
        os.close(descriptor)


@pytest.mark.parametrize(
    "target",
    ["../out", "OUT", "/proc/self/root/etc", "a", "b", ".", "missing", "link"],
)
@pytest.mark.parametrize("parts", [("link", "f"), ("link",), ("a", "link", "f"), ("a", "link")])
@pytest.mark.parametrize("flags", [READ, READ | os.O_DIRECTORY, PATH_ONLY | os.O_DIRECTORY])
def test_no_link_is_followed_wherever_it_leads(
    ws: Path, target: str, parts: tuple[str, ...], flags: int
) -> None:
    place = ws / "a" if parts[0] == "a" else ws
    (place / "link").symlink_to(target.replace("OUT", str(ws.parent / "out")))
    before = open_files()
    with OpenRoot(ws) as root, pytest.raises(OSError) as caught:  # noqa: PT011 - errno is checked
        root.open(parts, flags)
    assert caught.value.errno == errno.ELOOP
    assert open_files() == before


@pytest.mark.parametrize("parts", [("..",), ("..", "out", "f"), ("a", "..", "..", "out", "f")])
def test_dot_dot_does_not_lead_above_the_root_by_the_kernel(
    ws: Path, parts: tuple[str, ...], way_of_opening: str
) -> None:
    if way_of_opening != "openat2":
        pytest.skip("parts of a judged path are never dots; only the kernel checks it again")
    with OpenRoot(ws) as root, pytest.raises(OSError) as caught:  # noqa: PT011 - errno is checked
        root.open(parts, READ)
    assert caught.value.errno == errno.EXDEV


@pytest.mark.parametrize(
    ("parts", "code"),
    [
        (("none",), errno.ENOENT),
        (("none", "f"), errno.ENOENT),
        (("a", "b", "f", "below"), errno.ENOTDIR),
    ],
)
def test_what_is_not_there_is_said_as_the_system_says_it(
    ws: Path, parts: tuple[str, ...], code: int
) -> None:
    with OpenRoot(ws) as root, pytest.raises(OSError) as caught:  # noqa: PT011 - errno is checked
        root.open(parts, READ)
    assert caught.value.errno == code


def test_folder_that_may_not_be_listed_is_gone_through(ws: Path) -> None:
    (ws / "a").chmod(0o311)
    try:
        assert read(ws, "a", "b", "f") == b"inside"
    finally:
        (ws / "a").chmod(0o755)


def test_root_that_is_a_link_is_not_opened(ws: Path) -> None:
    (ws.parent / "other").symlink_to("ws")
    with pytest.raises(OSError):  # noqa: PT011 - which one depends on the system
        OpenRoot(ws.parent / "other")


def test_open_root_stays_the_same_folder_when_another_takes_its_name(ws: Path) -> None:
    with OpenRoot(ws) as root:
        ws.rename(ws.parent / "moved")
        ws.symlink_to("out")
        with os.fdopen(root.open(("a", "b", "f"), READ), "rb") as file:
            assert file.read() == b"inside"


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_missing_folders_are_made_by_the_umask(ws: Path, mask: int) -> None:
    old, before = os.umask(mask), open_files()
    try:
        with OpenRoot(ws) as root:
            descriptor = root.make_folder(("a", "new", "deep"))
            os.close(descriptor)
    finally:
        os.umask(old)
    assert stat.S_IMODE((ws / "a/new/deep").stat().st_mode) == 0o777 & ~mask
    assert open_files() == before


@pytest.mark.parametrize("target", ["../out", "a", "missing"])
def test_no_folder_is_made_through_a_link(ws: Path, target: str) -> None:
    (ws / "link").symlink_to(target)
    before = open_files()
    with OpenRoot(ws) as root, pytest.raises(OSError) as caught:  # noqa: PT011 - errno is checked
        root.make_folder(("link", "new"))
    assert caught.value.errno == errno.ELOOP
    assert sorted(path.name for path in ws.parent.rglob("*")) == [
        "a", "b", "f", "f", "link", "out", "ws",
    ]  # fmt: skip
    assert open_files() == before


def test_folder_that_somebody_else_makes_meanwhile_is_used(
    ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mkdir = os.mkdir

    def made_before(name: str, *, dir_fd: int) -> None:
        mkdir(name, dir_fd=dir_fd)
        mkdir(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "mkdir", made_before)
    with OpenRoot(ws) as root:
        os.close(root.make_folder(("new",)))
    assert (ws / "new").is_dir()


def test_link_put_where_a_folder_was_to_be_made_is_not_used(
    ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def put_link(name: str, *, dir_fd: int) -> None:
        os.symlink(ws.parent / "out", name, dir_fd=dir_fd)
        raise FileExistsError(errno.EEXIST, "there", name)

    monkeypatch.setattr(os, "mkdir", put_link)
    with OpenRoot(ws) as root, pytest.raises(OSError) as caught:  # noqa: PT011 - errno is checked
        root.make_folder(("new", "f"))
    assert caught.value.errno == errno.ELOOP


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOTSUP])
def test_file_system_that_cannot_sync_folders_is_no_failure(
    monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(code, "no")

    monkeypatch.setattr(os, "fsync", refuse)
    sync_folder(0)


def test_disk_that_fails_to_sync_a_folder_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="broken"):
        sync_folder(0)


@pytest.mark.parametrize("code", [errno.EINTR, errno.EAGAIN])
def test_interrupted_call_is_made_again(
    ws: Path, monkeypatch: pytest.MonkeyPatch, way_of_opening: str, code: int
) -> None:
    if way_of_opening != "openat2":
        pytest.skip("Python itself calls open again")
    real, answers = open_beneath._syscall(), [code, code]

    def disturbed(*arguments: object) -> int:
        if answers:
            open_beneath.ctypes.set_errno(answers.pop())
            return -1
        return int(real(*arguments))

    monkeypatch.setattr(open_beneath, "_syscall", lambda: disturbed)
    assert read(ws, "a", "b", "f") == b"inside"


def test_opening_costs_little_more_than_a_plain_open(ws: Path) -> None:
    """20 µs a file at most, measured as the best of many rounds."""

    def beneath() -> None:
        with OpenRoot(ws) as root:
            os.close(root.open(("a", "b", "f"), READ))

    def plain() -> None:
        os.close(os.open(ws / "a" / "b" / "f", READ | os.O_NOFOLLOW))

    def best(what: object) -> float:
        rounds = []
        for _ in range(20):
            start = time.perf_counter()
            for _ in range(100):
                what()  # type: ignore[operator]
            rounds.append((time.perf_counter() - start) / 100)
        return min(rounds)

    assert best(beneath) - best(plain) < 20e-6
