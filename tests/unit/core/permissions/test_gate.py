"""The order of the gate: whatever the order in the files (DESIGN §8)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import pytest

from shard_jupyter.contracts.mode import Mode
from shard_jupyter.contracts.permission_gate import GateRequest, Offer
from shard_jupyter.contracts.tool import Reach
from shard_jupyter.core.modes.build import BUILD
from shard_jupyter.core.modes.plan import PLAN
from shard_jupyter.core.permissions.gate import RuleGate
from shard_jupyter.core.permissions.grants import GrantTable
from shard_jupyter.core.permissions.headless_policy import settle_without_person
from shard_jupyter.core.permissions.rule_files.granted_rules import GrantedRules
from shard_jupyter.core.permissions.rule_files.rule_book import RuleBook
from shard_jupyter.types.decisions import Ask, Rule

pytestmark = pytest.mark.proves("A06")
CWD = Path("/w")
ALLOW = Rule(effect="allow", tool="*")
ASK = Rule(effect="ask", tool="*")
DENY = Rule(effect="deny", tool="write")


@dataclass(frozen=True)
class Place:
    real: Path
    inside: bool
    protected: bool = False

    @property
    def reads_freely(self) -> bool:
        return self.inside and not self.protected

    @property
    def why(self) -> str:
        return "" if self.inside and not self.protected else "for a reason of its own"


def locate(cwd: Path, given: str) -> Place:
    real = Path(os.path.normpath(cwd / given))
    return Place(real, real.is_relative_to(cwd), "secret" in given)


def make_gate(
    *rules: Rule, grants: GrantTable | None = None, book: RuleBook | None = None
) -> RuleGate:
    modes = {"build": BUILD, "plan": PLAN, "odd": Mode(name="odd", description="", rules=(ALLOW,))}
    return RuleGate(
        rules=rules if book is None else book,
        grants=grants or GrantTable(),
        find_mode=modes.__getitem__,
        locate=locate,
    )


def request(tool: str = "write", path: str = "a.py", mode: str = "build") -> GateRequest:
    read = tool == "read"
    reach = Reach(kind="read" if read else "write", paths=(path,), summary=f"{tool} {path}")
    return GateRequest(
        call_id="c", tool=tool, arguments={}, reach=reach, read_only=read, cwd=CWD, mode=mode
    )


@pytest.mark.parametrize("order", list(permutations([ALLOW, ASK, DENY])))
def test_deny_beats_ask_beats_allow_in_any_file_order(order) -> None:
    assert make_gate(*order).judge(request()).kind == "deny"
    rest = [rule for rule in order if rule is not DENY]
    assert make_gate(*rest).judge(request()).kind == "ask"


def test_contained_reads_run_and_everything_else_asks() -> None:
    gate = make_gate()
    assert gate.judge(request("read")).kind == "allow"
    assert gate.judge(request("read", "/etc/passwd")).kind == "ask"
    assert gate.judge(request("read", "secret.txt")).kind == "ask"
    assert gate.judge(request("write")).kind == "ask"


def test_a_read_only_mode_vetoes_what_grants_and_rules_allow() -> None:
    grants = GrantTable()
    grants.give(ALLOW, by="me", timestamp="")
    decision = make_gate(ALLOW, grants=grants).judge(request(mode="plan"))
    assert (decision.kind, decision.by) == ("deny", "mode")


def test_a_grant_answers_before_allow_rules_but_never_over_a_deny_or_an_ask() -> None:
    grants = GrantTable()
    grants.give(ALLOW, by="me", timestamp="")
    assert make_gate(grants=grants).judge(request()).kind == "allow"
    assert make_gate(ASK, grants=grants).judge(request()).kind == "ask"
    assert make_gate(DENY, grants=grants).judge(request()).kind == "deny"


def test_rules_of_the_mode_count_like_others() -> None:
    assert make_gate().judge(request(mode="odd")).kind == "allow"
    assert make_gate(DENY).judge(request(mode="odd")).kind == "deny"


def test_ask_deny_leaves_allow_rules_out() -> None:
    without = {"use_allow_rules": False}
    assert make_gate(ALLOW).judge(request().model_copy(update=without)).kind == "ask"
    assert make_gate(ALLOW).judge(request("read").model_copy(update=without)).kind == "allow"


def test_every_ask_has_an_id_of_its_own() -> None:
    gate = make_gate()
    assert gate.judge(request()).request_id != gate.judge(request()).request_id


def test_a_yes_covers_the_same_reach_for_the_same_reason_and_no_other() -> None:
    gate, first = make_gate(), make_gate().judge(request())
    assert gate.judge(request()).covers == first.covers
    others = [
        gate.judge(request(path="b.py")),
        gate.judge(request(path="/elsewhere/a.py")),
        gate.judge(request("edit")),
        make_gate(ASK).judge(request()),
    ]
    assert len({first.covers, *(other.covers for other in others)}) == 5


@pytest.mark.parametrize("spelling", ["src/../../etc/passwd", "src/../x", "/etc/passwd", "src"])
def test_an_allow_rule_goes_by_where_a_path_leads_not_by_how_it_is_spelled(spelling: str) -> None:
    assert (
        make_gate(Rule(effect="allow", tool="write", path="src/**"))
        .judge(request(path=spelling))
        .kind
        == "ask"
    )


@pytest.mark.parametrize("glob", ["**", "**/*", "*", "**/passwd"])
def test_an_allow_rule_relative_to_the_workspace_does_not_leave_it(glob: str) -> None:
    gate = make_gate(Rule(effect="allow", tool="write", path=glob))
    assert gate.judge(request(path="/etc/passwd")).kind == "ask"
    absolute = make_gate(Rule(effect="allow", tool="write", path="/etc/*"))
    assert absolute.judge(request(path="/etc/passwd")).kind == "allow"


@pytest.mark.parametrize(
    "spelling",
    [
        "keys/x",
        "./keys/x",
        "keys//x",
        "a/../keys/x",
        "/w/keys/x",
        "/w/a/../keys/x",
        "KEYS/x",
        "keys",
    ],
)
def test_a_deny_rule_takes_every_spelling(spelling: str) -> None:
    for glob in ("keys/", "keys/**", "**/keys/*", "/w/keys/**"):
        denied = make_gate(Rule(effect="deny", tool="*", path=glob)).judge(
            request("read", path=spelling)
        )
        assert denied.kind == "deny" or (spelling == "keys" and glob == "**/keys/*"), glob


@pytest.mark.parametrize("kind", ["write", "execute"])
def test_a_tool_that_says_it_only_reads_is_believed_only_where_its_reach_agrees(kind: str) -> None:
    lying = request("read").model_copy(update={"reach": Reach(kind=kind, paths=("a",))})
    assert make_gate().judge(lying).kind == "ask"
    decision = make_gate(ALLOW).judge(lying.model_copy(update={"mode": "plan"}))
    assert (decision.kind, decision.by) == ("deny", "mode")


def test_a_tool_that_the_mode_does_not_offer_is_vetoed() -> None:
    modes = {"look": Mode(name="look", description="", tools=("gr*",))}
    gate = RuleGate(rules=(ALLOW,), grants=GrantTable(), find_mode=modes.__getitem__, locate=locate)
    assert gate.judge(request("read", mode="look")).by == "mode"
    assert gate.judge(request("grep", mode="look")).kind == "allow"


def test_nothing_is_offered_where_an_allow_rule_would_not_help() -> None:
    offer = make_gate().offer(request())
    assert [rule.path for rule in offer.rules] == ["a.py"]
    assert offer.would_allow == offer.rules[0]
    for gate in (make_gate(ASK), make_gate(DENY)):
        assert (gate.offer(request()).rules, gate.offer(request()).would_allow) == ((), None)


@pytest.mark.parametrize(
    ("kind", "path", "why"),
    [
        ("write", "a.py", "no rule allows it"),
        ("write", "secret", "no rule allows it, and for a reason of its own"),
        ("read", "secret", "no rule allows it, and for a reason of its own"),
        ("read", "../a.py", "no rule allows it, and it is for a reason of its own"),
    ],
)
def test_a_question_says_what_is_special_about_a_path(kind: str, path: str, why: str) -> None:
    """Reads inside run unasked: who is asked about one has to be told why."""
    asked = make_gate().judge(request(kind, path))
    assert isinstance(asked, Ask)
    assert asked.why == why


NO_RULE = Ask(prompt="?", request_id="r", why="no rule allows it")


def test_without_a_person_only_yes_allows_and_a_denial_names_the_rule_that_would() -> None:
    offer = Offer(would_allow=Rule(effect="allow", tool="bash"))
    assert settle_without_person("yes", NO_RULE, offer).kind == "allow"
    denial = settle_without_person("rules", NO_RULE, offer)
    assert (denial.kind, denial.by) == ("deny", "headless")
    assert denial.would_allow == '{"effect": "allow", "tool": "bash"}'
    warning = "No narrower rule than one for every call of bash would allow it."
    assert denial.reason == f"Nobody could be asked, and no rule allows it. {warning}"


def test_a_denial_by_ask_deny_names_the_rule_and_the_setting_with_which_it_counts() -> None:
    offer = Offer(would_allow=Rule(effect="allow", tool="write", path="a"))
    denial = settle_without_person("deny", NO_RULE, offer)
    assert denial.would_allow == '{"effect": "allow", "tool": "write", "path": "a"}'
    assert denial.reason.endswith("With ask=rules a rule could allow it.")


def test_a_denial_names_no_rule_where_none_would_have_helped() -> None:
    assert "ask=rules" not in settle_without_person("deny", NO_RULE, Offer()).reason
    assert settle_without_person("rules", NO_RULE, Offer()).would_allow == ""


@pytest.mark.parametrize("glob", [None, "**", "secret*", "*.txt"])
@pytest.mark.parametrize("tool", ["write", "read"])
def test_a_wide_allow_rule_does_not_cover_a_protected_path(glob: str | None, tool: str) -> None:
    rule = Rule(effect="allow", tool="*", path=glob)
    assert make_gate(rule).judge(request(tool, "secret.txt")).kind == "ask"


def test_an_allow_rule_that_names_a_protected_path_covers_it() -> None:
    rule = Rule(effect="allow", tool="write", path="secret.txt")
    assert make_gate(rule).judge(request("write", "secret.txt")).kind == "allow"


@pytest.mark.parametrize("before", [(), (ASK,)])
def test_what_a_file_that_broke_meanwhile_may_forbid_needs_a_person(
    tmp_path: Path, before: tuple[Rule, ...]
) -> None:
    file = tmp_path / "granted.json"
    file.write_text('{"rules": [', encoding="utf-8")
    gate = make_gate(book=RuleBook((*before, ALLOW), GrantedRules(file, CWD)))
    asked = gate.judge(request("read"))
    assert isinstance(asked, Ask)
    assert settle_without_person("yes", asked, gate.offer(request("read"))).kind == "deny"
    file.unlink()
    assert gate.judge(request("read")).kind == ("ask" if before else "allow")
