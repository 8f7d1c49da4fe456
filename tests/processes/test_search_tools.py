"""grep and find, with real git and every search engine that is on this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from shard_jupyter.core.tools.search import line_search
from shard_jupyter.errors import ToolFailed, ToolInputError
from tests.hostile_repository import put_into_index
from tests.tool_rig import ToolRig, make_rig, text_of

pytestmark = pytest.mark.proves("A05")

RIPGREP = os.environ.get("SHARD_TEST_RG") or shutil.which("rg")
GIT = shutil.which("git") or ""
ENGINES = ["python"] + ["ripgrep"] * (RIPGREP is not None)


@pytest.fixture(scope="session")
def programs(tmp_path_factory) -> Path:
    """A PATH of its own with links to every program but rg and git."""
    folder = tmp_path_factory.mktemp("programs")
    for place in reversed(os.environ["PATH"].split(":")):
        for program in Path(place).iterdir() if Path(place).is_dir() else ():
            if program.name not in ("rg", "git"):
                link = folder / program.name
                link.unlink(missing_ok=True)
                link.symlink_to(program)
    return folder


def rig_with(tmp_path: Path, programs: Path, *more: str) -> ToolRig:
    extra = tmp_path / "bin"
    extra.mkdir()
    for program in more:
        (extra / Path(program).name).symlink_to(program)
    path = f"{extra}:{programs}"
    return make_rig(tmp_path, environment={"PATH": path, "HOME": str(tmp_path)})


@pytest.fixture(params=ENGINES)
def rig(request, tmp_path, programs) -> ToolRig:
    return rig_with(tmp_path, programs, GIT, *[RIPGREP] * (request.param == "ripgrep"))


async def git(rig: ToolRig, command: str) -> None:
    result = await rig.call("bash", command=command)
    assert not result.is_error, text_of(result)


async def test_matches_are_shown_as_path_line_text(rig):
    rig.write("src/a.py", "import os\nprint(os)\n")
    rig.write("b.txt", "no\nos\n")
    result = await rig.call("grep", pattern=r"\bos\b")
    assert text_of(result) == "b.txt:2:os\nsrc/a.py:1:import os\nsrc/a.py:2:print(os)"
    assert result.render[0].label == "3 matching lines in 2 files, 2 files searched"


async def test_options_narrow_and_widen(rig):
    rig.write("a.py", "one\nTWO\nthree\n")
    rig.write("a.md", "two\n")
    assert text_of(await rig.call("grep", pattern="two", glob="*.py")) == "[no match in 1 file]"
    assert (
        text_of(await rig.call("grep", pattern="two", ignore_case=True, glob="*.py"))
        == "a.py:2:TWO"
    )
    assert text_of(await rig.call("grep", pattern="TWO", context=1)) == (
        "a.py-1-one\na.py:2:TWO\na.py-3-three"
    )
    assert text_of(await rig.call("grep", pattern="t.o", literal=True)) == "[no match in 2 files]"


async def test_path_may_be_a_folder_or_a_file(rig):
    rig.write("src/a.py", "x\n")
    rig.write("b.py", "x\n")
    assert text_of(await rig.call("grep", pattern="x", path="src")) == "src/a.py:1:x"
    assert text_of(await rig.call("grep", pattern="x", path="./src/")) == "src/a.py:1:x"
    assert text_of(await rig.call("grep", pattern="x", path="src/a.py")) == "src/a.py:1:x"
    assert text_of(await rig.call("grep", pattern="x", path=str(rig.cwd / "b.py"))) == (
        f"{rig.cwd}/b.py:1:x"
    )


async def test_line_end_of_windows_is_no_part_of_the_line(rig):
    rig.write("w.txt", b"foo\r\nfoo bar\r\n")
    assert text_of(await rig.call("grep", pattern="foo$")) == "w.txt:1:foo"


@pytest.mark.proves("H4e.55")
async def test_minified_file_of_three_megabytes_is_cut_around_the_match(rig):
    rig.write("min.json", '{"a":"' + "x" * 2_000_000 + "needle" + "y" * 1_000_000 + '"}')
    text = text_of(await rig.call("grep", pattern="needle"))
    assert "needle" in text
    assert "bytes cut]…" in text
    assert len(text) < 700


@pytest.mark.proves("H4e.55")
async def test_result_is_bounded_in_lines_and_bytes(rig):
    rig.write("many.txt", ("match " + "z" * 300 + "\n") * 5000)
    text = text_of(await rig.call("grep", pattern="match", limit=1000))
    assert len(text.encode()) <= rig.context.output_limit_bytes
    assert "of 5,000 matching lines shown: narrow the search or raise limit]" in text
    text = text_of(await rig.call("grep", pattern="match", limit=2))
    assert text.endswith("[2 of 5,000 matching lines shown: narrow the search or raise limit]")


async def test_ignored_files_are_left_out_and_named(rig):
    rig.write(".gitignore", "build/\n*.log\n!keep.log\n")
    rig.write("sub/.gitignore", "local.txt\n")
    for name in ("a.txt", "build/out.txt", "x.log", "keep.log", "sub/local.txt", "sub/b.txt"):
        rig.write(name, "needle\n")
    text = text_of(await rig.call("grep", pattern="needle"))
    assert text.split("\n") == [
        "a.txt:1:needle",
        "keep.log:1:needle",
        "sub/b.txt:1:needle",
        "[not searched (ignored by .gitignore: build/, sub/local.txt, x.log)]",
    ]


async def test_rules_of_the_repository_above_count_in_a_folder(rig):
    await git(rig, "git init -q . && echo secret.txt >> .git/info/exclude")
    rig.write(".gitignore", "*.log\n")
    for name in ("sub/a.log", "sub/secret.txt", "sub/b.txt"):
        rig.write(name, "needle\n")
    text = text_of(await rig.call("grep", pattern="needle", path="sub"))
    assert text == (
        "sub/b.txt:1:needle\n[not searched (ignored by .gitignore: sub/a.log, sub/secret.txt)]"
    )


async def test_ignored_path_that_is_named_is_searched(rig):
    rig.write(".gitignore", "node_modules/\n*.log\n")
    rig.write("node_modules/x/deep/i.js", "needle\n")
    rig.write("a.log", "needle\n")
    for path in ("node_modules", "node_modules/x", "node_modules/x/deep/i.js"):
        text = text_of(await rig.call("grep", pattern="needle", path=path))
        assert text.split("\n")[0] == "node_modules/x/deep/i.js:1:needle"
    assert text_of(await rig.call("grep", pattern="needle", path="a.log")) == "a.log:1:needle"


async def test_tracked_file_is_searched_although_a_rule_ignores_it(rig):
    rig.write(".gitignore", "*.log\n")
    rig.write("forced.log", "needle\n")
    await git(rig, "git init -q . && git add -f forced.log")
    assert text_of(await rig.call("grep", pattern="needle")) == "forced.log:1:needle"


async def test_repository_inside_another_is_searched_by_its_own_rules(rig):
    await git(rig, "git init -q . && git init -q inner")
    rig.write("inner/.gitignore", "*.tmp\n")
    rig.write("inner/a.txt", "needle\n")
    rig.write("inner/b.tmp", "needle\n")
    text = text_of(await rig.call("grep", pattern="needle"))
    assert text == "inner/a.txt:1:needle\n[not searched (ignored by .gitignore: inner/b.tmp)]"


async def test_configuration_of_a_hostile_repository_runs_nothing(rig, tmp_path):
    trap = rig.write("trap.sh", f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    trap.chmod(0o755)
    await git(
        rig,
        f"git init -q . && git config core.fsmonitor {trap} && git config core.hooksPath {rig.cwd}"
        f" && git config core.pager {trap} && git config filter.x.clean {trap}"
        " && echo '* filter=x' > .gitattributes && echo needle > a.txt",
    )
    assert "a.txt:1:needle" in text_of(await rig.call("grep", pattern="needle"))
    await rig.call("find", pattern="*")
    assert not (tmp_path / "sprung").exists()


async def test_links_and_pipes_are_not_followed(rig, tmp_path):
    (tmp_path / "outside").write_text("needle\n", encoding="utf-8")
    (rig.cwd / "link").symlink_to(tmp_path / "outside")
    (rig.cwd / "folder-link").symlink_to(tmp_path)
    os.mkfifo(rig.cwd / "pipe")
    rig.write("a", "needle\n")
    assert text_of(await rig.call("grep", pattern="needle")) == "a:1:needle"


@pytest.mark.proves("A05", "T43", "T45")
async def test_tracked_names_that_lead_outside_are_not_followed(rig, tmp_path):
    rig.write("folder/x", "needle inside\n")
    rig.write("a", "needle\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x").write_text("needle outside\n", encoding="utf-8")
    await git(rig, "git init -q . && git add .")
    for name in ("../outside/x", f"{tmp_path}/outside/x"):
        await anyio.to_thread.run_sync(put_into_index, rig.cwd, name)
    shutil.rmtree(rig.cwd / "folder")
    (rig.cwd / "folder").symlink_to(tmp_path / "outside")
    assert text_of(await rig.call("grep", pattern="needle")) == "a:1:needle"
    assert text_of(await rig.call("find", pattern="*")) == "a"


async def test_files_that_hold_keys_are_left_out_and_named(rig):
    rig.write(".env", "needle=1\n")
    rig.write("a", "needle\n")
    assert text_of(await rig.call("grep", pattern="needle")) == (
        "a:1:needle\n[not searched (may hold secrets: .env)]"
    )


async def test_odd_names_are_searched_and_shown_visibly(rig):
    for name in ("-rf", "a b", "new\nline", os.fsdecode(b"\xff"), "ünï"):
        rig.write(name, "needle\n")
    lines = text_of(await rig.call("grep", pattern="needle")).split("\n")
    assert sorted(lines) == sorted(
        ["-rf:1:needle", "a b:1:needle", "new\\nline:1:needle", "\ufffd:1:needle", "ünï:1:needle"]
    )


async def test_binary_files_do_not_match(rig):
    rig.write("b.bin", b"\0needle\n")
    assert text_of(await rig.call("grep", pattern="needle")) == "[no match in 1 file]"


async def test_look_ahead_works_whatever_the_engine(rig):
    rig.write("a", "foobar\nfoo\n")
    assert text_of(await rig.call("grep", pattern="foo(?=bar)")) == "a:1:foobar"


async def test_broken_pattern_is_explained(rig):
    rig.write("a", "x")
    with pytest.raises(ToolFailed, match="no regular expression: .*set literal"):
        await rig.call("grep", pattern="(unclosed")
    with pytest.raises(ToolInputError, match="one line of text at a time"):
        await rig.call("grep", pattern="a\nb")


async def test_thousands_of_files_fit_the_command_line(rig):
    for n in range(1500):
        rig.write(f"{'d' * 80}{n % 10}/{'f' * 120}{n}.txt", "needle\n" if n % 500 == 0 else "x\n")
    text = text_of(await rig.call("grep", pattern="needle"))
    assert text.count("needle") == 3


async def test_search_that_never_ends_is_killed_at_its_deadline(tmp_path, programs, monkeypatch):
    monkeypatch.setattr(line_search, "SEARCH_SECONDS", 0.5)
    rig = rig_with(tmp_path, programs, GIT)
    rig.write("a", "a" * 40 + "!\n")
    started = time.monotonic()
    text = text_of(await rig.call("grep", pattern="(a+)+$"))
    assert time.monotonic() - started < 3
    assert "stopped after" in text
    assert "so this is not all" in text


async def test_without_git_a_fixed_list_is_left_out_and_said(tmp_path, programs):
    rig = rig_with(tmp_path, programs)
    rig.write(".gitignore", "a.txt\n")
    for name in ("a.txt", "node_modules/x.js", "sub/b.txt"):
        rig.write(name, "needle\n")
    assert text_of(await rig.call("grep", pattern="needle")) == (
        "a.txt:1:needle\nsub/b.txt:1:needle\n[git is not installed, so .gitignore was not read; "
        "folders left out by name: node_modules]"
    )


@pytest.mark.parametrize("more", [(), (GIT,)], ids=["without git", "with git"])
async def test_where_no_rule_is_the_answer_is_the_same_with_and_without_git(
    tmp_path, programs, more
):
    rig = rig_with(tmp_path, programs, *more)
    await anyio.to_thread.run_sync(subprocess.run, [GIT, "init", "-q", str(rig.cwd)])
    rig.write("sub/b.txt", "needle\n")
    assert text_of(await rig.call("grep", pattern="needle")) == "sub/b.txt:1:needle"
    assert text_of(await rig.call("find", pattern="*.txt", path="sub")) == "sub/b.txt"


async def test_rules_above_a_folder_that_were_not_read_are_told(tmp_path, programs):
    rig = rig_with(tmp_path, programs)
    rig.write(".gitignore", "b.txt\n")
    rig.write("sub/b.txt", "needle\n")
    assert "was not read" in text_of(await rig.call("grep", pattern="needle", path="sub"))


async def test_find_lists_names_by_glob(tmp_path):
    rig = make_rig(tmp_path)
    rig.write(".gitignore", "build/\n")
    for name in ("a.py", "src/b.py", "src/deep/c.py", "build/d.py", "src/e.md"):
        rig.write(name, "")
    text = text_of(await rig.call("find", pattern="*.py"))
    assert text.split("\n") == [
        "a.py",
        "src/b.py",
        "src/deep/c.py",
        "[not searched (ignored by .gitignore: build/)]",
    ]
    assert text_of(await rig.call("find", pattern="**/*.py", path="src")).split("\n")[:2] == [
        "src/b.py",
        "src/deep/c.py",
    ]
    assert text_of(await rig.call("find", pattern="*.rs")).startswith("[no file of that name")
    text = text_of(await rig.call("find", pattern="*", limit=2))
    assert "[2 of 5 files shown: narrow the pattern or raise limit" in text


@pytest.mark.parametrize("tool", ["grep", "find"])
async def test_missing_path_is_said(tool, tmp_path):
    with pytest.raises(ToolFailed, match="none does not exist"):
        await make_rig(tmp_path).call(tool, pattern="x", path="none")
