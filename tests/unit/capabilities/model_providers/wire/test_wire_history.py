"""A remembered conversation is sent exactly as a fresh one would be."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.capabilities.model_providers.anthropic_messages import anthropic_body
from shard_jupyter.capabilities.model_providers.openai_chat import chat_body
from shard_jupyter.capabilities.model_providers.openai_responses import responses_body
from shard_jupyter.capabilities.model_providers.wire.wire_history import WireHistory
from shard_jupyter.contracts.provider import ProviderRequest, ProviderSettings, RouteInfo
from shard_jupyter.types.content import ImageBlock, TextBlock, ToolCallBlock, ToolResultBlock
from shard_jupyter.types.messages import Message, user_text

pytestmark = pytest.mark.proves("A13")
BODIES = {"chat": chat_body, "responses": responses_body, "anthropic": anthropic_body}
ROUTE = RouteInfo(model_id="p:m", cloud=False)
IMAGE = ImageBlock(media_type="image/png", sha256="ab" * 32, size_bytes=3)


def make_round(number: int, text: str, vendor_id: str, image: bool) -> list[Message]:
    call = ToolCallBlock(
        call_id=f"call-{number}", name="read", arguments={"x": text}, vendor_id=vendor_id
    )
    parts = (TextBlock(text=text), IMAGE) if image else (TextBlock(text=text),)
    result = ToolResultBlock(call_id=call.call_id, name="read", content=parts)
    return [
        user_text(text),
        Message(role="assistant", content=(TextBlock(text=text), call)),
        Message(role="tool", content=(result,)),
    ]


def send(protocol: str, messages: list[Message], history: WireHistory, images=None) -> bytes:
    request = ProviderRequest(model="m", system="half \ud83d", messages=tuple(messages))
    body = BODIES[protocol](request, ROUTE, ProviderSettings(), images or {}, history)
    return history.encode_body(body)


rounds = st.lists(
    st.tuples(st.text(max_size=8), st.sampled_from(["", "call_0", "call_1"]), st.booleans()),
    max_size=5,
)


@pytest.mark.parametrize("protocol", BODIES)
@given(rounds=rounds, cut=st.integers(0, 6))
def test_a_conversation_that_grows_or_forks_is_sent_like_a_fresh_one(protocol, rounds, cut) -> None:
    history, messages = WireHistory(), []
    for number, (text, vendor_id, image) in enumerate(rounds):
        messages += make_round(number, text, vendor_id, image)
        sent = send(protocol, messages, history)
        assert sent == send(protocol, messages, WireHistory())
        json.loads(sent)
    fork = [*messages[:cut], user_text("another way")]
    assert send(protocol, fork, history) == send(protocol, fork, WireHistory())
    assert send(protocol, messages, history) == send(protocol, messages, WireHistory())


@pytest.mark.parametrize("protocol", BODIES)
def test_an_image_that_can_be_read_again_is_sent_again(protocol: str) -> None:
    history, messages = WireHistory(), make_round(0, "x", "", image=True)
    assert history.find_images(messages) == {IMAGE.sha256}
    missing = send(protocol, messages, history)
    found = send(protocol, messages, history, {IMAGE.sha256: "QUJD"})
    assert b"not available" in missing
    assert b"QUJD" in found
    assert send(protocol, messages, history) == missing


def test_images_of_an_abandoned_branch_are_not_looked_for() -> None:
    history = WireHistory()
    history.find_images(make_round(0, "x", "", image=True))
    assert history.find_images([user_text("other")]) == frozenset()
