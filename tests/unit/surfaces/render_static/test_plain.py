"""Each descriptor as plain text, hostile ones too."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from pydantic import TypeAdapter

from shard_jupyter.surfaces.render_static.plain import render_all, render_plain
from shard_jupyter.types.plans import PlanStep
from shard_jupyter.types.render_descriptors import (
    ApprovalDescriptor,
    DiffDescriptor,
    Hunk,
    ImageDescriptor,
    KvDescriptor,
    KvPair,
    MarkdownDescriptor,
    PlanDescriptor,
    ProgressDescriptor,
    RenderDescriptor,
    StatusDescriptor,
    TableDescriptor,
    TextDescriptor,
    TreeDescriptor,
    TreeNode,
    UsageDescriptor,
)
from shard_jupyter.types.wire_model import Unknown

pytestmark = pytest.mark.proves("B12")

DIFF = DiffDescriptor(
    path="src/a.py",
    hunks=(
        Hunk(
            old_start=1,
            old_lines=2,
            new_start=1,
            new_lines=2,
            lines=(" keep", "-old", "+new", "\\ No newline at end of file"),
        ),
    ),
    added=1,
    removed=1,
    cut_lines=4,
)
TREE = TreeDescriptor(
    root=TreeNode(label="src", children=(TreeNode(label="a.py", detail="12 lines"),))
)


def test_every_kind_reads_well() -> None:
    shown = render_all(
        [
            TextDescriptor(text="hello\n\tworld\n"),
            KvDescriptor(pairs=(KvPair(k="Runs in", v="/work"), KvPair(k="Undo", v="no\nnever"))),
            DIFF,
            TREE,
            ProgressDescriptor(label="Tests", current=212, total=340),
            ProgressDescriptor(label="Bytes", current=5),
            StatusDescriptor(label="saved", tone="success"),
            StatusDescriptor(label="not saved", tone="error"),
            StatusDescriptor(label="a plain remark"),
        ]
    )
    assert shown == snapshot(
        """\
hello
	world
Runs in: /work
Undo: no
  never
src/a.py  +1 -1
@@ -1,2 +1,2 @@
 keep
-old
+new
\\ No newline at end of file
(4 more lines)
src
  a.py  12 lines
Tests 212 of 340
Bytes 5
Done: saved
Error: not saved
a plain remark\
"""
    )


NEWER_KINDS: tuple[RenderDescriptor, ...] = (
    MarkdownDescriptor(text="**Bold** and `code`.\r\n\n- item"),
    TableDescriptor(
        columns=("city", "people"), rows=(("Oslo", "709037"), ("Bergen",)), total_rows=9
    ),
    ImageDescriptor(
        media_type="image/png", sha256="ab", size_bytes=5120, alt="a plot", width=640, height=480
    ),
    PlanDescriptor(title="Release", steps=(PlanStep(text="Test", done=True), PlanStep(text="Tag"))),
    ApprovalDescriptor(question="Run git push?", state="denied", by="you", note="not yet"),
    UsageDescriptor(input_tokens=61_000, output_tokens=4_400, cost_usd=0.28),
    ProgressDescriptor(label="Bytes", current=1_234_567, total=2_000_000.5),
)


def test_the_newer_kinds_read_well() -> None:
    assert render_all(NEWER_KINDS) == snapshot("""\
**Bold** and `code`.

- item
city    people
Oslo    709037
Bergen
(7 more rows)
[image: a plot, image/png, 640 × 480, 5.1 kB]
Release · 1 of 2 done
[x] Test
[ ] Tag
Denied by you · “not yet”: Run git push?
61.0k in · 4.4k out · $0.28
Bytes 1234567 of 2000000.5\
""")


def test_a_newer_kind_shows_its_fallback_or_its_name() -> None:
    adapter: TypeAdapter[RenderDescriptor] = TypeAdapter(RenderDescriptor)
    newer = adapter.validate_python({"kind": "chart", "fallback": "3 bars\x1b[0m"})
    assert isinstance(newer, Unknown)
    assert render_plain(newer) == "3 bars⟨U+001B⟩[0m"
    assert render_plain(adapter.validate_python({"kind": "chart"})) == "(chart)"


@given(st.text(alphabet="\x1b\r\n\t\u202e\u200bab:-+@"))
def test_no_text_steers_a_terminal_or_makes_a_line_of_its_own(evil: str) -> None:
    labels: list[RenderDescriptor] = [
        KvDescriptor(pairs=(KvPair(k=evil, v="v"),)),
        DiffDescriptor(path=evil, hunks=()),
        TreeDescriptor(root=TreeNode(label=evil, detail=evil)),
        ProgressDescriptor(label=evil, current=1),
    ]
    for descriptor in labels:
        assert "\n" not in render_plain(descriptor)
    for descriptor in (*labels, TextDescriptor(text=evil), StatusDescriptor(label=evil)):
        assert not set(render_plain(descriptor)) & set("\x1b\r\u202e\u200b")


def test_a_line_of_a_diff_cannot_pass_for_two() -> None:
    hunk = Hunk(old_start=1, old_lines=0, new_start=1, new_lines=1, lines=("+a\n-b",))
    shown = render_plain(DiffDescriptor(path="p", hunks=(hunk,)))
    assert shown.split("\n")[-1] == "+a⏎-b"
