"""Chains of commands: what lets them run, what forbids them, and what is named as missing."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from functools import partial
from itertools import permutations
from pathlib import Path

import pytest

from shard_jupyter.contracts.permission_gate import GateRequest
from shard_jupyter.contracts.tool import Reach
from shard_jupyter.core.files.path_guard import locate
from shard_jupyter.core.modes.build import BUILD
from shard_jupyter.core.modes.plan import PLAN
from shard_jupyter.core.permissions.call_subject import content_of
from shard_jupyter.core.permissions.gate import RuleGate
from shard_jupyter.core.permissions.grants import GrantTable
from shard_jupyter.core.permissions.headless_policy import settle_without_person
from shard_jupyter.core.permissions.shell.shell_verdict import (
    ArgvReading,
    ShellVerdict,
    SimpleReading,
)
from shard_jupyter.types.decisions import Ask, CommandPattern, Decision, Rule
from tests.shell_readings import read_simply

pytestmark = pytest.mark.proves("A06")
MODES = {"build": BUILD, "plan": PLAN}


def rule(effect: str, program: str, *args: str, path: str | None = None) -> Rule:
    """Without `args` any arguments match."""
    command = CommandPattern(program=program, args=args or None) if program else None
    return Rule(effect=effect, tool="bash", command=command, path=path)


class Judge:
    """A workspace with a gate of its own."""

    def __init__(self, cwd: Path, *rules: Rule) -> None:
        self.cwd = cwd
        self.grants = GrantTable()
        self.gate = RuleGate(
            rules=rules,
            grants=self.grants,
            find_mode=MODES.__getitem__,
            locate=locate,
            judge_command=read_simply,
        )

    def request(self, command: str, **more: object) -> GateRequest:
        reach = Reach(kind="execute", command=command, obeys_context=True, summary=command)
        fields = {"mode": "build", **more}
        return GateRequest(
            call_id="c", tool="bash", arguments={}, reach=reach, read_only=False, cwd=self.cwd,
            **fields,
        )  # fmt: skip

    def __call__(self, command: str, **more: object) -> Decision:
        return self.gate.judge(self.request(command, **more))


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "ws"
    (folder / "sub").mkdir(parents=True)
    (folder / "secrets").mkdir()
    for name in ("a.txt", "sub/b.txt", "secrets/key"):
        (folder / name).write_text("x\n", encoding="utf-8")
    return folder


@pytest.mark.proves("T50")
@pytest.mark.parametrize("problem", ["", "it would come upon .env, which may hold keys"])
def test_what_speaks_against_a_reader_holds_beside_a_rule_for_the_rest(
    cwd: Path, problem: str
) -> None:
    """Its table and its paths alone may not tell: what lies below them was looked at too."""

    def read(text: str, workspace: Path) -> ShellVerdict:
        verdict = read_simply(text, workspace)
        first, reader = verdict.commands
        return replace(verdict, commands=(first, replace(reader, problem=problem)))

    gate = RuleGate(
        rules=(rule("allow", "mytool"),),
        grants=GrantTable(),
        find_mode=MODES.__getitem__,
        locate=locate,
        judge_command=read,
    )
    decision = gate.judge(Judge(cwd).request("mytool && cat a.txt"))
    assert decision.kind == ("ask" if problem else "allow")


@pytest.mark.proves("H4a.01", "T50", "T64")
@pytest.mark.parametrize(
    "command",
    [
        "cd sub && python evil.py", "cd sub; python evil.py", "cd sub | python evil.py",
        "cd sub & python evil.py", "cd sub\npython evil.py", "cd sub || python evil.py",
        "(cd sub; python evil.py)", "cd sub && { python evil.py; }", "cd sub > evil.py",
        "cd sub && cd sub > evil.py", "cd sub && cd $(python evil.py)", "pytest -q > ~/.bashrc",
        "pytest -q && cat /etc/passwd", "pytest -q; cat ../x", "pytest -q < /etc/passwd",
        "pytest -q && cd sub && cat a.txt", "pytest -q | tee sub/out", "(pytest -q) > out", "{ pytest -q; } >> out",
    ],
)  # fmt: skip
def test_a_rule_for_one_command_does_not_let_the_rest_of_a_chain_pass(
    cwd: Path, command: str
) -> None:
    assert Judge(cwd, rule("allow", "cd"), rule("allow", "pytest", "-q"))(command).kind == "ask"


@pytest.mark.proves("H4a.01")
@pytest.mark.parametrize(
    "command",
    [
        "pytest -q", "pytest -q && ruff check", "pytest -q | tail", "pytest -q 2>&1 | tail",
        "ls; pytest -q || ruff check", "(pytest -q; cat sub/b.txt)", "pytest -q < a.txt",
    ],
)  # fmt: skip
def test_a_chain_runs_whose_every_command_is_allowed_or_only_reads(cwd: Path, command: str) -> None:
    judge = Judge(cwd, rule("allow", "pytest", "-q"), rule("allow", "ruff", "check"))
    decision = judge(command)
    assert (decision.kind, decision.is_confined) == ("allow", False)
    assert decision.command == read_simply(command).canonical


def test_a_step_into_the_workspace_itself_is_no_step(cwd: Path) -> None:
    judge = Judge(cwd, rule("allow", "pytest", "-q"))
    assert judge(f"cd {cwd} && pytest -q && cat a.txt").kind == "allow"
    assert judge("cd sub && pytest -q").kind == "ask"


def test_a_weak_model_gets_no_part_of_a_chain_from_the_policy(cwd: Path) -> None:
    judge = Judge(cwd, rule("allow", "pytest", "-q"))
    assert judge("ls", use_mode_allowance=False).kind == "ask"
    assert judge("pytest -q | tail", use_mode_allowance=False).kind == "ask"
    assert judge("pytest -q", use_mode_allowance=False).kind == "allow"


@pytest.mark.parametrize("part", [{"is_git": True}, {"run_as": ("x", "--safe")}, {"network": True}])
def test_what_is_harmless_only_when_confined_is_not_harmless_in_a_chain(
    cwd: Path, part: dict[str, object]
) -> None:
    readings = (
        SimpleReading(("pytest",), ArgvReading(why_not="unknown")),
        SimpleReading(("x",), ArgvReading(**part)),
    )
    judge = Judge(cwd, rule("allow", "pytest"))
    judge.gate._judge_command = lambda text, workspace: ShellVerdict(
        False, "no", "pytest; x", "", readings
    )
    assert judge("pytest; x").kind == "ask"


@pytest.mark.proves("H4a.02")
@pytest.mark.parametrize(
    "command",
    ["cd /other && git push --dry-run", "cd sub; git push", "cd sub | git push", "ls & git push",
     "cd sub\ngit push", "(cd sub && git push)", "cd sub && 'git' \"push\"", "git \\\npush"],
)  # fmt: skip
@pytest.mark.parametrize("effect", ["ask", "deny"])
def test_what_stands_before_a_command_takes_no_ask_or_deny_rule_away(
    cwd: Path, command: str, effect: str
) -> None:
    judge = Judge(cwd, Rule(effect="allow", tool="*"), rule(effect, "git", "push", "**"))
    judge.grants.give(Rule(effect="allow", tool="*"), by="me", timestamp="")
    assert judge(command).kind == effect


@pytest.mark.proves("H4a.03")
@pytest.mark.parametrize(
    "command",
    ["echo $(rm f)", "echo `rm f`", "eval 'rm f'", "bash -c 'rm f'", "(rm f)", "xargs rm",
     "find . -exec rm {} ;", "sh <<< 'rm f'", "env rm f", "timeout 1 rm f", "echo \"$(rm f)\"",
     "bash <<E\nrm f\nE", "bash -c \"bash -c 'rm f'\""],
)  # fmt: skip
def test_what_runs_inside_another_is_denied_by_its_rule_and_allowed_by_none(
    cwd: Path, command: str
) -> None:
    assert Judge(cwd, rule("deny", "rm"))(command).kind == "deny"
    programs = ("echo", "cat", "ls")
    assert Judge(cwd, *(rule("allow", name) for name in programs))(command).kind == "ask"


@pytest.mark.proves("H4a.04")
def test_a_broad_allow_goes_before_no_specific_ask_or_deny_in_any_order(cwd: Path) -> None:
    allow, ask, deny = (
        rule("allow", "*"),
        rule("ask", "*admin*"),
        rule("deny", "*", "--force", "**"),
    )
    for order in permutations([allow, ask, deny]):
        judge = Judge(cwd, *order)
        assert judge("db-admin --force x").kind == "deny"
        assert judge("db-admin x").kind == "ask"
        assert judge("db x").kind == "allow"


@pytest.mark.proves("T63")
@pytest.mark.parametrize("mode", ["build", "plan"])
@pytest.mark.parametrize("setting", ["deny", "rules", "yes", "recorded"])
def test_a_deny_rule_holds_in_every_mode_and_setting(cwd: Path, mode: str, setting: str) -> None:
    judge = Judge(cwd, Rule(effect="allow", tool="*"), rule("deny", "rm"))
    judge.grants.give(Rule(effect="allow", tool="*"), by="me", timestamp="")
    decision = judge("ls && rm x", mode=mode, use_allow_rules=setting != "deny")
    assert (decision.kind, decision.by) == ("deny", "rule")


def test_what_only_reads_runs_confined_and_not_in_a_mode_that_has_no_shell(cwd: Path) -> None:
    judge = Judge(cwd)
    decision = judge("cat   a.txt")
    assert (decision.kind, decision.is_confined) == ("allow", True)
    assert decision.command == "cat a.txt #confined"
    assert judge("cat a.txt", mode="plan").kind == "deny"
    assert judge("cat a.txt", is_recovered=True).kind == "ask"
    assert Judge(cwd, rule("ask", "cat"))("cat a.txt").kind == "ask"


def test_a_tool_that_runs_what_it_was_given_gets_nothing_from_the_shell_policy(cwd: Path) -> None:
    judge = Judge(cwd, rule("allow", "touch"))
    request = judge.request("cat a.txt")
    reach = request.reach.model_copy(update={"obeys_context": False})
    decision = judge.gate.judge(request.model_copy(update={"reach": reach}))
    assert (decision.kind, decision.command) == ("ask", "")


def test_a_question_covers_one_canonical_form(cwd: Path) -> None:
    judge = Judge(cwd)
    asks = [judge("touch a"), judge("touch  a"), judge("touch b")]
    assert [ask.command for ask in asks] == ["touch a", "touch a", "touch b"]
    assert len({ask.covers for ask in asks}) == 3  # also the text that was shown
    judge.gate._judge_command = lambda text, workspace: ShellVerdict(
        False, "touch is not known", "touch other"
    )
    assert judge("touch a").covers not in {ask.covers for ask in asks}


@pytest.mark.proves("H4a.07", "T52")
@pytest.mark.parametrize(
    "command",
    ["cat secrets/key", "cat ./secrets//key", "cat sub/../secrets/key", "cat SECRETS/key",
     "cat link", "cat dirlink/key", "head -n 1 link", "ls; cat link", "cat < link"],
)  # fmt: skip
def test_a_deny_rule_takes_what_a_command_reads_by_its_real_name_too(
    cwd: Path, command: str
) -> None:
    (cwd / "link").symlink_to("secrets/key")
    (cwd / "dirlink").symlink_to("secrets")
    assert Judge(cwd, rule("deny", "", path="secrets/**"))(command).kind == "deny"
    assert Judge(cwd, rule("ask", "", path="secrets/**"))(command).kind == "ask"


@pytest.mark.proves("H4a.07")
@pytest.mark.parametrize(
    ("glob", "command", "kind"),
    [
        ("secrets/**", "ls -R .", "ask"),
        ("secrets/**", "ls -R sub", "allow"),
        ("**/.env", "ls -R sub", "ask"),
        ("sub/x/*.pem", "ls -R sub", "ask"),
        ("sub/*", "ls .", "allow"),
        ("secrets/**", "cd sub && cat ../a.txt", "ask"),
        ("secrets/**", "cat a.txt", "allow"),
        ("/etc/**", "ls -R .", "allow"),
    ],
)
@pytest.mark.parametrize("effect", ["ask", "deny"])
def test_a_search_of_the_folder_above_does_not_dodge_a_rule(
    cwd: Path, glob: str, command: str, kind: str, effect: str
) -> None:
    judge = Judge(cwd, rule(effect, "", path=glob), rule("allow", "ls"), rule("allow", "cat"))
    decision = judge(command)
    assert decision.kind == kind
    assert not isinstance(decision, Ask) or "may come upon" in decision.why


def test_ask_yes_does_not_allow_a_search_that_comes_upon_what_is_denied(cwd: Path) -> None:
    judge = Judge(cwd, rule("deny", "", path="secrets/**"))
    request = judge.request("ls -R .")
    denial = settle_without_person("yes", judge.gate.judge(request), judge.gate.offer(request))
    assert (denial.kind, denial.by) == ("deny", "headless")
    asking = Judge(cwd, rule("ask", "", path="secrets/**"))
    ask = asking.gate.judge(asking.request("ls -R ."))
    assert settle_without_person("yes", ask, asking.gate.offer(request)).kind == "allow"


def test_a_pattern_that_may_stand_for_what_a_rule_names_is_asked(cwd: Path) -> None:
    judge = Judge(cwd, rule("deny", "", path="secrets/**"), rule("allow", "pytest"))
    assert judge("pytest s*/key").kind == "ask"
    assert Judge(cwd, rule("allow", "pytest"))("pytest s*/key").kind == "allow"
    exact = Judge(cwd, rule("allow", "pytest", "s?b"))
    assert exact("pytest sub").kind == "allow"
    assert exact("pytest 's?b'").kind == "allow"
    assert exact("pytest s?b").kind == "ask"


@pytest.mark.proves("T52")
def test_a_path_glob_of_an_allow_rule_does_not_follow_a_link_out(cwd: Path) -> None:
    (cwd / "sub" / "out").symlink_to("/etc")
    judge = Judge(cwd, rule("allow", "mytool", "sub/**"))
    assert judge("mytool sub/b.txt").kind == "allow"
    assert judge("mytool sub/out/passwd").kind == "ask"
    assert judge("mytool sub/.git/config").kind == "ask"
    assert judge("cd sub && mytool sub/b.txt").kind == "ask"


@pytest.mark.parametrize("setting", ["rules", "deny", "recorded"])
@pytest.mark.parametrize(
    ("command", "count"),
    [
        ("touch a", 1),
        ("touch a && mkdir b", 2),
        ("touch a | tail", 1),
        ("touch 'a*b' 'c/[d]'", 1),
        ("touch a > b", 1),
        ("touch $X", 1),
        ("touch *", 1),
    ],
)
def test_every_denial_names_the_rules_with_which_the_call_runs(
    cwd: Path, setting: str, command: str, count: int
) -> None:
    judge = Judge(cwd)
    request = judge.request(command, use_allow_rules=setting != "deny")
    denial = settle_without_person(setting, judge.gate.judge(request), judge.gate.offer(request))
    named = json.loads(denial.would_allow)
    rules = [Rule.model_validate(each) for each in (named if count > 1 else [named])]
    assert len(rules) == count
    assert Judge(cwd, *rules)(command).kind == "allow"
    for left_out in rules:
        rest = [each for each in rules if each is not left_out]
        assert Judge(cwd, *rest)(command).kind == "ask"


def test_an_offered_rule_of_a_chain_is_for_the_one_command_that_needs_it(cwd: Path) -> None:
    judge = Judge(cwd)
    offer = judge.gate.offer(judge.request("cat a.txt | mytool -x | tail"))
    assert [each.command.program for each in offer.rules] == ["mytool"]
    judge.grants.give(offer.rules[0], by="me", timestamp="")
    assert judge("cat a.txt | mytool -x | tail").kind == "allow"
    assert judge("cat a.txt | mytool -y").kind == "ask"
    assert judge.gate.offer(judge.request("one; two")).rules == ()


@pytest.mark.parametrize("name", ["asks_network", "asks_unconfined"])
def test_more_than_the_sandbox_gives_is_asked_of_a_person_whatever_is_allowed(
    cwd: Path, name: str
) -> None:
    for has_sandbox, kind in ((True, "ask"), (False, "allow")):
        judge = Judge(cwd, Rule(effect="allow", tool="*"))
        judge.gate._has_sandbox = partial(bool, has_sandbox)
        request = judge.request("cat a.txt")
        reach = request.reach.model_copy(update={name: True})
        wanting = request.model_copy(update={"reach": reach})
        decision = judge.gate.judge(wanting)
        assert decision.kind == kind
        if has_sandbox:
            assert judge.gate.offer(wanting).rules == ()
            assert settle_without_person("yes", decision, judge.gate.offer(wanting)).kind == "allow"


def test_content_is_looked_at_only_where_somebody_is_asked(
    cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    real_open = os.open

    def note(path: str, *args: int, **more: int) -> int:
        opened.append(str(path))
        return real_open(path, *args, **more)

    monkeypatch.setattr(os, "open", note)
    reach = Reach(kind="write", paths=("a.txt",))
    request = GateRequest(
        call_id="c", tool="write", arguments={}, reach=reach, read_only=False, cwd=cwd,
        mode="build",
    )  # fmt: skip
    assert Judge(cwd, Rule(effect="allow", tool="write")).gate.judge(request).kind == "allow"
    assert opened == []
    ask = Judge(cwd).gate.judge(request)
    assert opened == [str(cwd / "a.txt")]
    assert len(ask.contents[0]) == 64


def test_content_of_whatever_lies_there_is_told(cwd: Path) -> None:
    for name in ("empty", "odd\udcff"):
        (cwd / name).write_bytes(b"")
    told = {name: content_of(locate(cwd, name)) for name in ("a.txt", "empty", "sub", "gone/x")}
    assert told["empty"] == hashlib.sha256(b"").hexdigest()
    assert (told["sub"], told["gone/x"]) == ("no file", "absent")
    assert len({*told.values()}) == 4
