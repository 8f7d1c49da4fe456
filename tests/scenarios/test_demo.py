"""A change of several files in a git repository, from the cassette that newcomers play (E04).

The same must happen in any folder, for any home, whatever programs the machine has.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from tests.demo_recording import CHECK, CLOSING, DEMO, PROMPT, script
from tests.scenarios.command_line import Ended, Person, read_entries

pytestmark = pytest.mark.proves("B12", "E04", "A11", "A05")
GIT = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org")
DIFF = """\
--- a/tally/report.py
+++ b/tally/report.py
@@ -5 +5 @@
-    ranked = sorted(counts.items(), key=lambda item: item[1])
+    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
--- a/tally/words.py
+++ b/tally/words.py
@@ -2,0 +3 @@
+import re
@@ -7 +8 @@
-    return Counter(text.split(" "))
+    return Counter(re.findall(r"[\\w']+", text.lower()))
"""


@pytest.fixture
def newcomer(tmp_path: Path) -> Person:
    return Person(tmp_path, "http://127.0.0.1:1")


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run([*GIT, *arguments], cwd=folder, capture_output=True, check=True)
    return done.stdout.decode()


def make_repository(folder: Path) -> Path:
    shutil.copytree(DEMO / "project", folder, ignore=shutil.ignore_patterns("__pycache__"))
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "start")
    return folder


def play(person: Person, project: Path, cassette: Path, prompt: str = PROMPT) -> Ended:
    return person.run(prompt, "--cwd", str(project), model=f"replay:{cassette}")


def assert_mended(ended: Ended, project: Path) -> None:
    assert (ended.code, ended.out, ended.told) == (0, f"{CLOSING}\n", "")
    diff = git(project, "diff", "-U0", "--no-color", "--no-ext-diff", "--no-prefix")
    shown = [line for line in diff.split("\n") if not line.startswith(("diff --git", "index "))]
    plain = DIFF.replace("--- a/", "--- ").replace("+++ b/", "+++ ")
    assert [re.sub(r"(@@ .* @@).*", r"\1", line) for line in shown] == plain.split("\n")
    status = git(project, "status", "--porcelain", "--untracked-files=all")
    assert sorted(status.split("\n")) == [
        "", " M tally/report.py", " M tally/words.py", "?? CHANGES.md"
    ]  # fmt: skip
    assert (
        subprocess.run(CHECK.split(), cwd=project, check=False, capture_output=True).returncode == 0
    )


def programs_without(folder: Path, *left_out: str) -> str:
    """Make a PATH of its own with every program of this machine but some."""
    folder.mkdir()
    for place in reversed(os.environ["PATH"].split(":")):
        for program in Path(place).iterdir() if Path(place).is_dir() else ():
            if program.name not in left_out:
                (folder / program.name).unlink(missing_ok=True)
                (folder / program.name).symlink_to(program)
    return str(folder)


def test_the_check_fails_before(tmp_path: Path) -> None:
    project = make_repository(tmp_path / "project")
    done = subprocess.run(CHECK.split(), cwd=project, check=False, capture_output=True)
    assert (done.returncode, done.stdout.count(b"FAIL")) == (1, 3)


def test_it_happens_the_same_every_time_and_the_log_tells_all_of_it(newcomer: Person) -> None:
    for name in ("first", "second"):
        project = make_repository(newcomer.root / name)
        assert_mended(play(newcomer, project, DEMO / "cassette.jsonl"), project)
    asked = [block for step in script() for block in step.blocks if block.kind == "tool_call"]
    assert len(newcomer.sessions()) == 2
    for log in newcomer.sessions():
        entries = read_entries(log)
        results = [entry for entry in entries if entry["type"] == "tool_result"]
        assert [entry["name"] for entry in results] == [call.name for call in asked]
        assert entries[-1]["outcome"] == "completed"
        assert all(a["id"] == b["parentId"] for a, b in pairwise(entries[1:]))


@pytest.mark.parametrize("seed", ["0", "1", "4242"])
def test_it_does_not_depend_on_the_order_of_hashes(seed: str, newcomer: Person) -> None:
    newcomer.environ["PYTHONHASHSEED"] = seed
    project = make_repository(newcomer.root / "p")
    assert_mended(play(newcomer, project, DEMO / "cassette.jsonl"), project)


@pytest.mark.parametrize("left_out", [("git",), ("rg",), ("git", "rg")])
def test_it_does_not_depend_on_git_or_ripgrep(left_out: tuple[str, ...], newcomer: Person) -> None:
    newcomer.environ["PATH"] = programs_without(newcomer.root / "bin", *left_out)
    project = make_repository(newcomer.root / "p")
    assert_mended(play(newcomer, project, DEMO / "cassette.jsonl"), project)


@pytest.mark.parametrize(
    ("clone", "home", "state"),
    [
        ("a clone/with blanks/üñï", "home", "home/.shard"),
        ("clone", "clone", "clone/state"),
        ("home/src/clone", "home", "elsewhere/deep/state"),
        ("c", "c/docs/demo", "c/docs/demo/project/.git/state"),
    ],
)
def test_it_does_not_depend_on_any_path(
    clone: str, home: str, state: str, newcomer: Person
) -> None:
    root = newcomer.root
    demo = root / clone / "docs/demo"
    demo.mkdir(parents=True)
    shutil.copy(DEMO / "cassette.jsonl", demo)
    project = make_repository(demo / "project")
    newcomer.environ |= {"HOME": str(root / home), "SHARD_HOME": str(root / state)}
    (root / home).mkdir(exist_ok=True)
    assert_mended(play(newcomer, project, demo / "cassette.jsonl"), project)


def test_it_works_in_the_home_folder_itself(newcomer: Person) -> None:
    project = make_repository(newcomer.root / "p")
    newcomer.environ["HOME"] = str(project)
    assert_mended(play(newcomer, project, DEMO / "cassette.jsonl"), project)


def test_secrets_of_the_environment_do_not_matter(newcomer: Person) -> None:
    newcomer.environ |= {"OPENAI_API_KEY": "sk-aaaaaaaaaaaaaaaaaaaaaaaa", "MY_TOKEN": "x" * 40}
    project = make_repository(newcomer.root / "p")
    assert_mended(play(newcomer, project, DEMO / "cassette.jsonl"), project)


def test_another_prompt_fails_and_shows_the_difference(newcomer: Person) -> None:
    project = make_repository(newcomer.root / "p")
    other = PROMPT.replace("what you changed", "why")
    ended = play(newcomer, project, DEMO / "cassette.jsonl", other)
    assert ended.code == 1
    lines = ended.told.split("\n")
    assert f"shard:   -{PROMPT}" in lines
    assert f"shard:   +{other}" in lines
    assert lines[-2:] == ["shard:   Record the cassette again with --record.", ""]
    assert git(project, "status", "--porcelain") == ""


def test_another_file_than_the_recorded_one_fails_where_it_was_read(newcomer: Person) -> None:
    project = make_repository(newcomer.root / "p")
    words = project / "tally/words.py"
    words.write_text(words.read_text(encoding="utf-8") + "\n# mine\n", encoding="utf-8")
    ended = play(newcomer, project, DEMO / "cassette.jsonl")
    assert ended.code == 1
    assert "The first 6 messages are the same.\n" in ended.told
    assert "shard:   +# mine\n" in ended.told
    assert not (project / "CHANGES.md").exists()


def test_nothing_of_the_machine_that_recorded_is_in_the_cassette() -> None:
    text = (DEMO / "cassette.jsonl").read_text(encoding="utf-8")
    assert not re.search(r"/(tmp|home|root|usr|work|Users)\b", text)
    assert "{cwd}" in text
    for line in text.split("\n")[:-1]:
        json.loads(line)


class TestProgram:
    """docs/demo/run.py, the command of the README."""

    def run(self, newcomer: Person) -> Ended:
        temporary = newcomer.root / "tmp"
        temporary.mkdir()
        done = subprocess.run(
            [sys.executable, str(DEMO / "run.py")],
            env={**newcomer.environ, "TMPDIR": str(temporary)},
            cwd=newcomer.project,
            capture_output=True,
            timeout=50,
            check=False,
        )
        return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())

    def test_it_shows_what_it_does_the_change_and_what_to_try_next(self, newcomer: Person) -> None:
        ended = self.run(newcomer)
        assert (ended.code, ended.told) == (0, "")
        assert f"'{PROMPT}'" in ended.out
        assert CLOSING in ended.out
        assert "bash  python3 -B check_tally.py" in ended.out
        for line in DIFF.split("\n"):
            if line.startswith(("+ ", "- ")):
                assert line in ended.out
        assert "--- before/CHANGES.md" in ended.out
        assert "export OPENAI_API_KEY" in ended.out

    def test_it_leaves_the_clone_and_the_home_as_they_were(self, newcomer: Person) -> None:
        before = {path: path.read_bytes() for path in DEMO.rglob("*") if path.is_file()}
        shutil.rmtree(newcomer.state, ignore_errors=True)
        ended = self.run(newcomer)
        assert {path: path.read_bytes() for path in DEMO.rglob("*") if path.is_file()} == before
        assert {path.name for path in newcomer.root.iterdir()} == {"project", "tmp"}
        (scratch,) = (newcomer.root / "tmp").iterdir()
        assert f"rm -r {scratch}" in ended.out
        assert {path.name for path in scratch.iterdir()} == {"project", "state"}

    def test_without_the_package_it_says_how_to_install_it(self, newcomer: Person) -> None:
        del newcomer.environ["PYTHONPATH"]
        bare = newcomer.root / "venv/bin/python"
        subprocess.run(
            [sys.executable, "-m", "venv", "--without-pip", newcomer.root / "venv"], check=True
        )
        done = subprocess.run(
            [bare, DEMO / "run.py"],
            env={**newcomer.environ, "TMPDIR": str(newcomer.root)},
            capture_output=True,
            timeout=50,
            check=False,
        )
        assert done.returncode == 1
        assert done.stderr.endswith(b"Is it installed in this Python? pip install -e .\n")
