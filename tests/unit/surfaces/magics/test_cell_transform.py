"""What a `%%shard` cell becomes: one line whose run yields exactly what stands in the cell."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from shard_jupyter.errors import UsageError
from shard_jupyter.surfaces.magics.cell_transform import (
    find_shard_cell,
    restore_body,
    rewrite_cell,
)
from shard_jupyter.surfaces.magics.extension import CellRewriter

ODD_BODIES = [
    "{", "{}", "{x}", "{{x}}", "$x ${y}", "!ls", "%time 1", "%%time\nx", "what?", "x??", "a\r\nb\r\n",
    "\ta\t\n", "end\\", "nul\0nul", "sep\u2028sep\u2029sep\x85sep\x0bsep\x0csep\x1c", "'''\"\"\"",
    "\\n\\x00", "caf\u00e9 \U0001f600", ">>> x\n... y", "In [1]: x", "   \n  indented\n\t\n", "\n\n",
    "", " ", "# comment\n%%shard\nx", "\ufeffbom", "x\r", "\r", "\r\n",
]  # fmt: skip
any_text = st.text(st.characters(codec="utf-8"), max_size=60) | st.sampled_from(ODD_BODIES)
option_line = st.sampled_from(["", " ", " --new", "\t--mode plan", " --agent 'a \"b' {x} $y  "])
line_end = st.sampled_from(["\n", "\r\n", "\r"])


@pytest.fixture(scope="module")
def shell() -> Iterator[InteractiveShell]:
    """A shell of its own: the whole chain of transforms, and no history on disk."""
    config = Config()
    config.HistoryManager.enabled = False
    shell = InteractiveShell(config=config)
    shell.input_transformers_cleanup.insert(0, CellRewriter(shell))
    yield shell
    shell.restore_sys_module_state()


def run(line: str) -> tuple[str, str]:
    """Run a rewritten cell with a magic that gives back what it is called with."""

    def get_ipython() -> SimpleNamespace:
        return SimpleNamespace(find_cell_magic=lambda name: magics[name])

    async def shard(line: str, body: str, *, is_awaited: bool) -> tuple[str, str]:
        assert is_awaited
        return line, body

    magics = {"shard": shard}
    code = compile(line, "cell", "eval", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    coroutine = eval(code, {"get_ipython": get_ipython})
    assert inspect.iscoroutine(coroutine)
    with pytest.raises(StopIteration) as end:
        coroutine.send(None)
    return end.value.value


@pytest.mark.proves("D02", "J3.8")
@given(
    before=st.sampled_from(["", "\n", " \r\n\t\n"]), line=option_line, end=line_end, body=any_text
)
@example(before="", line="", end="\n", body="a\nb")
def test_what_runs_gets_exactly_the_body(
    shell: InteractiveShell, before: str, line: str, end: str, body: str
) -> None:
    if end == "\r" and body.startswith("\n"):
        end = "\n"
    raw = f"{before}%%shard{line}{end}{body}"
    transformed = shell.transform_cell(raw)
    assert len(transformed.splitlines()) == 1
    got_line, got_body = run(transformed)
    assert restore_body(got_body, raw) == body
    assert got_line == line.strip()


@pytest.mark.proves("J3.8")
@given(text=any_text)
def test_a_cell_of_another_kind_is_no_agent_cell(text: str) -> None:
    first = next((line for line in text.replace("\r", "\n").split("\n") if line.strip()), "")
    if not first.strip().startswith("%%shard"):
        assert rewrite_cell(f"x = 1\n{text}", is_awaited=True) is None
        assert rewrite_cell(f"%%writefile f\n%%shard\n{text}", is_awaited=True) is None


@pytest.mark.proves("J3.12")
@pytest.mark.parametrize(
    "cell",
    ["", "\n \n", "%%shard?", "%%shard??", "%%shardx\ny", "%%shard-x\ny", "%%Shard\nx", "%shard x",
     "%% shard\nx", "x\n%%shard\ny", '"""\n%%shard\n"""', "%%writefile f\n%%shard\nx", "# only",
     "# c\n%%time\n%%shard", "# c\nx = 1\n%%shard", "!%%shard", "%%shard\u200b x"],
)  # fmt: skip
def test_other_cells_are_left_alone(cell: str) -> None:
    assert rewrite_cell(cell, is_awaited=True) is None


@pytest.mark.proves("J3.7")
@pytest.mark.parametrize("above", ["# note", "\n  # note\n", "# note\n\n# more", "#", "\t#!note\r"])
def test_a_comment_above_is_named(above: str) -> None:
    with pytest.raises(UsageError) as refused:
        rewrite_cell(f"{above}\n%%shard --new\nhi", is_awaited=True)
    first = next(part for part in above.replace("\r", "\n").split("\n") if part.strip())
    assert repr(first.strip()) in refused.value.message
    assert "first line" in refused.value.message
    assert "Move the comment" in refused.value.next_step


def test_a_long_comment_is_named_by_its_start() -> None:
    with pytest.raises(UsageError) as refused:
        find_shard_cell("#" + "x" * 500 + "\n%%shard\nhi")
    assert len(refused.value.message) < 200


@pytest.mark.proves("J3.7")
@pytest.mark.parametrize("before", ["", "\n", "   \n\t\n", "\r\n", " ", "\t"])
def test_blank_lines_and_an_indent_do_no_harm(before: str) -> None:
    cell = find_shard_cell(f"{before}%%shard  --new \n  a\n \n  b")
    assert cell is not None
    assert (cell.line, cell.body) == ("--new", "  a\n \n  b")


@pytest.mark.proves("J3.8")
@given(before=any_text, half=st.characters(categories=["Cs"]), after=any_text)
def test_half_a_character_is_refused_in_words(before: str, half: str, after: str) -> None:
    with pytest.raises(UsageError) as refused:
        rewrite_cell(f"%%shard\n{before}{half}{after}", is_awaited=True)
    line = 2 + before.count("\n")
    assert refused.value.message.startswith(f"Line {line} of the cell holds half a character")
    refused.value.message.encode("utf-8")


def test_without_an_await_the_magic_is_called() -> None:
    line = rewrite_cell("%%shard a\nb", is_awaited=False)
    assert line == "get_ipython().find_cell_magic('shard')('a', 'b')\n"


@pytest.mark.parametrize("outer", ["%%time\n", "\n %%timeit -n1 -r1\r\n", "%%prun -q\n\n"])
def test_a_magic_that_runs_its_cell_gets_python_to_run(shell: InteractiveShell, outer: str) -> None:
    raw = f"{outer}%%shard --new\n  a {{x}}\n \n b ("
    line = rewrite_cell(f"{raw}\n", is_awaited=True)
    inner = "get_ipython().find_cell_magic('shard')('--new', '  a {x}\\n \\n b (\\n')\n"
    assert line == f"{outer.strip()}\n{inner}"
    assert repr(inner) in shell.transform_cell(raw)


@pytest.mark.parametrize("outer", ["%%capture\n", "%%capture out --no-stderr\n\n"])
def test_a_magic_that_hides_failures_is_refused(outer: str) -> None:
    with pytest.raises(UsageError, match="would hide that a turn has failed"):
        rewrite_cell(f"{outer}%%shard\na", is_awaited=True)


@pytest.mark.parametrize(
    ("body", "raw_cells", "restored"),
    [
        ("a\n", ["%%shard\na"], "a"),
        ("a\n", ["%%shard\na\n"], "a\n"),
        ("a\n", ["%%capture\n%%shard\na", "%%shard\na\n"], "a"),
        ("a\n", ["run_cell_magic('shard', '', 'a\\n')"], "a\n"),
        ("a\n", [""], "a\n"),
        ("a\n", [], "a\n"),
        ("a", ["%%shard\na"], "a"),
        ("b\n", ["%%shard\na"], "b\n"),
    ],
)
def test_only_the_line_end_that_was_put_there_is_taken_off(
    body: str, raw_cells: list[str], restored: str
) -> None:
    assert restore_body(body, *raw_cells) == restored
