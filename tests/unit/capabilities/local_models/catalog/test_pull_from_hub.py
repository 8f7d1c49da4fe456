"""The publisher's hub, with everything that a server may do wrong."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from shard_jupyter.capabilities.local_models.catalog.fetch.web import Patience
from shard_jupyter.errors import UserError
from tests.fakes.model_shop import (
    ETAG,
    HUB_PATH,
    Answer,
    Shop,
    open_shop,
    redirect,
    send,
    send_and_stall,
    send_text,
    send_whole,
    send_without_length,
    status,
)
from tests.fakes.pull_rig import DATA, PullRig

pytestmark = pytest.mark.proves("C10")
CUT = 20_000


@pytest.fixture
def hub_only(rig: PullRig) -> PullRig:
    rig.use(indexes=())
    return rig


async def test_a_good_hub_gives_the_file_whole_checked_private_and_marked(
    hub_only: PullRig,
) -> None:
    hub_only.shop.put(HUB_PATH, send(DATA))
    assert await hub_only.pull() == hub_only.target
    await hub_only.check_whole()
    assert hub_only.told[0].phase == "ask"
    last = hub_only.told[-1]
    assert (last.phase, last.done_bytes, last.total_bytes) == ("download", len(DATA), len(DATA))


async def test_what_is_here_and_checked_is_not_fetched_again(hub_only: PullRig) -> None:
    hub_only.shop.put(HUB_PATH, send(DATA))
    await hub_only.pull()
    await hub_only.pull()
    assert hub_only.asked_hub() == [None]


async def test_a_cut_connection_goes_on_where_it_was(hub_only: PullRig) -> None:
    hub_only.shop.put(HUB_PATH, send(DATA, cut_after=CUT), send(DATA))
    await hub_only.pull()
    assert hub_only.asked_hub() == [None, f"bytes={CUT}-"]
    assert hub_only.asked_hub("if-range") == [None, ETAG]
    await hub_only.check_whole()


async def test_a_pull_of_another_day_goes_on_where_the_first_was(hub_only: PullRig) -> None:
    hub_only.shop.put(HUB_PATH, send(DATA, cut_after=CUT), status(404))
    await hub_only.pull_in_vain()
    assert hub_only.part.stat().st_size == CUT
    assert hub_only.part.stat().st_mode & 0o777 == 0o600
    hub_only.shop.put(HUB_PATH, send(DATA))
    await hub_only.pull()
    assert hub_only.asked_hub()[-1] == f"bytes={CUT}-"
    assert "check" in {progress.phase for progress in hub_only.told}
    await hub_only.check_whole()


async def test_what_another_hub_began_is_not_gone_on_with(hub_only: PullRig) -> None:
    hub_only.shop.put(HUB_PATH, send(bytes(len(DATA)), cut_after=CUT), status(404))
    await hub_only.pull_in_vain()
    with open_shop() as mirror:
        mirror.put(HUB_PATH, send(DATA))
        hub_only.use(hub=mirror.url)
        await hub_only.pull()
        assert mirror.asked(HUB_PATH) == [None]
    await hub_only.check_whole()


@pytest.mark.parametrize("tag", ['W/"weak"', ""])
async def test_without_a_strong_mark_it_goes_on_and_the_hash_decides(
    hub_only: PullRig, tag: str
) -> None:
    hub_only.shop.put(HUB_PATH, send(DATA, cut_after=CUT, etag=tag), send(DATA, etag=tag))
    await hub_only.pull()
    assert hub_only.asked_hub() == [None, f"bytes={CUT}-"]
    assert hub_only.asked_hub("if-range") == [None, None]
    await hub_only.check_whole()


async def test_a_file_that_changed_meanwhile_is_begun_anew(hub_only: PullRig) -> None:
    old = bytes(len(DATA))
    hub_only.shop.put(HUB_PATH, send(old, cut_after=CUT, etag='"old"'), send(DATA))
    await hub_only.pull()
    assert hub_only.asked_hub() == [None, f"bytes={CUT}-"]
    await hub_only.check_whole()


async def test_two_files_mixed_by_a_server_without_marks_are_told_by_the_hash(
    hub_only: PullRig,
) -> None:
    old = bytes(len(DATA))
    hub_only.shop.put(HUB_PATH, send(old, cut_after=CUT, etag=""), status(404))
    await hub_only.pull_in_vain()
    hub_only.shop.put(HUB_PATH, send(DATA, etag=""))
    await hub_only.pull()
    assert hub_only.asked_hub()[-2:] == [f"bytes={CUT}-", None]
    await hub_only.check_whole()


async def test_a_server_that_ignores_ranges_is_read_from_the_start(hub_only: PullRig) -> None:
    hub_only.shop.put(HUB_PATH, send(DATA, cut_after=CUT), send_whole(DATA))
    await hub_only.pull()
    assert hub_only.asked_hub() == [None, f"bytes={CUT}-"]
    await hub_only.check_whole()


async def test_a_refused_range_begins_anew(hub_only: PullRig) -> None:
    hub_only.shop.put(HUB_PATH, send(DATA, cut_after=CUT), status(416), send(DATA))
    await hub_only.pull()
    assert hub_only.asked_hub() == [None, f"bytes={CUT}-", None]
    await hub_only.check_whole()


async def test_a_range_that_was_not_asked_for_begins_anew(hub_only: PullRig) -> None:
    wrong = status(206, Content_Range=f"bytes 0-{len(DATA) - 1}/{len(DATA)}")
    hub_only.shop.put(HUB_PATH, send(DATA, cut_after=CUT), wrong, send(DATA))
    await hub_only.pull()
    assert hub_only.asked_hub() == [None, f"bytes={CUT}-", None]
    await hub_only.check_whole()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda part: part.write_bytes(DATA + b"more"),
        lambda part: part.write_bytes(bytes(CUT)),
        lambda part: part.with_name(f"{part.name}.json").write_bytes(b"{"),
        lambda part: part.with_name(f"{part.name}.json").unlink(),
        lambda part: part.with_name(f"{part.name}.json").write_bytes(b'{"origin": 1}'),
        lambda part: part.unlink(),
    ],
    ids=["longer", "other-bytes", "broken-note", "no-note", "wrong-note", "gone"],
)
async def test_a_spoilt_rest_of_an_earlier_pull_costs_time_and_nothing_else(
    hub_only: PullRig, spoil: Callable[[Path], object]
) -> None:
    hub_only.shop.put(HUB_PATH, send(DATA, cut_after=CUT), status(404))
    await hub_only.pull_in_vain()
    spoil(hub_only.part)
    hub_only.shop.put(HUB_PATH, send(DATA))
    await hub_only.pull()
    await hub_only.check_whole()


async def test_a_whole_rest_needs_no_request(hub_only: PullRig) -> None:
    hub_only.shop.put(HUB_PATH, send(DATA, cut_after=CUT), status(404))
    await hub_only.pull_in_vain()
    hub_only.part.write_bytes(DATA)
    asked = len(hub_only.asked_hub())
    await hub_only.pull()
    assert len(hub_only.asked_hub()) == asked
    await hub_only.check_whole()


async def test_a_login_page_of_the_network_does_not_cost_what_is_here(
    hub_only: PullRig,
) -> None:
    hub_only.shop.put(HUB_PATH, send(DATA, cut_after=CUT), send_text("Sign in", "text/html"))
    await hub_only.pull_in_vain()
    assert hub_only.part.read_bytes() == DATA[:CUT]


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("ALL_PROXY", "socks5://127.0.0.1:1", "bad_proxy"),
        ("ALL_PROXY", "gopher://127.0.0.1:1", "bad_proxy"),
        ("SSL_CERT_FILE", "/nowhere/cert.pem", "bad_certificates"),
    ],
    ids=["socks", "gopher", "certificates"],
)
async def test_settings_that_cannot_be_used_are_told(
    hub_only: PullRig, monkeypatch: pytest.MonkeyPatch, name: str, value: str, code: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(UserError) as caught:
        await hub_only.pull()
    assert caught.value.code == code
    assert name in caught.value.next_step


async def test_certificates_of_pip_that_are_not_there_are_told(hub_only: PullRig) -> None:
    hub_only.use(certificates="/nowhere/pip.pem")
    with pytest.raises(UserError, match="/nowhere/pip.pem") as caught:
        await hub_only.pull()
    assert caught.value.code == "bad_certificates"


async def test_a_proxy_is_used(hub_only: PullRig) -> None:
    with open_shop() as proxy:
        proxy.put("http://hub.example" + HUB_PATH, send(DATA))
        # As pip takes it: without a scheme.
        hub_only.use(hub="http://hub.example", proxy=proxy.url.removeprefix("http://"))
        await hub_only.pull()
    await hub_only.check_whole()


@pytest.mark.parametrize(
    ("answers", "reason", "times"),
    [
        ([send(DATA[:-1] + b"!")], "wrong SHA-256", 1),
        ([send(DATA[:-1])], f"has {len(DATA) - 1} bytes instead of {len(DATA)}", 1),
        ([send(DATA + b"!")], f"has {len(DATA) + 1} bytes instead of {len(DATA)}", 1),
        ([send_without_length(DATA + b"!")], "more than the expected", 1),
        ([send_without_length(DATA[:-1])], f"cut after {len(DATA) - 1} of", 2),
        ([status(401)], "asks for a login (HTTP 401)", 1),
        ([status(403)], "refuses it (HTTP 403)", 1),
        ([status(404)], "does not have it (HTTP 404)", 1),
        ([status(500)], "cannot give it (HTTP 500)", 4),
        ([status(429)], "(HTTP 429)", 4),
        ([send_text("<html>Sign in</html>", "text/html")], "a web page came instead", 1),
        ([redirect("http://192.0.2.1/model.gguf")], "without encryption", 1),
        ([redirect("file:///etc/passwd")], "no http(s) address", 1),
        ([redirect(HUB_PATH)], "in circles", 1),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_what_is_wrong_is_said_and_leaves_no_model(
    hub_only: PullRig, answers: list[Answer], reason: str, times: int
) -> None:
    hub_only.shop.put(HUB_PATH, *answers)
    said = await hub_only.pull_in_vain()
    assert reason in said
    assert f"{hub_only.shop.url.removeprefix('http://')}/Maker/Model-GGUF: " in said
    assert "in a browser" in said  # the way that is always left
    asked = len(hub_only.asked_hub())
    assert asked >= times if times > 1 else asked == (11 if "circles" in reason else 1)
    assert [p.note for p in hub_only.told if p.phase == "failed"] != []


@pytest.mark.parametrize("tag", ['"\xe9"', '"\x1b[2J"', '"' + "a" * 5000 + '"'])
async def test_a_mark_that_no_request_can_carry_is_none(hub_only: PullRig, tag: str) -> None:
    hub_only.shop.put(HUB_PATH, send(DATA, cut_after=CUT, etag=tag), send(DATA, etag=tag))
    await hub_only.pull()
    assert hub_only.asked_hub("if-range") == [None, None]
    await hub_only.check_whole()


async def test_impossible_numbers_in_a_head_are_no_numbers(hub_only: PullRig) -> None:
    odd = status(206, Content_Range=f"bytes {'9' * 5000}-5/6")
    hub_only.shop.put(HUB_PATH, send(DATA, cut_after=CUT), odd, send(DATA))
    await hub_only.pull()
    await hub_only.check_whole()


@pytest.mark.parametrize(
    "proxy", ["me:s3cret@", "gopher://me:s3cret@h:1", "http://me:s3/s3cret@h:1", "http://me:s3@[h"]
)
async def test_a_bad_proxy_is_told_without_its_password(hub_only: PullRig, proxy: str) -> None:
    hub_only.use(proxy=proxy)
    with pytest.raises(UserError) as caught:
        await hub_only.pull()
    assert "s3" not in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [send(DATA[:-1] + b"!"), send_without_length(DATA + b"!")],
    ids=["other-bytes", "too-many"],
)
async def test_a_wrong_file_leaves_no_bytes_for_the_next_time(
    hub_only: PullRig, wrong: Answer
) -> None:
    hub_only.shop.put(HUB_PATH, wrong)
    await hub_only.pull_in_vain()
    assert not hub_only.part.exists() or not hub_only.part.stat().st_size


async def test_a_server_that_comes_to_itself_is_asked_again(hub_only: PullRig) -> None:
    hub_only.shop.put(HUB_PATH, status(503), status(500), send(DATA))
    await hub_only.pull()
    await hub_only.check_whole()


async def test_a_packed_answer_is_refused(hub_only: PullRig) -> None:
    packed = gzip.compress(DATA)

    def answer(handler: object) -> None:
        handler.send_response(200)  # type: ignore[attr-defined]
        handler.send_header("Content-Encoding", "gzip")  # type: ignore[attr-defined]
        handler.end_headers()  # type: ignore[attr-defined]
        handler.wfile.write(packed)  # type: ignore[attr-defined]

    hub_only.shop.put(HUB_PATH, answer)
    assert "packed (gzip)" in await hub_only.pull_in_vain()
    assert hub_only.asked_hub("accept-encoding") == ["identity"]


async def test_a_redirect_on_the_same_server_is_followed(hub_only: PullRig) -> None:
    hub_only.shop.put(HUB_PATH, redirect("/cdn/blob?signed=1"))
    hub_only.shop.put("/cdn/blob?signed=1", send(DATA, cut_after=CUT), send(DATA))
    await hub_only.pull()
    assert hub_only.shop.asked("/cdn/blob?signed=1") == [None, f"bytes={CUT}-"]
    await hub_only.check_whole()


async def test_a_stalled_server_is_given_up_and_what_came_is_kept(hub_only: PullRig) -> None:
    hub_only.use(patience=Patience(5.0, 0.2, ()))
    came = threading.Event()
    hub_only.shop.put(HUB_PATH, send_and_stall(DATA, CUT, came, hub_only.shop))
    assert "nothing came for 0.2 seconds" in await hub_only.pull_in_vain()
    assert hub_only.part.read_bytes() == DATA[:CUT]


async def test_a_hub_that_is_not_there_is_told_at_once(hub_only: PullRig) -> None:
    with open_shop() as gone:
        url = gone.url
    hub_only.use(hub=url, patience=Patience(5.0, 5.0, (60.0,)))
    with anyio.fail_after(5):
        told = await hub_only.pull_in_vain()
    assert "cannot be reached: " in told
    assert "Errno" not in told


async def test_a_token_goes_to_the_hub_itself_and_nowhere_else(hub_only: PullRig) -> None:
    with open_shop() as elsewhere:
        hub_only.use(hub_token="hf_secret")
        hub_only.shop.put(HUB_PATH, redirect("/same-host"))
        hub_only.shop.put("/same-host", redirect(f"{elsewhere.url}/blob"))
        said = await hub_only.pull_in_vain()
        assert hub_only.asked_hub("authorization") == ["Bearer hf_secret"]
        assert elsewhere.requests == []
        assert "hf_secret" not in said


async def test_without_a_token_no_login_is_sent(hub_only: PullRig) -> None:
    hub_only.shop.put(HUB_PATH, send(DATA))
    await hub_only.pull()
    assert hub_only.asked_hub("authorization") == [None]


async def test_cancellation_keeps_what_has_come(hub_only: PullRig) -> None:
    came = threading.Event()
    shop: Shop = hub_only.shop
    shop.put(HUB_PATH, send_and_stall(DATA, CUT, came, shop))
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(hub_only.pull)
            await anyio.to_thread.run_sync(came.wait)
            group.cancel_scope.cancel()
    # What the server has sent need not have come.
    kept = hub_only.part.stat().st_size if hub_only.part.exists() else 0
    assert kept <= CUT
    shop.put(HUB_PATH, send(DATA))
    await hub_only.pull()
    assert hub_only.asked_hub()[-1] == (f"bytes={kept}-" if kept else None)
    await hub_only.check_whole()


async def test_a_listener_that_raises_ends_the_pull(hub_only: PullRig) -> None:
    hub_only.shop.put(HUB_PATH, send(DATA))

    def refuse(_: object) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    with pytest.raises(BrokenPipeError):
        await hub_only.pull(refuse)
    assert not hub_only.target.exists()
