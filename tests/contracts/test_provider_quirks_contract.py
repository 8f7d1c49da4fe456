"""Every wire quirk on every protocol on which it can happen (harness §2d and §4d)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import anyio
import pytest

from shard_jupyter.contracts.provider import Provider, TextDelta
from tests.fakes.mock_model import MORE_QUIRKS, QUIRKS
from tests.fakes.model_server import (
    PATHS,
    Conversation,
    MockModel,
    converse,
)
from tests.manifest_harness import QUIRKS as MANIFEST_QUIRKS

pytestmark = pytest.mark.proves(
    "A13",
    "H2d.split_utf8",
    "H2d.crlf",
    "H2d.comments",
    "H2d.nospace",
    "H2d.no_done",
    "H2d.empty_choices",
    "H2d.usage_last",
    "H2d.no_tool_id",
    "H2d.no_tool_index",
    "H2d.args_object",
    "H2d.args_once",
    "H2d.finish_stop",
    "H2d.finish_early",
    "H2d.null_content",
    "H2d.reasoning",
    "H2d.u2028",
    "H2d.status429",
    "H2d.status529",
    "H2d.error_mid",
    "H2d.drop_mid",
    "H2d.html_error",
    "H2d.bad_args",
    "H2d.unknown_tool",
    "H2d.same_id",
    "H4d.35",
    "H4d.36",
    "H4d.37",
    "H4d.38",
    "H4d.39",
    "H4d.40",
    "H4d.41",
    "H4d.42",
    "H4d.43",
    "H4d.44",
)
ARGUMENTS = {"path": "a.txt", "content": "Grüße, 世界 🙂"}
CALL = '@@call write {"path": "a.txt", "content": "Grüße, 世界 🙂"} '

CHAT_ONLY = "the protocol has no such field"
NOT_APPLICABLE: dict[tuple[str, str], str] = {
    **{
        (protocol, quirk): CHAT_ONLY
        for protocol in ("responses", "anthropic")
        for quirk in (
            "empty_choices", "usage_last", "no_tool_id", "no_tool_index", "wrong_index",
            "finish_early", "null_content",
        )
    },
    ("responses", "args_object"): "final arguments are text in every known server",
    ("responses", "finish_stop"): "there is no reason to be wrong: an item says that it is a call",
}  # fmt: skip
ALL_QUIRKS = {**QUIRKS, **MORE_QUIRKS}
HANGS = {"hang", "hang_start"}  # tests/providers/test_ending_early.py
FAIL_FIRST = {
    "status429": "rate_limit", "status529": "overloaded", "error_mid": "overloaded",
    "drop_mid": "cut", "html_error": "server", "end_early": "cut", "json_200": "overloaded",
}  # fmt: skip
NEVER_RUN = {"bad_args", "length_cut", "length_no_args", "args_list"}


def every_case() -> list[object]:
    return [
        pytest.param(
            protocol,
            quirk,
            id=f"{protocol}-{quirk}",
        )
        for protocol in PATHS
        for quirk in ALL_QUIRKS
        if quirk not in HANGS and (protocol, quirk) not in NOT_APPLICABLE
    ]


def check_usual(talk: Conversation) -> None:
    assert [call.arguments for call in talk.runs] == [ARGUMENTS, ARGUMENTS]
    assert not talk.broken
    assert not talk.failures


def check_failed_first(talk: Conversation, kind: str) -> None:
    assert {failure.kind for failure in talk.failures} == {kind}
    assert [call.arguments for call in talk.runs] == [ARGUMENTS, ARGUMENTS]


def check_never_run(talk: Conversation) -> None:
    """The first round's call is broken and told so; the second is sound."""
    assert len(talk.broken) == 1
    assert talk.broken[0].arguments == {}
    assert talk.broken[0].arguments_error.endswith("The call was not run.")
    assert [call.arguments for call in talk.runs] == [ARGUMENTS]


def check_length(talk: Conversation) -> None:
    assert [answer.stop_reason for answer in talk.answers] == ["length", "tool_calls", "end"]
    assert "length limit" in talk.broken[0].arguments_error
    check_never_run(talk)


def check_separators(talk: Conversation) -> None:
    assert "line\u2028sep\u2029par " in talk.closing
    check_usual(talk)


def check_half(talk: Conversation) -> None:
    assert "half \ufffd end" in talk.closing
    assert talk.runs[0].arguments == {key: f"{value}\ufffd" for key, value in ARGUMENTS.items()}
    assert len(talk.runs) == 2


def check_pair(talk: Conversation) -> None:
    shown = "".join(delta.text for delta in talk.deltas if isinstance(delta, TextDelta))
    assert "pair 🙂 end" in shown
    assert "\ufffd" not in shown
    check_usual(talk)


def check_unknown_tool(talk: Conversation) -> None:
    assert [call.name for call in talk.runs] == ["no_such_tool", "write"]


def check_thinking(talk: Conversation) -> None:
    kinds = [block.kind for block in talk.answers[0].message.content]
    assert kinds == ["thinking", "text", "tool_call"]
    check_usual(talk)


CHECKS: dict[str, Callable[[Conversation], None]] = {
    "length_cut": check_length,
    "length_no_args": check_length,
    "u2028": check_separators,
    "half_pair": check_half,
    "split_pair": check_pair,
    "unknown_tool": check_unknown_tool,
    "reasoning": check_thinking,
}


@pytest.fixture
async def provider(
    request: pytest.FixtureRequest, mock_model: MockModel
) -> AsyncIterator[Provider]:
    made = await mock_model.provider(request.node.callspec.params["protocol"])
    yield made
    await made.aclose()


@pytest.mark.parametrize(("protocol", "quirk"), every_case())
async def test_quirk_is_met(protocol: str, quirk: str, provider: Provider) -> None:
    """The tool runs exactly as often as asked and the closing text arrives."""
    with anyio.fail_after(30):
        talk = await converse(provider, f"go {CALL} @@times 2 @@quirk {quirk} @@")
    assert "Done. Grüße" in talk.closing
    ids = [call.call_id for call in (*talk.runs, *talk.broken)]
    assert len(set(ids)) == len(ids) == 2
    assert all(call_id.startswith("call-") for call_id in ids)
    if quirk in FAIL_FIRST:
        check_failed_first(talk, FAIL_FIRST[quirk])
    elif quirk in CHECKS:
        CHECKS[quirk](talk)
    elif quirk in NEVER_RUN:
        check_never_run(talk)
    else:
        check_usual(talk)


PARALLEL = (
    "no_tool_index", "no_tool_id", "wrong_index", "same_id", "const_id", "args_once",
    "args_object", "finish_early", "null_content",
)  # fmt: skip


@pytest.mark.parametrize(
    ("protocol", "quirk"),
    [
        pytest.param(
            protocol,
            quirk,
        )
        for protocol in PATHS
        for quirk in PARALLEL
        if (protocol, quirk) not in NOT_APPLICABLE
    ],
)
@pytest.mark.parametrize("and_no", ["", "@@quirk no_tool_id @@quirk no_tool_index"])
async def test_parallel_calls_stay_apart(
    protocol: str, quirk: str, and_no: str, provider: Provider
) -> None:
    """Three equal calls in each of two messages are six calls with six ids."""
    if protocol != "chat" and and_no:
        and_no = "@@quirk split_utf8"
    with anyio.fail_after(30):
        talk = await converse(provider, f"go {CALL} @@times 2 @@par 3 @@quirk {quirk} {and_no} @@")
    assert [call.arguments for call in talk.runs] == [ARGUMENTS] * 6
    assert len({call.call_id for call in talk.runs}) == 6
    assert not talk.broken


def test_every_quirk_of_the_manifest_has_a_case() -> None:
    named = {row.id.removeprefix("H2d.") for row in MANIFEST_QUIRKS}
    cases = {case.values[1] for case in every_case()}
    assert named <= cases


def test_every_quirk_has_a_case_or_a_reason() -> None:
    cases = {(case.values[0], case.values[1]) for case in every_case()}  # type: ignore[attr-defined]
    expected = {
        (protocol, quirk) for protocol in PATHS for quirk in ALL_QUIRKS if quirk not in HANGS
    }
    assert cases | set(NOT_APPLICABLE) == expected
    assert not cases & set(NOT_APPLICABLE)
