"""What another person of the same machine sees of a run: nothing."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.model_server import MockModel, mock_model, model_server
from tests.scenarios.command_line import Person

__all__ = ["mock_model", "model_server"]
pytestmark = [
    pytest.mark.proves("T54"),
    pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="takes another uid"),
]
NOBODY = 65534
LOOK = """
find "$@" -readable -print 2>/dev/null
for folder in $(find "$@" -type d -print 2>/dev/null); do
    (: > "$folder/planted") 2>/dev/null && echo "wrote in $folder"
    (: >> "$folder/session.jsonl") 2>/dev/null && echo "wrote to $folder/session.jsonl"
done
true
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may enter, as a home folder often is."""
    folder = Path(tempfile.mkdtemp(prefix="second-user-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def look_as_nobody(*folders: Path) -> list[str]:
    """What could be read or written. By a shell: this Python may lie where nobody else may enter."""
    done = subprocess.run(
        ["/bin/sh", "-c", LOOK, "sh", *map(str, folders)],
        check=True, capture_output=True, text=True, encoding="utf-8", cwd="/",
        user=NOBODY, group=NOBODY, extra_groups=(), timeout=30,
    )  # fmt: skip
    return [line for line in done.stdout.split("\n") if line]


def test_another_user_reads_and_plants_nothing(open_folder: Path, mock_model: MockModel) -> None:
    person = Person(open_folder, mock_model.url)
    person.environ["OPENAI_API_KEY"] = "key-of-the-person"
    (open_folder / "public").mkdir()
    (open_folder / "public" / "file").write_text("x", encoding="utf-8")
    before = os.umask(0)  # the most careless one there is
    try:
        ended = person.run("go @@shell seq 1 20000 @@")
        kept = person.shard("config", "set", "model", "openai:mock")
        denied = person.run("go @@status 401 @@")
    finally:
        os.umask(before)
    assert (ended.code, kept.code) == (0, 0)
    assert denied.code != 0
    private = [person.state, open_folder / ".config" / "shard"]
    files = [path for folder in private for path in (folder, *folder.rglob("*"))]
    assert len(files) > 5
    open_ones = [str(path) for path in files if stat.S_IMODE(path.lstat().st_mode) & 0o077]
    assert open_ones == []
    assert look_as_nobody(*private) == []
    assert look_as_nobody(open_folder / "public") == [
        str(open_folder / "public"),
        str(open_folder / "public" / "file"),
    ]
