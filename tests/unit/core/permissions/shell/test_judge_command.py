from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.core.permissions.shell.judge_command import judge_command
from shard_jupyter.core.permissions.shell.look_budget import MAX_LOOKED_AT
from shard_jupyter.core.permissions.shell.shell_verdict import ShellVerdict
from tests.fakes.shell_fuzz import FRAGMENTS
from tests.fakes.shell_workspace import make_workspace

pytestmark = pytest.mark.proves("A06", "T44")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = make_workspace(tmp_path_factory.mktemp("judge"), with_git=False)
    (work / ".git").mkdir()
    (work / ".git" / "config").write_text("", encoding="utf-8")
    (work / "keys").mkdir()
    (work / "keys" / ".env").write_text("K=1\n", encoding="utf-8")
    (work / "odd").mkdir()
    (work / "odd" / "-rf").write_text("", encoding="utf-8")
    (work / "shut").mkdir()
    return work


def why(text: str, workspace: Path) -> str:
    verdict = judge_command(text, workspace)
    assert (verdict.is_safe, verdict.confined) == (False, "")
    return verdict.why


def confined(text: str, workspace: Path) -> str:
    verdict = judge_command(text, workspace)
    assert verdict.is_safe, verdict.why
    return verdict.confined


def test_what_only_reads_here_runs_as_it_was_understood(workspace: Path) -> None:
    assert judge_command("cat  'README.md' # x", workspace) == ShellVerdict(
        is_safe=True,
        why="it only reads inside the workspace",
        canonical="cat README.md",
        confined="cat README.md",
        commands=judge_command("cat README.md", workspace).commands,
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cat src/*.py", "cat src/a.py src/b.py"),
        ("cat *.nosuch", "cat '*.nosuch'"),
        ("wc -l -- docs/my*", "wc -l -- 'docs/my notes.txt'"),
        ("ls 2>/dev/null | head -1", "ls 2>/dev/null | head -1"),
        ("grep -rn a src", "grep --exclude-dir=.git -rn a src"),
        ("cat <README.md >/dev/null 2>&1", "cat <README.md >/dev/null 2>&1"),
        ("grep -r x --include=*.py src", "grep --exclude-dir=.git -r x '--include=*.py' src"),
        ("find src -name *.nosuch", "find src -name '*.nosuch'"),
        ("cat <<'E'\n$(x)\nE", "cat <<'EOF'\n$(x)\nEOF"),
    ],
)
def test_confined_form_has_no_glob_left(workspace: Path, text: str, expected: str) -> None:
    assert confined(text, workspace) == expected


def test_a_pattern_is_a_plain_word_only_while_it_stands_for_nothing(tmp_path: Path) -> None:
    work = make_workspace(tmp_path, with_git=False)
    text = "grep -r x --include=*.py src"
    verdict = judge_command(text, work)
    assert verdict.is_safe
    # As it is written, with its pattern kept, it is not known to be harmless.
    assert verdict.commands[0].argv.why_not
    (work / "--include=evil.py").touch()
    assert "may become options" in why(text, work)
    assert "may become actions" in why("find src -name *.md", work)


def test_git_runs_with_what_makes_it_harmless(workspace: Path) -> None:
    verdict = judge_command("ls && git diff", workspace)
    assert [reading.argv.is_git for reading in verdict.commands] == [False, True]
    assert "--no-ext-diff" in verdict.confined
    assert verdict.canonical == "ls && git diff"


@pytest.mark.proves("T64", "T50")
@pytest.mark.parametrize(
    "text", ["ls {} rm x", "{{ ls; rm x; }} {0} pwd", "( ls; ( rm x ) ) {0} ls", "rm x {} ls",
             "! rm x {} ls", "ls {} ls 2>&1 {0} rm x"]
)  # fmt: skip
@pytest.mark.parametrize("connector", [";", "&&", "||", "|", "\n", "|&"])
def test_every_command_of_a_chain_is_judged(workspace: Path, text: str, connector: str) -> None:
    text = text.replace("{}", "{0}").format(connector)
    assert why(text, workspace) == "rm deletes files"


@pytest.mark.proves("T50")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rm .*", "rm deletes files"),
        ("ls > out", "`> out` writes a file"),
        ("ls >> src/a.py", "`>> src/a.py` writes a file"),
        ("ls &> out", "`&> out` writes a file"),
        ("ls >/dev/null >x", "`> x` writes a file"),
        ("ls >/dev/../tmp/x", "`> /dev/../tmp/x` writes a file"),
        ("( ls ) >x", "`> x` writes a file"),
        ("git diff > x", "`> x` writes a file"),
        ("cat <link/x", "link/x leads out of the workspace"),
        ("cat </etc/passwd", "/etc/passwd leads out of the workspace"),
        ("cat <pipe", "pipe is no file but a pipe"),
        ("cat pipe", "pipe is no file but a pipe"),
        ("cat /dev/zero", "/dev/zero is no file but a device"),
        ("cat .env", ".env may hold keys or passwords"),
        ("cat keys/.env", "keys/.env may hold keys or passwords"),
        ("cat <.env", ".env may hold keys or passwords"),
        ("grep -r K keys", ".env below it may hold keys or passwords"),
        ("cat .git/HEAD", ".git/HEAD belongs to version control and may hold passwords"),
        ("cat link/x", "link/x leads out of the workspace"),
        ("cat docs/*", "docs/out.md leads out of the workspace"),
        ("cat */x", "link/x leads out of the workspace"),
        ("cat ../outside/x", "../outside/x leads out of the workspace"),
        ("cat '$HOME/x'", "$HOME looks like a variable that is not expanded"),
        ("cat odd/../.*", "`.*` stands for hidden names"),
    ],
)
def test_every_path_is_judged_where_it_really_leads(
    workspace: Path, text: str, expected: str
) -> None:
    assert why(text, workspace) == expected


@pytest.mark.proves("T66")
@pytest.mark.parametrize(
    "text", ["cd odd && ls *", "cd odd && ls -- *", "cat odd/*", "ls -- odd/-rf"]
)
def test_a_name_that_looks_like_an_option_is_not_taken_for_one(workspace: Path, text: str) -> None:
    assert "looks like an option" in why(text, workspace)


@pytest.mark.proves("T51")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cd src && cat a.py", "cd -- {}/src && cat a.py"),
        ("cd src; cat *.py; cd .. && cat README.md",
         "cd -- {}/src; cat a.py b.py; cd -- {} && cat README.md"),
        ("cd inner; cat ../a.py", "cd -- {}/src/deep; cat ../a.py"),
        ("ls && cd src && cat *.py", "ls && cd -- {}/src && cat a.py b.py"),
        ("( cd src ); cat README.md", "( cd -- {}/src ); cat README.md"),
        ("cd src | ls; cat *.md", "cd -- {}/src | ls; cat README.md"),
        ("{ cd src; }; cat *.py", "{{ cd -- {}/src; }}; cat a.py b.py"),
        ("ls && cd src && { ls; cat *.py; }",
         "ls && cd -- {}/src && {{ ls; cat a.py b.py; }}"),
        ("cd -- src && cat *.py", "cd -- {}/src && cat a.py b.py"),
        ("cd src || ls; cat *.py", "cd -- {}/src || ls; cat a.py b.py"),
    ],
)  # fmt: skip
def test_cd_moves_what_runs_after_it_in_its_own_shell(
    workspace: Path, text: str, expected: str
) -> None:
    assert confined(text, workspace) == expected.format(*[str(workspace)] * 2)


@pytest.mark.proves("T51")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cd link && cat x", "leads out of the workspace"),
        ("cd / && ls", "leads out of the workspace"),
        ("cd .. && ls", "leads out of the workspace"),
        ("cd src && cat ../../outside/x", "leads out of the workspace"),
        ("cd inner && cat ../../../outside/x", "leads out of the workspace"),
        ("cd src && cat /etc/passwd", "leads out of the workspace"),
        ("cd src && cat </etc/passwd", "leads out of the workspace"),
        ("cd src && cd /etc", "leads out of the workspace"),
        ("cd src && cat /etc/pass*", "leads out of the workspace"),
        ("cd src && cat '~/x'", "~ is not expanded"),
        ("cd .git && cat config", "version control"),
        ("cd keys && cat .env", "keys or passwords"),
        ("cd nosuch && ls", "no folder"),
        ("cd README.md && ls", "no folder"),
        ("cd && ls", "not plain"),
        ("cd - && ls", "not plain"),
        ("cd '' && ls", "not plain"),
        ("cd src docs && ls", "not plain"),
        ("cd s* && ls", "not plain"),
        ("ls && cd src; cat a.py", "depends on what runs before it"),
        ("ls || cd src && cat a.py", "depends on what runs before it"),
        ("ls && cd src || cat a.py", "depends on what runs before it"),
        ("ls && { cd src; }; cat a.py", "depends on what runs before it"),
        ("! cd src && cd deep; cat a.py", "depends on what runs before it"),
        ("ls && cd src; ls <a.py", "depends on what runs before it"),
        ("ls && cd src; cd docs", "depends on what runs before it"),
    ],
)
def test_cd_that_leads_out_or_may_not_run_is_asked(
    workspace: Path, text: str, expected: str
) -> None:
    assert expected in why(text, workspace)


@pytest.mark.proves("T51", "T78")
@pytest.mark.parametrize(
    "text", ["export A", "eval ls", "set -x", "alias a=b", "source x", ". x", "exec ls", "trap x 1",
             "read 'a[$(x)]'", "let 'a[$(x)]=1'", "printf -v 'a[$(x)]' y", "test -v 'a[$(x)]'",
             "[ -v 'a[$(x)]' ]", "[ 'a[$(x)]' -eq 0 ]", "declare x", "wait", "unset x", "umask 0"]
)  # fmt: skip
def test_what_changes_the_shell_or_evaluates_words_is_asked(workspace: Path, text: str) -> None:
    assert why(text, workspace)


def test_what_is_not_safe_is_described_all_the_same(workspace: Path) -> None:
    verdict = judge_command("cat src/*.py 2>&1 | tee out; rm -rf 'a b' >log", workspace)
    assert not verdict.is_safe
    assert verdict.canonical == "cat src/*.py 2>&1 | tee out; rm -rf 'a b' >log"
    assert verdict.writes == ("log",)
    assert [one.words for one in verdict.commands] == [
        ("cat", "src/*.py"), ("tee", "out"), ("rm", "-rf", "a b")
    ]  # fmt: skip
    assert [one.has_glob for one in verdict.commands] == [True, False, False]
    assert [one.changes_files for one in verdict.commands] == [False, False, True]
    assert [bool(one.argv.why_not) for one in verdict.commands] == [False, True, True]


def test_each_command_knows_what_speaks_against_it_where_it_stands(workspace: Path) -> None:
    text = "ls; cat .env; cd src && cat *.py; cat <../pipe; grep -r K ../keys; cat /etc/passwd | wc"
    verdict = judge_command(text, workspace)
    assert [one.problem for one in verdict.commands] == [
        "",
        ".env may hold keys or passwords",
        "",
        "",
        "../pipe is no file but a pipe",
        ".env below it may hold keys or passwords",
        "/etc/passwd leads out of the workspace",
        "",
    ]


def test_what_is_not_understood_has_no_form(workspace: Path) -> None:
    assert judge_command("ls $ARGS", workspace) == ShellVerdict(
        why="`$ARGS` is only known when it runs"
    )


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=8).map("".join) | st.text(max_size=60))
def test_no_text_makes_the_judge_raise(workspace: Path, text: str) -> None:
    verdict = judge_command(text, workspace)
    assert bool(verdict.confined) == verdict.is_safe
    assert verdict.why


@pytest.mark.proves("T48")
def test_a_text_that_would_look_at_very_many_files_is_asked(tmp_path: Path) -> None:
    work = make_workspace(tmp_path, with_git=False)
    many = work / "many"
    many.mkdir()
    for number in range(MAX_LOOKED_AT * 6 // 10):
        (many / f"f{number}").touch()
    assert judge_command("ls many/x*", work).is_safe
    assert judge_command("grep -r x many", work).is_safe
    assert "too many files" in why("ls many/x* many/y*", work)
    assert "too many files" in why("grep -r x many; grep -r y many", work)
    assert "too many files" in why("ls many/x*; grep -r y many", work)


@pytest.mark.proves("T48")
def test_a_form_that_no_kernel_takes_as_one_argument_is_asked(tmp_path: Path) -> None:
    work = make_workspace(tmp_path, with_git=False)
    many = work / "many"
    many.mkdir()
    for number in range(300):
        (many / f"{number:0100}").touch()
    assert judge_command("ls many/*", work).is_safe
    assert "too long together" in why("ls many/* many/*; ls many/*", work)
