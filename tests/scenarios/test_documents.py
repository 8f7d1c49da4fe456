"""What the README and the how-to pages say can be done is done here, page by page."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from shard_jupyter.surfaces.cli.command_tree import build_parser
from tests.demo_recording import DEMO, PROMPT
from tests.fakes.model_server import MockModel
from tests.fakes.terminal import Terminal
from tests.notebook_scripts import shard_cells
from tests.scenarios.command_line import ROOT, SHARD, Person

pytestmark = pytest.mark.proves("B11", "B12", "E04")
PAGES = ("README.md", *sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/how-to/*.md")))
FENCE = re.compile(
    r"(?:^`(?P<file>[^`\n]+)`:\n\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
RUN = {"python": [sys.executable, "-c"], "sh": ["bash", "-euo", "pipefail", "-c"]}
GAP = "[...]"


@dataclass(frozen=True)
class Block:
    """A piece of code of a page; `file` is where the page says that it is written to."""

    kind: str
    text: str
    file: str | None


def blocks_of(page: str) -> Iterator[Block]:
    text = (ROOT / page).read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        yield Block(found["kind"], found["text"], found["file"])


@pytest.fixture
def reader(tmp_path: Path, mock_model: MockModel) -> Person:
    """Somebody in the demo project, with `shard` on the PATH and a server behind every address."""
    person = Person(tmp_path, mock_model.url)
    shutil.copytree(DEMO / "project", person.project, dirs_exist_ok=True)
    shutil.copy(DEMO / "cassette.jsonl", person.project / "agent.jsonl")
    program = tmp_path / "bin/shard"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {" ".join(SHARD)} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    person.environ |= {
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "OPENAI_API_KEY": "sk-000000000000000000000000",
        "LAB_KEY": "sk-111111111111111111111111",
    }
    return person


@pytest.mark.parametrize("page", PAGES)
def test_every_command_and_program_of_the_page_works(page: str, reader: Person) -> None:
    ran = 0
    for block in blocks_of(page):
        if block.file is not None:
            target = reader.project / block.file.replace("~", str(reader.root))
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.text, encoding="utf-8")
        elif block.kind in RUN:
            done = subprocess.run(
                [*RUN[block.kind], block.text],
                cwd=reader.project,
                env=reader.environ,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=50,
                check=False,
            )
            assert done.returncode == 0, f"{block.text}\n{done.stdout!r}\n{done.stderr!r}"
            ran += 1
    assert ran


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_run_written_or_shown(page: str) -> None:
    kinds = {block.kind for block in blocks_of(page) if block.file is None}
    # The cells of a page are run by tests/jupyter/test_document_cells.py.
    assert kinds <= {*RUN, "console", "ipython"}
    text = (ROOT / page).read_text(encoding="utf-8")
    assert text.count("```") == 2 * len(list(blocks_of(page)))


@pytest.mark.parametrize("page", [*PAGES, "docs/architecture.md", "CHANGELOG.md"])
def test_every_link_leads_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text)]
    gone = [link for link in links if not (ROOT / page).parent.joinpath(link).exists()]
    assert gone == []


def test_what_ci_wrote_is_what_the_page_promises(reader: Person) -> None:
    test_every_command_and_program_of_the_page_works("docs/how-to/run-in-ci.md", reader)
    events = (reader.project / "events.jsonl").read_text(encoding="utf-8")
    assert '"outcome":"completed"' in events
    assert (reader.project / "CHANGES.md").exists()
    assert PROMPT in (ROOT / "docs/how-to/run-in-ci.md").read_text(encoding="utf-8")


class TestReadme:
    def shown(self) -> list[str]:
        return [block.text for block in blocks_of("README.md") if block.kind == "console"]

    def test_the_first_command_installs_and_runs_the_demo(self) -> None:
        first, *_ = self.shown()
        assert first.count("\n") == 1
        assert first.endswith(" && .venv/bin/shard demo\n")
        assert build_parser().parse_args(["demo"]).command == "demo"
        assert_extras_exist(first)

    def test_the_last_command_runs_a_task_that_exists(self) -> None:
        command = self.shown()[-1]
        assert command.endswith(".venv/bin/poe test\n")
        assert "[tool.poe.tasks]" in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
        assert_extras_exist(command)

    def test_the_transcript_asks_what_the_notebook_asks(self) -> None:
        """That it is what is shown: tests/jupyter/test_demo_with_model.py, where a model is."""
        pieces = self.shown()[1].split(f"{GAP}\n")
        cells = [piece for piece in pieces if piece.startswith("▸ %%shard\n")]
        prompts = [cell.split("\n")[1].strip() for cell in cells]
        asked = [body for _, body in shard_cells("01_quickstart.ipynb")]
        assert prompts
        assert [prompt for prompt in prompts if prompt not in asked] == []

    def test_exit_codes_are_those_of_the_program(self) -> None:
        from shard_jupyter.surfaces.cli.exit_codes import MEANINGS

        text = (ROOT / "README.md").read_text(encoding="utf-8")
        rows = [int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)]
        assert rows == list(MEANINGS)


def assert_extras_exist(command: str) -> None:
    extras = re.search(r"'\.\[(.*)\]'", command)
    assert extras is not None
    for extra in extras[1].split(","):
        assert f"\n{extra} = [" in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_a_person_answers_on_the_terminal_and_the_denial_is_told_to_the_model(
    reader: Person,
) -> None:
    """The first question is allowed, the second denied with a note."""
    mock = ["--model", "openai:mock", "go @@shell echo x>>MARK @@times 2 @@"]
    terminal = Terminal([*SHARD, "run", *mock], cwd=reader.project, env=reader.environ)
    try:
        terminal.see(b"\n> ")
        terminal.type(b"y\n")
        terminal.see(b"\n> ", times=2)
        terminal.type(b"n not twice\n")
        assert terminal.end() == 0, "what a person denies does not fail the run"
    finally:
        terminal.close()
    assert b"echo x>>MARK" in terminal.seen
    assert reader.lines() == ["x"]
    log = reader.sessions()[0].read_text(encoding="utf-8")
    assert "not twice" in log
