"""What stays in the notebook: four forms, each within its limit, readable without anything else."""

from __future__ import annotations

import json
import time
from html.parser import HTMLParser

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nbconvert import HTMLExporter, MarkdownExporter
from nbconvert.filters.markdown_mistune import markdown2html_mistune

from shard_jupyter.surfaces.render_static.bundle import (
    MAX_JSON_BYTES,
    MAX_TEXT_BYTES,
    TRANSCRIPT_MIME,
    make_bundle,
)
from shard_jupyter.surfaces.render_static.html import render_html
from shard_jupyter.surfaces.render_static.markdown import render_markdown
from shard_jupyter.surfaces.render_static.plain import render_plain
from shard_jupyter.surfaces.render_static.turn_record import TurnRecord, TurnRecorder
from shard_jupyter.types.render_descriptors import TextDescriptor
from shard_jupyter.types.turns import Denial, ErrorInfo
from tests.unit.surfaces.render_static.hostile import (
    PIECES,
    WHOLE,
    assert_visible,
    check_html,
    check_markdown,
    every_kind,
)
from tests.unit.surfaces.render_static.turn_builder import TurnBuilder, make_diff, make_edit_turn

pytestmark = pytest.mark.proves("A08", "D05", "J3.32", "J3.38")

PICTURE = "some text ![x](http://evil.example/p.png) <img src='http://evil.example/q.png'>"
KINDS = tuple(every_kind(PICTURE))
MIMES = ("text/plain", "text/markdown", "text/html", TRANSCRIPT_MIME)


def check_bundle(record: TurnRecord) -> dict[str, str]:
    """Assert that every form is within its limit and harmless."""
    bundle = make_bundle(record)
    assert tuple(bundle) == MIMES
    for mime in MIMES[:3]:
        assert len(bundle[mime].encode("utf-8")) <= MAX_TEXT_BYTES
    kept = json.dumps(bundle[TRANSCRIPT_MIME], ensure_ascii=False, separators=(",", ":"))
    assert len(kept.encode("utf-8")) <= MAX_JSON_BYTES
    TurnRecord.model_validate(bundle[TRANSCRIPT_MIME])
    assert_visible(bundle["text/plain"])
    check_markdown(bundle["text/markdown"])
    check_html(bundle["text/html"])
    return bundle


def make_hostile_turn(evil: str) -> TurnBuilder:
    """Put `evil` wherever an agent, a model, a tool or a file can put text."""
    turn = TurnBuilder(model=evil, mode=evil)
    turn.say(evil)
    turn.call(evil, *every_kind(evil), path=evil)
    turn.ask(evil)
    turn.result(*every_kind(evil), text=evil)
    turn.call("edit", path=evil)
    turn.result(make_diff(evil, f"+{evil}", f"-{evil}", evil))
    turn.call("bash", command=evil)
    turn.result(status="denied", text=evil)
    denial = Denial(call_id=turn.call_id, tool=evil, reason=evil, would_allow=evil)
    error = ErrorInfo(code="x", message=evil, next_step=evil)
    turn.say(evil)
    turn.end(evil, "failed", error=error, denials=(denial,))
    return turn


def make_long_turn(count: int = 40, lines: int = 400) -> TurnBuilder:
    turn = TurnBuilder()
    output = "\n".join(f"[{n}/{lines}] compiling src/file_{n}.c & <b>" for n in range(lines))
    for number in range(count):
        turn.bash(f"make target-{number}", f"{number}: {output}")
        turn.edit(f"src/f{number % 5}.c", *[f"+int x{n};" for n in range(80)])
    turn.finish("Start of the answer.\n\n" + "A paragraph of it.\n\n" * 6000 + "End of the answer.")
    return turn


class TestLimits:
    def test_a_turn_of_ordinary_size_is_whole(self) -> None:
        bundle = check_bundle(make_edit_turn().record())
        assert "left out" not in str(bundle)
        assert TurnRecord.model_validate(bundle[TRANSCRIPT_MIME]) == make_edit_turn().record()

    def test_a_long_turn_keeps_head_and_tail_and_says_how_to_get_the_rest(self) -> None:
        bundle = check_bundle(make_long_turn().record())
        for mime in MIMES[:3]:
            assert "make target-0" in bundle[mime]
            assert "make target-39" in bundle[mime]
            assert "Start of the answer." in bundle[mime]
            assert "End of the answer." in bundle[mime]
            assert "characters are left out here" in bundle[mime]
            assert "%shard history shows all of it" in bundle[mime]
            assert len(bundle[mime]) > MAX_TEXT_BYTES // 2
        assert bundle[TRANSCRIPT_MIME]["is_shortened"] is True

    def test_of_very_many_steps_the_first_and_the_last_are_kept(self) -> None:
        bundle = check_bundle(make_long_turn(1_000, 2).record())
        for mime in MIMES[:3]:
            assert "target-0" in bundle[mime]
            assert "target-999" in bundle[mime]
            assert "items left out here" in bundle[mime]
            assert "2000 steps" in bundle[mime]

    @pytest.mark.parametrize("size", [100_000, 1_500_000])
    def test_no_single_text_breaks_the_limit(self, size: int) -> None:
        check_bundle(make_hostile_turn("<`&\u202e\n" * (size // 5)).record())

    def test_an_answer_in_one_block_is_cut_inside_it(self) -> None:
        turn = TurnBuilder()
        turn.finish("```py\n" + "x = 1\n" * 40_000 + "```\n\nThe end.")
        bundle = check_bundle(turn.record())
        assert "<p>The end.</p>" in bundle["text/html"]
        assert bundle["text/html"].count("<pre>") == 1
        assert bundle["text/markdown"].count("```") == 2

    @settings(deadline=None, max_examples=25)
    @given(
        st.lists(st.tuples(st.integers(0, 60_000), st.sampled_from(PIECES)), max_size=12),
        st.booleans(),
    )
    def test_any_turn_fits(self, parts: list[tuple[int, str]], ended: bool) -> None:
        turn = TurnBuilder()
        for size, piece in parts:
            text = piece * (size // len(piece))
            turn.say(text)
            turn.bash(text[:2000], text)
        if ended:
            turn.finish("ok")
        check_bundle(turn.record())


class TestHarm:
    @pytest.mark.parametrize("evil", [*PIECES, *WHOLE], ids=range(len(PIECES) + len(WHOLE)))
    def test_nothing_that_anybody_wrote_is_obeyed(self, evil: str) -> None:
        check_bundle(make_hostile_turn(evil).record())

    def test_half_characters_do_not_make_a_notebook_that_cannot_be_written(self) -> None:
        recorder = TurnRecorder(agent="a\ud800", prompt="b\udfff", deterministic=True)
        recorder.note("c\ud83d")
        json.dumps(check_bundle(recorder.record()), ensure_ascii=False).encode("utf-8")


class Finder(HTMLParser):
    """Finds what would fetch something when the page is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "a":
            self.found += [value for _, value in attrs if value and "evil.example" in value]


class TestNotebook:
    """Saved, reopened without a kernel, and exported: the transcript is there to read."""

    def notebook(self, bundle: dict[str, str]) -> nbformat.NotebookNode:
        cell = nbformat.v4.new_code_cell("%%shard\ngo")
        cell.outputs = [nbformat.v4.new_output("display_data", data=bundle)]
        return nbformat.v4.new_notebook(cells=[cell])

    def test_every_export_has_the_whole_transcript(self) -> None:
        notebook = self.notebook(make_bundle(make_edit_turn().record()))
        nbformat.validate(notebook)
        page, _ = HTMLExporter().from_notebook_node(notebook)
        source, _ = MarkdownExporter().from_notebook_node(notebook)
        for form in (page, source):
            for told in (
                "tally",
                "E   assert 12 == 52",
                "340 passed",
                "weekly data get",
                "+line 13",
            ):
                assert told in form

    def test_no_line_of_an_output_becomes_markdown_of_an_export(self) -> None:
        turn = TurnBuilder()
        turn.bash("cat x", "a\n\n# not a title\n\n- not a list\n   \n    x")
        turn.finish("ok")
        notebook = self.notebook(make_bundle(turn.record()))
        source, _ = MarkdownExporter().from_notebook_node(notebook)
        told = check_markdown(source.partition("```\n\n")[2])
        assert "# not a title" in told
        assert "<p>ok</p>" in source

    @pytest.mark.parametrize("number", range(len(KINDS)))
    @pytest.mark.parametrize("left_out", ["", "text/html", "text/plain text/html"])
    def test_every_kind_is_exported_and_loads_nothing(self, number: int, left_out: str) -> None:
        descriptor = KINDS[number]
        forms = {
            "text/plain": render_plain(descriptor),
            "text/markdown": render_markdown(descriptor),
            "text/html": render_html(descriptor),
        }
        kept = {mime: form for mime, form in forms.items() if mime not in left_out}
        notebook = self.notebook(kept)
        page, _ = HTMLExporter().from_notebook_node(notebook)
        source, _ = MarkdownExporter().from_notebook_node(notebook)
        assert "some text" in page or "1 in" in page
        for form in (page, str(markdown2html_mistune(source))):
            finder = Finder()
            finder.feed(form)
            assert finder.found == []


class TestCost:
    def test_a_turn_of_two_hundred_steps_is_cheap(self) -> None:
        turn = TurnBuilder()
        for number in range(200):
            turn.bash(f"pytest tests/test_{number}.py", "\n".join(f"ok {n}" for n in range(40)))
        turn.finish("ok")
        assert self.cost(turn.record()) < 0.1

    def test_a_growing_answer_is_not_rendered_anew_each_time(self) -> None:
        text = "".join(f"Paragraph {n} with `code` and **bold**.\n\n" for n in range(2_500))
        turn = TurnBuilder()
        item = turn.write("")
        recorder = turn.recorder()
        for at in range(0, len(text), 1_000):
            turn.write(text[at : at + 1_000], offset=at, item=item)
            recorder.take(turn.events[-1])
            make_bundle(recorder.record())
        assert len(text) > 90_000
        assert self.cost(recorder.record()) < 0.1

    def cost(self, record: TurnRecord) -> float:
        costs = []
        for _ in range(5):
            started = time.perf_counter()
            make_bundle(record)
            costs.append(time.perf_counter() - started)
        return min(costs)


def test_a_bundle_has_no_picture_in_it() -> None:
    turn = TurnBuilder()
    turn.call("read", path="a.png")
    turn.result(TextDescriptor(text="a.png: image/png, 5 bytes"))
    turn.finish("![a](data:image/png;base64,AAAA)")
    bundle = check_bundle(turn.record())
    assert "<img" not in bundle["text/html"]
    assert "![" not in bundle["text/markdown"]
