"""The cells that a how-to page shows are run here, page by page, as one notebook each."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.demo_recording import DEMO
from tests.fakes.model_server import MockModel, model_server
from tests.jupyter.kernel import open_kernel
from tests.scenarios.test_documents import PAGES, blocks_of

__all__ = ["model_server"]
pytestmark = [pytest.mark.proves("D02"), pytest.mark.timeout(120)]
WITH_CELLS = [page for page in PAGES if any(block.kind == "ipython" for block in blocks_of(page))]


def test_there_is_a_page_with_cells() -> None:
    assert "docs/how-to/use-in-a-notebook.md" in WITH_CELLS


@pytest.mark.parametrize("page", WITH_CELLS)
def test_every_cell_of_the_page_works(page: str, tmp_path: Path, model_server: MockModel) -> None:
    shutil.copytree(DEMO / "project", tmp_path / "work")
    environ = {
        "SHARD_MODEL": "openai:mock",
        "OPENAI_API_KEY": "sk-000000000000000000000000",
        "OPENAI_BASE_URL": f"{model_server.url}/v1",
    }
    with open_kernel(tmp_path, environ=environ) as kernel:
        for block in blocks_of(page):
            if block.kind == "ipython":
                run = kernel.execute(block.text.rstrip("\n"))
                assert run.status == "ok", (block.text, run.error)
