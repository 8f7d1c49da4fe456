"""The words of UI §6.2, and numbers as people read them; unknown stays unknown."""

from __future__ import annotations

import pytest

from shard_jupyter.surfaces.render_static.words.descriptor_words import show_approval, show_usage
from shard_jupyter.surfaces.render_static.words.numbers import show_bytes, show_clock
from shard_jupyter.types.render_descriptors import ApprovalDescriptor, UsageDescriptor

pytestmark = pytest.mark.proves("A08")


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"state": "waiting"}, "Needs your answer"),
        ({"state": "allowed", "by": "you"}, "Allowed by you, once"),
        ({"state": "allowed", "by": "you", "covers": "session"}, "Allowed by you, for this session"),
        ({"state": "allowed", "by": "you", "covers": "always", "rule": "allow ls"},
         "Allowed by you, always (allow ls)"),
        ({"state": "allowed", "by": "you", "edited": True}, "Allowed by you, edited"),
        ({"state": "allowed", "by": "rule", "rule": "allow ls"}, "Allowed by rule · allow ls"),
        ({"state": "allowed", "by": "mode", "rule": "build"}, "Allowed by mode · build"),
        ({"state": "allowed", "by": "cli"}, "Allowed in the command line"),
        ({"state": "allowed", "by": "ada"}, "Allowed by ada"),
        ({"state": "denied", "by": "you"}, "Denied by you"),
        ({"state": "denied", "by": "you", "note": "use uv"}, "Denied by you · “use uv”"),
        ({"state": "denied", "by": "rule", "rule": "deny push"}, "Denied by rule · deny push"),
        ({"state": "denied", "by": "nobody"}, "Denied: no one to ask"),
        ({"state": "denied", "by": "web"}, "Denied in another window"),
        ({"state": "expired", "note": "no answer in 10 min"},
         "Expired, not run · no answer in 10 min"),
        ({"state": "withdrawn", "note": "the turn was stopped"},
         "Withdrawn, not run · the turn was stopped"),
    ],
)  # fmt: skip
def test_how_a_request_ended(fields: dict[str, object], told: str) -> None:
    approval = ApprovalDescriptor.model_validate({"question": "Run ls?", **fields})
    assert show_approval(approval) == told


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({}, "tokens unknown · cost unknown"),
        ({"input_tokens": 0, "output_tokens": 950, "cost_usd": 0.001}, "0 in · 950 out · <$0.01"),
        ({"input_tokens": 48_200, "at_least": True, "cost_usd": 0.21},
         "48.2k+ in · out unknown · $0.21"),
        ({"input_tokens": 1_200_000, "output_tokens": 3, "context_tokens": 52_000},
         "1.2M in · 3 out · cost unknown"),
        ({"input_tokens": 1, "output_tokens": 1, "cost_usd": 0.0, "context_tokens": 52_000,
          "context_window": 200_000}, "1 in · 1 out · $0.00 · 26 % of 200k"),
    ],
)  # fmt: skip
def test_what_it_took(fields: dict[str, object], told: str) -> None:
    assert show_usage(UsageDescriptor.model_validate(fields)) == told


def test_numbers() -> None:
    assert [show_clock(each) for each in (0.4, 42, 61, 3730)] == ["0:00", "0:42", "1:01", "1:02:10"]
    sizes = (5, 950, 5_120, 12_400, 4_200_000)
    assert [show_bytes(each) for each in sizes] == ["5 B", "950 B", "5.1 kB", "12 kB", "4.2 MB"]
