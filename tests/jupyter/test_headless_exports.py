"""An executed notebook reads well as a file and in every export, and asks nothing of the network."""

from __future__ import annotations

import ast
import copy
import json
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import bleach
import mistune
import nbformat
import pytest
from nbconvert.exporters import HTMLExporter, LatexExporter, MarkdownExporter, PythonExporter
from nbformat import NotebookNode

from shard_jupyter.surfaces.render_static.bundle import make_bundle
from shard_jupyter.surfaces.render_static.record.record_items import (
    ChangedFile,
    DeniedCall,
    NoticeItem,
    ProseItem,
    SteerItem,
    StepItem,
)
from shard_jupyter.surfaces.render_static.turn_record import TurnRecord
from shard_jupyter.types.render_descriptors import DiffDescriptor, Hunk
from tests.jupyter.agent_kernel import TRANSCRIPT
from tests.jupyter.headless import Scratch, bundles, open_client, read_notebook
from tests.jupyter.sample_talk import make_notebook, talking
from tests.unit.surfaces.render_static.hostile import (
    RENDERED,
    RENDERED_ATTRIBUTES,
    WHOLE,
    Checker,
    assert_visible,
    check_html,
    check_markdown,
    every_kind,
)

pytestmark = [pytest.mark.proves("D05", "J3.32", "J3.38"), pytest.mark.timeout(120)]

# What the sanitiser of GitHub keeps, without what only HTML of its own uses.
COMMON = frozenset(
    (
        *("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "pre", "code"),
        *("em", "strong", "del", "a", "blockquote", "details", "summary", "span"),
        *("table", "thead", "tbody", "tr", "th", "td"),
    )
)
COMMON_ATTRIBUTES = {"a": ["href"], "ol": ["start"], "td": ["align"], "th": ["align"]}
ALIGNED = {"align", "style"}


def every_item(evil: str) -> TurnRecord:
    """A turn with every kind of item and descriptor, all names and texts of which are `evil`."""
    diff = DiffDescriptor(
        path=evil,
        hunks=(Hunk(old_start=1, old_lines=1, new_start=1, new_lines=1, lines=(f"+{evil}",)),),
        added=1,
    )
    steps = [
        StepItem(
            number=number,
            tool="bash",
            verb="Run",
            target=evil,
            state="denied" if number == 2 else "ok",
            result=evil,
            render=(part,),
        )
        for number, part in enumerate((diff, *every_kind(evil)), 1)
    ]
    return TurnRecord(
        agent=evil,
        model=evil,
        mode="build",
        prompt=evil,
        deterministic=True,
        state="failed",
        outcome="failed",
        items=(
            ProseItem(text=evil),
            *steps,
            NoticeItem(message=evil, tone="warn"),
            SteerItem(text=evil),
        ),
        answer=f"Mended: Grüße, 世界 🙂\n\n{evil}",
        changed_files=(ChangedFile(path=evil, added=1, steps=(1,)),),
        denials=(DeniedCall(tool="bash", target=evil, reason=evil, would_allow=evil),),
        error={"code": "x", "message": evil, "next_step": "Try again."},
        resets_at="2026-01-01T00:00:00+00:00",
        summary="Read 3 files",
        step_count=len(steps),
        is_shortened=True,
    )


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A notebook file that was run, with one more agent cell that shows all there is."""
    made = make_notebook()
    with (
        talking(tmp_path_factory.mktemp("exports")) as scratch,
        open_client(scratch, made) as client,
    ):
        for at, cell in enumerate(made.cells):
            client.execute_cell(cell, at)
        made.cells = [cell for cell in made.cells if "--quiet" not in cell.source]
        for evil in ("denied: Read main.py", *WHOLE):
            cell = nbformat.v4.new_code_cell("%%shard\nAll there is.", execution_count=9)
            bundle = make_bundle(every_item(evil))
            cell.outputs = [nbformat.v4.new_output("display_data", data=bundle)]
            made.cells.append(cell)
        path = scratch.work / "saved.ipynb"
        nbformat.write(made, path)
        return path


@pytest.fixture
def reopened(saved: Path) -> NotebookNode:
    return read_notebook(saved)


def forms(made: NotebookNode, mime: str) -> list[Any]:
    return [bundle[mime] for bundle in bundles(made)]


class TestFile:
    """The file alone: no kernel, no extension of ours."""

    def test_it_is_valid_and_has_every_form_of_every_turn(self, reopened: NotebookNode) -> None:
        nbformat.validate(reopened)
        assert len(bundles(reopened)) > 5
        assert "widgets" not in reopened.metadata

    def test_the_record_is_read_again(self, reopened: NotebookNode) -> None:
        for record in forms(reopened, TRANSCRIPT):
            read = TurnRecord.model_validate_json(json.dumps(record))
            assert read.model_dump(mode="json") == record

    def test_each_form_is_harmless_text(self, reopened: NotebookNode) -> None:
        for bundle in bundles(reopened):
            assert_visible(bundle["text/plain"])
            check_html(bundle["text/html"])
            check_markdown(bundle["text/markdown"])

    def test_each_form_tells_the_whole_turn(self, reopened: NotebookNode) -> None:
        first = bundles(reopened)[0]
        for mime in ("text/plain", "text/markdown", "text/html"):
            told = first[mime]
            for part in ("Done", "Listed 1 folder", "main.py", "missing.py does not exist",
                         "exit 3", "Now the change.", "2 files changed", "+5 -1",
                         "return 'Hello ' + name", "Grüße, 世界 🙂", "⟨U+001B⟩", "⟨U+202E⟩"):  # fmt: skip
                assert part in told, (mime, part)
            assert "track.png" in told
        for mime in ("text/plain", "text/markdown", "text/html"):
            told = bundles(reopened)[1][mime]
            assert "rm -rf build" in told
            assert "This rule would allow it" in told

    def test_plain_text_is_made_of_short_blocks_without_markup(
        self, reopened: NotebookNode
    ) -> None:
        for told in forms(reopened, "text/plain")[:4]:
            assert told.endswith("\n")
            assert "\n\n\n" not in told
            assert not [line for line in told.split("\n") if line != line.rstrip()]
            assert "<details" not in told
            assert "**Done**" not in told


def text_of(page: str) -> str:
    collector = _Text()
    collector.feed(page)
    collector.close()
    return " ".join("".join(collector.parts).split())


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []

    def handle_data(self, data: str) -> None:
        self.parts.append(data)


class _Loaded(HTMLParser):
    """Everything in a page that runs or is fetched."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in {"script", "iframe", "link", "style", "img", "object", "embed", "base", "form",
                   "video", "audio", "svg", "meta"}:  # fmt: skip
            self.found.append((tag, given.get("src") or given.get("href")))
        self.found += [(name, value) for name, value in attrs if name.startswith("on")]
        self.found += [("style", value) for name, value in attrs if name == "style"]


def loaded_by(page: str) -> list[tuple[str, str | None]]:
    loaded = _Loaded()
    loaded.feed(page)
    loaded.close()
    return loaded.found


def without_ours(made: NotebookNode) -> NotebookNode:
    plain = copy.deepcopy(made)
    for cell in plain.cells:
        for output in cell.get("outputs", []):
            if TRANSCRIPT in output.get("data", {}):
                output.data = {"text/html": "<p>ours</p>", "text/plain": "ours"}
    return plain


class TestSanitised:
    def test_what_github_keeps_is_all_of_it(self, reopened: NotebookNode) -> None:
        for page in forms(reopened, "text/html"):
            kept = bleach.clean(page, tags=COMMON, attributes=COMMON_ATTRIBUTES, strip=False)
            assert text_of(kept) == text_of(page)

    def test_without_folds_and_tables_the_words_still_stand_apart(
        self, reopened: NotebookNode
    ) -> None:
        few = COMMON - {"details", "summary", "table", "thead", "tbody", "tr", "th", "td", "span"}
        for page in forms(reopened, "text/html"):
            kept = bleach.clean(page, tags=few, attributes={"a": ["href"]}, strip=True)
            assert text_of(kept) == text_of(page)


class TestExports:
    def test_html_has_the_transcript_and_loads_nothing_for_it(self, reopened: NotebookNode) -> None:
        page, _ = HTMLExporter().from_notebook_node(reopened)
        for part in ("Listed 1 folder", "Grüße, 世界 🙂", "This rule would allow it"):
            assert part in page
        bare, _ = HTMLExporter().from_notebook_node(without_ours(reopened))
        assert loaded_by(page) == loaded_by(bare)
        assert "vnd.jupyter.widget" not in page

    def test_markdown_has_the_transcript_and_nothing_that_runs(
        self, reopened: NotebookNode
    ) -> None:
        page, resources = MarkdownExporter().from_notebook_node(reopened)
        for part in ("Listed 1 folder", "Grüße, 世界 🙂", "This rule would allow it"):
            assert part in page
        checker = Checker(RENDERED, {**RENDERED_ATTRIBUTES, "td": ALIGNED, "th": ALIGNED})
        checker.feed(str(mistune.create_markdown(escape=False, plugins=["table"])(page)))
        checker.close()
        assert checker.wrong == []
        assert resources["outputs"] == {}

    def test_the_script_is_python_and_holds_the_prompts(self, reopened: NotebookNode) -> None:
        page, _ = PythonExporter().from_notebook_node(reopened)
        ast.parse(page)
        assert "run_cell_magic('shard', '--model openai:scripted --ask yes'" in page
        assert "Listed 1 folder" not in page

    @pytest.mark.skipif(shutil.which("pandoc") is None, reason="nbconvert needs pandoc for this")
    def test_latex_has_the_transcript(self, reopened: NotebookNode) -> None:
        reopened.cells = reopened.cells[:-3]
        page, resources = LatexExporter().from_notebook_node(reopened)
        for part in (
            "Listed 1 folder",
            "Grüße, 世界",
            "This rule would allow it",
            "2 files changed",
        ):
            assert part in page
        assert r"\includegraphics" not in page[page.index(r"\begin{document}") :]
        assert resources["outputs"] == {}


@pytest.mark.slow
@pytest.mark.parametrize("form", ["html", "markdown", "script", "notebook", "slides", "rst"])
def test_nbconvert_writes_each_form_of_the_file(saved: Path, tmp_path: Path, form: str) -> None:
    if form == "rst" and shutil.which("pandoc") is None:
        pytest.skip("nbconvert needs pandoc for this")
    scratch = Scratch(tmp_path)
    path = scratch.work / "saved.ipynb"
    shutil.copy(saved, path)
    ended = scratch.convert(path, form, "--output", "exported")
    ended.check()
    (written,) = _exported(scratch)
    assert "shard" in written.read_text(encoding="utf-8")


def _exported(scratch: Scratch) -> Iterator[Path]:
    return scratch.work.glob("exported*")
