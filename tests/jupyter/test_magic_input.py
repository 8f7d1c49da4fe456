"""From the text of a cell to a checked request, in a real kernel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.jupyter.kept_requests import keep_requests, take_requests
from tests.jupyter.kernel import CellRun, Kernel, open_kernel


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    with open_kernel(tmp_path_factory.mktemp("kernel")) as running:
        keep_requests(running)
        yield running


@pytest.fixture(autouse=True)
def no_requests_of_another_test(kernel: Kernel) -> None:
    take_requests(kernel)


def refused(run: CellRun) -> str:
    """The one line of a cell that failed as it should."""
    assert run.status == "error"
    assert run.error is not None
    assert run.error["ename"] == "UsageError"
    assert run.error["traceback"] == [f"UsageError: {run.error['evalue']}"]
    assert "\n" not in run.error["evalue"]
    assert (run.reply["content"]["ename"], run.strays) == ("UsageError", [])
    assert [message["msg_type"] for message in run.outputs] == ["error"]
    return str(run.error["evalue"])


BODIES = [
    "{", "{}", "{x}", "{{x}}", "$x", "${y}", "!ls", "%time 1", "%%time\nx", "what?", "what??", "?x",
    "a\r\nb\r\n", "\ta\tb\t", "end\\", "nul\0nul", "u\u2028v\u2029w\x85x\x0by\x0cz\x1c", "caf\u00e9 \U0001f600",
    "'''\"\"\"", "\\n\\x00", "  a\n   \n\tb\n", "one\n", "one\n\n", "\nx", "# c\n%%shard\nx", ">>> x\n... y",
    "x\r", "a" * 100_000,
]  # fmt: skip


@pytest.mark.proves("D02", "J3.8")
@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
def test_a_body_arrives_byte_for_byte(kernel: Kernel, body: str) -> None:
    run = kernel.execute(f"%%shard --agent {{x}}\n{body}")
    assert (run.status, run.outputs) == ("ok", [])
    (request,) = take_requests(kernel)
    assert request["text"] == body
    assert request["how"] == "awaited"
    assert request["options"] == {"agent": "{x}"}


@pytest.mark.proves("J3.8")
@pytest.mark.parametrize("code", [0xD800, 0xDBFF, 0xDC80, 0xDFFF])
def test_half_a_character_fails_the_cell_and_the_kernel_goes_on(kernel: Kernel, code: int) -> None:
    half = chr(code)
    run = kernel.execute(f"%%shard\nfirst\nsecond {half}")
    error = run.error
    assert (run.status, error and error["ename"]) == ("error", "UsageError")
    assert f"Line 3 of the cell holds half a character (U+{code:04X})" in str(error)
    assert take_requests(kernel) == []
    assert kernel.execute("%%shard\nhello").status == "ok"
    assert take_requests(kernel)[0]["text"] == "hello"


@pytest.mark.proves("J3.9")
@pytest.mark.parametrize("cell", ["%%shard", "%%shard\n", "%%shard \n \n\t", "\n\n%%shard --new"])
def test_an_empty_body_fails_the_cell(kernel: Kernel, cell: str) -> None:
    told = refused(kernel.execute(cell))
    assert told == "The prompt is empty. Write what is to be done below the %%shard line."


@pytest.mark.proves("J3.9")
@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("--modle x", "--modle is no option. Did you mean --mode or --model?"),
        ("--timeout soon", "--timeout cannot be soon."),
        ("--out class", "--out cannot be class"),
        ("--schema Missing --out x", "--schema Missing: there is no variable of this name."),
        ("fix it", "fix is no option. The prompt goes below the %%shard line"),
        ("--agent 'a", "A quote on the %%shard line is not closed."),
        ("\u2013-new", "\u2013-new starts with an en dash"),
    ],
)
def test_a_wrong_option_fails_the_cell_in_one_line(kernel: Kernel, line: str, told: str) -> None:
    assert refused(kernel.execute(f"%%shard {line}\nhello")).startswith(told)
    assert take_requests(kernel) == []


@pytest.mark.proves("J3.7")
@pytest.mark.parametrize("above", ["# note", "\n# note\n# more", "   # note\n"])
def test_a_comment_above_is_named(kernel: Kernel, above: str) -> None:
    told = refused(kernel.execute(f"{above}\n%%shard\nhello"))
    assert told.startswith("The comment '# note' stands above %%shard")
    assert "Move the comment" in told


@pytest.mark.proves("J3.7")
def test_blank_lines_above_are_fine(kernel: Kernel) -> None:
    assert kernel.execute("\n  \n%%shard\nhello").status == "ok"
    assert take_requests(kernel)[0]["text"] == "hello"


@pytest.mark.proves("J3.9")
@pytest.mark.parametrize("line", ["--help", "-h", "--bogus -h"])
def test_help_is_printed_and_the_cell_ends_well(kernel: Kernel, line: str) -> None:
    run = kernel.execute(f"%%shard {line}")
    assert run.status == "ok"
    assert run.stream().startswith("Ask a coding agent")
    assert "--timeout SECONDS" in run.stream()


@pytest.mark.proves("J3.7")
@pytest.mark.parametrize("cell", ["%%shard?", "%shard?", "?%%shard"])
def test_a_question_mark_shows_the_help(kernel: Kernel, cell: str) -> None:
    run = kernel.execute(cell)
    (page,) = run.reply["content"]["payload"]
    assert "@name attaches" in page["data"]["text/plain"]


def test_options_and_attachments_are_handed_over(kernel: Kernel) -> None:
    kernel.execute("rows = [1, 2]\nclass Report: n: int\nimport dataclasses\n")
    kernel.execute("Report = dataclasses.dataclass(Report)")
    run = kernel.execute("%%shard --out answer --schema Report --new\nuse @rows and @nobody")
    assert run.status == "ok"
    (request,) = take_requests(kernel)
    assert request["text"].startswith("use @rows and @nobody\n\n")
    assert '<attached name="@rows" type="list">\n2 items:\n[1, 2]\n</attached>' in request["text"]
    assert request["notices"] == ("@nobody names no variable, so it is sent as text.",)
    assert request["options"] == {"out": "answer", "schema": "Report", "new": "True"}
    assert request["schema"] == "Report"


def test_what_ipython_put_there_is_no_variable(kernel: Kernel) -> None:
    kernel.execute("41 + 1")
    kernel.execute("%%shard\n@exit @open @In @get_ipython and @_")
    (request,) = take_requests(kernel)
    assert len(request["notices"]) == 4
    assert '<attached name="@_" type="int">\n42\n</attached>' in request["text"]


def test_a_secret_fails_the_cell_before_anything_is_sent(kernel: Kernel) -> None:
    kernel.execute("api_key = 'hunter2'")
    told = refused(kernel.execute("%%shard\nuse @api_key"))
    assert told.startswith("@api_key is not sent")
    assert "hunter2" not in told
    assert take_requests(kernel) == []


@pytest.mark.proves("J3.8", "D02")
@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("get_ipython().run_cell_magic('shard', '--new', 'a {x}\\n')", "a {x}\n"),
        ("get_ipython().run_cell('%%shard --new\\na $x');", "a $x"),
        ("get_ipython().run_cell('%%shard --new\\na\\n');", "a\n"),
        ("%%time\n%%shard --new\n  a (\n \n b", "  a (\n \n b"),
        ("%%prun -q\n%%shard --new\na", "a"),
        ("%%time\n%%shard --new\na", "a"),
        ("%%timeit -n1 -r1\n%%shard --new\na", "a"),
    ],
)
def test_a_cell_that_code_runs_waits_for_its_end(kernel: Kernel, cell: str, text: str) -> None:
    run = kernel.execute(cell)
    assert (run.status, run.error) == ("ok", None)
    (request,) = take_requests(kernel)
    assert (request["how"], request["text"]) == ("blocking", text)
    assert request["options"] == {"new": "True"}
    assert kernel.execute("%%shard\nb").status == "ok"
    assert take_requests(kernel)[0]["how"] == "awaited"


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("%%time\n%%shard --bogus\na", "--bogus is no option."),
        ("%%time\n# note\n%%shard\na", "The comment '# note' stands above"),
        ("%%capture\n%%shard\na", "%%capture around %%shard would hide that a turn has failed."),
    ],
)
def test_errors_of_a_cell_within_a_cell_fail_it(kernel: Kernel, cell: str, told: str) -> None:
    run = kernel.execute(cell)
    assert (run.status, run.error and run.error["ename"]) == ("error", "UsageError")
    assert str(run.error and run.error["evalue"]).startswith(told)


def test_without_autoawait_the_cell_blocks(kernel: Kernel) -> None:
    kernel.execute("%autoawait False")
    kernel.execute("%%shard\na")
    kernel.execute("%autoawait True")
    assert [(kept["how"], kept["text"]) for kept in take_requests(kernel)] == [("blocking", "a")]


def test_a_script_of_cells_runs(kernel: Kernel) -> None:
    kernel.execute("open('cells.ipy', 'w', encoding='utf-8').write('%%shard\\nfrom a script')")
    run = kernel.execute("%run cells.ipy")
    assert (run.status, run.error) == ("ok", None)
    (request,) = take_requests(kernel)
    assert (request["how"], request["text"].rstrip("\n")) == ("blocking", "from a script")


def test_the_line_magic_gets_its_line_as_it_is(kernel: Kernel) -> None:
    kernel.execute("x = y = 'expanded'")
    assert kernel.execute("%shard status {x} $y").result == "('line', 'status {x} $y')"
    assert kernel.execute("got = %shard models\ngot").result == "('line', 'models')"


@pytest.mark.proves("J3.8")
def test_options_given_by_code_are_not_expanded(kernel: Kernel) -> None:
    kernel.execute("x = 'expanded'")
    kernel.execute("get_ipython().run_cell_magic('shard', '--agent {x} --model $x', '{x} $x')")
    (request,) = take_requests(kernel)
    assert request["options"] == {"agent": "{x}", "model": "$x"}
    assert request["text"] == "{x} $x"


@pytest.mark.parametrize("silent", [True, False])
def test_a_silent_cell_runs_too(kernel: Kernel, silent: bool) -> None:
    kernel.execute("%%shard\na\n", silent=silent)
    (request,) = take_requests(kernel)
    assert request["text"] == "a\n"


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("%%shard --mo", ["--mode", "--model"]),
        ("\n\n%%shard --mode ", ["build", "plan"]),
        ("%%shard --ask=re", ["recorded"]),
        ("%%sha", ["%%shard"]),
        ("x = 1\n%%shard --mo", []),
        ("%%shard\nfix --mo", []),
    ],
)
def test_options_are_completed(kernel: Kernel, typed: str, offered: list[str]) -> None:
    assert kernel.complete(typed) == offered


@pytest.mark.parametrize(
    ("code", "status"),
    [("%%shard", "incomplete"), ("%%shard\na", "incomplete"), ("%%shard\na\n\n", "complete")],
)
def test_a_console_asks_on_until_a_blank_line(kernel: Kernel, code: str, status: str) -> None:
    assert kernel.ask("is_complete_request", {"code": code})["status"] == status


def test_history_keeps_the_cell_as_it_was_typed(tmp_path: Path) -> None:
    with open_kernel(tmp_path) as kernel:  # in a used one half a character may have ended history
        keep_requests(kernel)
        kernel.execute("%%shard --new\nremember {x}")
        run = kernel.execute("get_ipython().history_manager.input_hist_raw[-2]")
        assert run.result == repr("%%shard --new\nremember {x}")


def test_a_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    with open_kernel(tmp_path) as kernel:
        keep_requests(kernel)
        kernel.execute("import os; os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')")
        told = refused(kernel.execute("%%shard\nhello"))
        assert told == "The current folder does not exist any more. Go to one with %cd."
