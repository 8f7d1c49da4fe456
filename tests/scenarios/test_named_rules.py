"""The rule that a denial names, put into a file, lets just that call run; and what rules reach."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import anyio
import pytest

from shard_jupyter import Shard
from shard_jupyter.surfaces.cli.judging.rule_judge import RuleJudge
from shard_jupyter.testing.scripted_provider import ScriptedProvider, call, say
from shard_jupyter.types.decisions import Rule
from shard_jupyter.types.turns import Denial

pytestmark = [pytest.mark.proves("A06", "H4a.14"), pytest.mark.timeout(120)]

_NARROW = r"""
make test
pytest -q tests/test_a.py
npm install left-pad
git commit -m "a message"
git push origin HEAD:main
git -c a.b=c status
touch 'a b'
touch "a[1].txt"
touch 'a*b' 'c?'
touch \\x
touch 'it'"'"'s'
touch ''
mkdir -p build/x/y
rm -rf build
mv a b && make
make && make install && touch x
ls; touch a; touch b; touch c
cat src/a.py | tee out.txt
cd src && cat a.py && touch x
python -c "print('it''s')"
bash -c 'echo hi'
sudo ls
env A=1 make
find . -name '*.pyc' -delete
find . -exec rm {} +
sed -i s/a/b/ src/a.py
cat ../outside
cat /etc/hostname
cat .env
awk '{print $1}' src/a.py
./run.sh
/usr/bin/touch q
printf '%s\n' a | sort -o x
(touch a)
! touch a
git add .
git diff --output=x
ruff check .
uv run pytest
rg --pre cat x
"""
_WIDE = r"""
touch a*b
A=1 make
echo hi > out.txt
curl https://example.invalid/x?y=1
touch $HOME/x
echo $(date)
for i in 1; do echo $i; done
touch "ü"
touch a &
touch {a,b}
touch ~/x
"""
NARROW = _NARROW.strip().split("\n")
WIDE = _WIDE.strip().split("\n")
TOOLS = [
    ("write", {"path": "a.txt", "content": "x"}),
    ("write", {"path": "src/new/a[1].txt", "content": "x"}),
    ("write", {"path": ".git/hooks/pre-commit", "content": "x"}),
    ("write", {"path": "Makefile", "content": "x"}),
    ("write", {"path": "../out.txt", "content": "x"}),
    ("write", {"path": "link/out.txt", "content": "x"}),
    ("write", {"path": "a\u200bb.txt", "content": "x"}),
    ("write", {"path": "$HOME", "content": "x"}),
    ("edit", {"path": "src/a.py", "old": "hi", "new": "ho"}),
    ("read", {"path": "/etc/hostname"}),
    ("read", {"path": ".env"}),
    ("grep", {"pattern": "x", "path": "/etc/hostname"}),
]


class Headless:
    """A workspace and a person's own rules; each call is the one call of a turn."""

    def __init__(self, root: Path) -> None:
        self.cwd = root / "ws"
        self.state = root / "state"
        (self.cwd / "src").mkdir(parents=True)
        (self.cwd / ".git/hooks").mkdir(parents=True)
        (self.cwd / "src/a.py").write_text("hi\n", encoding="utf-8")
        (self.cwd / ".env").write_text("A=b\n", encoding="utf-8")
        (self.cwd / "link").symlink_to("src")
        (self.state / "rules").mkdir(parents=True)

    def write_rules(self, text: str) -> None:
        value = json.loads(text)
        rules = value if isinstance(value, list) else [value]
        (self.state / "rules/x.json").write_text(json.dumps(rules), encoding="utf-8")

    async def run(self, tool: str, arguments: dict[str, Any]) -> tuple[Denial, ...]:
        # No program is found, so that what is allowed does nothing.
        environ = {"HOME": str(self.cwd.parent), "SHARD_HOME": str(self.state), "PATH": "/none",
                   "SHARD_SANDBOX": "off"}  # fmt: skip
        provider = ScriptedProvider([call(tool, **arguments), say("ok")])
        with anyio.fail_after(60):
            async with Shard(
                cwd=self.cwd, provider=provider, ask="rules", environ=environ
            ) as agent:
                return (await agent.prompt("go", check=False)).denials


COMMANDS = [("bash", {"command": command}) for command in (*NARROW, *WIDE)]


@pytest.mark.parametrize(("tool", "arguments"), [*COMMANDS, *TOOLS], ids=repr)
async def test_the_rule_that_a_denial_names_allows_the_call(
    tmp_path: Path, tool: str, arguments: dict[str, Any]
) -> None:
    headless = Headless(tmp_path)
    [denial] = await headless.run(tool, arguments)
    headless.write_rules(denial.would_allow)
    assert await headless.run(tool, arguments) == ()
    is_wide = '"command"' not in denial.would_allow and '"path"' not in denial.would_allow
    assert is_wide == (arguments.get("command") in WIDE)
    assert is_wide == (f"every call of {tool}" in denial.reason)
    [other] = await headless.run("write", {"path": "quite-another", "content": ""})
    assert other.tool == "write"


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("git log -p", "ask"), ("git log -p -2", "ask"), ("git log -U9", "ask"),
        ("git show", "ask"), ("git show HEAD", "ask"), ("git stash show -p", "ask"),
        ("git log --patch -- .", "ask"), ("git show HEAD -- secrets", "deny"),
        ("git show HEAD:secrets/x", "deny"), ("git log -p -- secrets/x", "deny"),
        ("git log --oneline", "allow"), ("git log -p -- src", "allow"),
        ("git show HEAD:src/a.py", "allow"), ("git show HEAD -- src", "allow"),
    ],
)  # fmt: skip
def test_what_git_has_recorded_of_a_forbidden_file_is_not_shown_unasked(
    tmp_path: Path, command: str, decision: str
) -> None:
    for name in ("secrets/x", "src/a.py"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("x\n", encoding="utf-8")
    subprocess.run(
        ["git", "init", "-q", tmp_path], check=True, env={"PATH": os.defpath, "HOME": str(tmp_path)}
    )
    deny = Rule(effect="deny", path="secrets/**")
    assert RuleJudge([deny], tmp_path).judge_command(command).decision == decision
    if decision != "deny":
        assert RuleJudge([], tmp_path).judge_command(command).decision == "allow"
