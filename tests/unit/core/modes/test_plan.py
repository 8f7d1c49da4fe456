from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.core.modes.build import BUILD
from shard_jupyter.core.modes.controller import ModeController
from shard_jupyter.core.modes.plan import PLAN, extract_plan, render_active_plan
from shard_jupyter.errors import UnknownMode

pytestmark = pytest.mark.proves("A07")


def test_the_steps_of_the_last_plan_section_are_kept() -> None:
    answer = (
        "Thinking…\n## Implementation Plan\n1. old\n\n# Implementation plan\r\n"
        "1. Read `a.py`\n   - a detail\n2) [x] Add a test\n- run it\n\n## Notes\n3. not a step\n"
    )
    plan = extract_plan(answer)
    assert plan is not None
    assert [(s.text, s.done) for s in plan.steps] == [
        ("Read `a.py`", False),
        ("Add a test", True),
        ("run it", False),
    ]


@pytest.mark.parametrize("answer", ["", "no plan", "## Implementation Plan\n\nnothing", "1. x"])
def test_no_plan_section_means_no_plan(answer: str) -> None:
    assert extract_plan(answer) is None


@given(st.text())
def test_any_answer_is_read_without_an_error(answer: str) -> None:
    plan = extract_plan("## Implementation Plan\n1. a\n" + answer)
    assert plan is not None


def test_an_active_plan_is_rendered_with_its_ticks() -> None:
    plan = extract_plan("## Implementation Plan\n1. a\n2. [x] b")
    assert plan is not None
    assert render_active_plan(plan) == "## Active Plan\n1. [ ] a\n2. [x] b"


def test_an_unknown_mode_names_the_nearest_and_all_known() -> None:
    modes = ModeController({"build": BUILD, "plan": PLAN}, "build")
    with pytest.raises(UnknownMode, match="Did you mean 'plan'.*build, plan"):
        modes.switch("plna")
    assert modes.current is BUILD
