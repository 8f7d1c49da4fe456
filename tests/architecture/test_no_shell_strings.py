"""Programs are started with lists of arguments; no text of ours ever reaches a shell."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.test_sizes import sources

pytestmark = pytest.mark.proves("T68")
SHELLS = {
    "os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput", "pty.spawn",
    "asyncio.create_subprocess_shell", "commands.getoutput", "os.startfile",
}  # fmt: skip
SHELL_PROGRAMS = {"sh", "bash", "/bin/sh", "/bin/bash", "cmd", "cmd.exe", "powershell"}
RUNS_GIVEN_TEXT = {"core/tools/bash.py"}
"""The bash tool: what it runs is what the gate judged."""


def faults(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from faults_of_call(node)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if f"{node.module}.{alias.name}" in SHELLS:
                    yield f"{node.lineno}: import of {alias.name}"
        elif isinstance(node, ast.List | ast.Tuple):
            words = {part.value for part in node.elts if isinstance(part, ast.Constant)}
            if "-c" in words and SHELL_PROGRAMS & words:
                yield f"{node.lineno}: a shell with -c"


def faults_of_call(node: ast.Call) -> Iterator[str]:
    name = ast.unparse(node.func)
    if name in SHELLS:
        yield f"{node.lineno}: {name}"
    for keyword in node.keywords:
        is_off = isinstance(keyword.value, ast.Constant) and keyword.value.value is False
        if keyword.arg == "shell" and not is_off:
            yield f"{node.lineno}: {name}(shell=…)"


def test_nothing_but_the_bash_tool_starts_a_shell() -> None:
    found = {name: list(faults(ast.parse(text))) for name, text in sources()}
    wrong = {name: lines for name, lines in found.items() if lines and name not in RUNS_GIVEN_TEXT}
    assert wrong == {}


@pytest.mark.parametrize(
    "text",
    [
        "os.system(x)", "subprocess.run(x, shell=True)", "run(x, shell=flag)", "os.popen('x')",
        "from os import system", "await asyncio.create_subprocess_shell(x)",
        "argv = ['bash', '-c', x]", "Popen(('/bin/sh', '-c', x))",
    ],
)  # fmt: skip
def test_each_way_to_a_shell_is_found(text: str) -> None:
    tree = ast.parse(f"async def f():\n    {text}\n")
    assert list(faults(tree))


def test_lists_of_arguments_are_no_fault() -> None:
    assert list(faults(ast.parse("run(['git', '-c', 'a=b'], shell=False)"))) == []
