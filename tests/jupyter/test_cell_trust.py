"""Trust in a project from a cell, and `%shard grants`, in real kernels."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from shard_jupyter.core.permissions.rule_files.granted_rules import keep_rule
from shard_jupyter.types.decisions import CommandPattern, Rule
from tests.fakes.model_server import MockModel, model_server
from tests.jupyter.agent_kernel import MODEL, NOTEBOOK, final_bundle, open_agent_kernel
from tests.jupyter.kernel import CellRun, Kernel

__all__ = ["model_server"]
pytestmark = [pytest.mark.proves("D02", "A06", "T55"), pytest.mark.timeout(120)]

TOUCH = {"tool": "bash", "command": {"program": "touch"}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("trust")


@pytest.fixture(scope="module")
def kernel(folder: Path, model_server: MockModel) -> Iterator[Kernel]:
    with open_agent_kernel(folder, model_server.url) as running:
        put_rules(running, "allow")
        yield running


def put_rules(kernel: Kernel, *effects: str) -> None:
    rules = Path(value(kernel, "__import__('os').getcwd()")) / ".shard/rules"
    rules.mkdir(parents=True, exist_ok=True)
    found = [{"effect": effect, **TOUCH} for effect in effects]
    (rules / "team.json").write_text(json.dumps(found), encoding="utf-8")


def value(kernel: Kernel, code: str) -> str:
    run = kernel.execute(f"print({code})")
    assert run.status == "ok", run.error
    return run.stream().strip()


def touch(kernel: Kernel, name: str, options: str = "") -> CellRun:
    line = f"%%shard --model {MODEL} --ask rules --no-raise {options}"
    run = kernel.execute(f"{line}\nGo. @@shell touch {name}", metadata=NOTEBOOK)
    assert run.status == "ok", run.error
    return run


def is_made(kernel: Kernel, name: str) -> bool:
    return value(kernel, f"__import__('os').path.exists({name!r})") == "True"


def said(run: CellRun) -> str:
    return str(final_bundle(run)["text/plain"])


def test_a_project_counts_from_the_cell_that_trusts_it_until_the_agent_is_opened_again(
    kernel: Kernel,
) -> None:
    untrusted = touch(kernel, "one", "--new")
    assert not is_made(kernel, "one")
    assert "An allow rule does not count: the project is not trusted" in said(untrusted)
    touch(kernel, "two", "--trust-project")
    assert is_made(kernel, "two")
    touch(kernel, "three")  # the same agent, which is trusted as long as it is open
    assert is_made(kernel, "three")
    kernel.execute("import os; os.environ['LAB_SETTING'] = '1'")
    reopened = touch(kernel, "four")
    assert not is_made(kernel, "four")
    assert "the project is not trusted any more" in said(reopened)
    again = touch(kernel, "five", "--trust-project")
    assert is_made(kernel, "five")
    assert "not trusted any more" not in said(again)


def test_a_new_conversation_starts_without_trust(kernel: Kernel) -> None:
    touch(kernel, "six", "--new --trust-project")
    touch(kernel, "seven", "--new")
    assert (is_made(kernel, "six"), is_made(kernel, "seven")) == (True, False)


def test_a_deny_rule_holds_in_a_project_that_is_trusted(kernel: Kernel) -> None:
    put_rules(kernel, "allow", "deny")
    try:
        touch(kernel, "eight", "--new --trust-project --agent other")
        assert not is_made(kernel, "eight")
    finally:
        put_rules(kernel, "allow")


@pytest.mark.proves("T66")
@pytest.mark.parametrize("line", ["--record --trust-project", "--record=-x", "--agent '-x'"])
def test_a_value_is_never_an_option(kernel: Kernel, line: str) -> None:
    run = kernel.execute(f"%%shard {line}\nGo.")
    assert run.status == "error"
    assert run.error is not None
    assert run.error["ename"] == "UsageError"


def test_grants_are_shown_in_words_and_revoked_for_the_agent_that_runs(
    kernel: Kernel, folder: Path
) -> None:
    state = Path(value(kernel, "__import__('os').environ['SHARD_HOME']"))
    assert state.is_relative_to(folder)
    rule = Rule(effect="allow", tool="bash", command=CommandPattern(program="touch"))
    first = kernel.execute("%shard grants")
    assert (
        "allowed nothing for longer than one call"
        in first.outputs[0]["content"]["data"]["text/plain"]
    )
    touch(kernel, "nine", "--new")
    assert not is_made(kernel, "nine")
    kept = keep_rule(state / "rules/granted.json", rule, by="ada", at="2026-01-02T03:04:05+00:00")
    touch(kernel, "ten")
    assert is_made(kernel, "ten")
    shown = kernel.execute("g = %shard grants\ng").outputs[0]["content"]["data"]
    for form in ("text/plain", "text/markdown", "text/html"):
        for words in ("allow bash touch", "every project", "by ada", kept.rule_id):
            assert words in shown[form]
    assert value(kernel, "(g.grants[0].scope, g.grants[0].id)") == str(("everywhere", kept.rule_id))
    gone = kernel.execute(f"%shard grants revoke {kept.rule_id}").outputs[0]["content"]["data"]
    assert "Revoked: allow bash touch" in gone["text/plain"]
    touch(kernel, "eleven")
    assert not is_made(kernel, "eleven")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("grants revoke", "needs the id of a grant"),
        ("grants revoke nothing", "There is no grant 'nothing'."),
        ("grants revoke -x", "needs the id of a grant"),
        ("grants take", "does not know what 'take' is"),
    ],
)
def test_what_cannot_be_revoked_fails_in_one_line(kernel: Kernel, line: str, told: str) -> None:
    run = kernel.execute(f"%shard {line}")
    assert run.status == "error"
    assert run.error is not None
    assert told in run.error["evalue"]
    assert os.linesep not in run.error["evalue"]
