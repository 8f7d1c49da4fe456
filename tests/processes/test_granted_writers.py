"""Several processes keep and revoke rules at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shard_jupyter.core.permissions.rule_files.granted_rules import read_granted

pytestmark = [pytest.mark.proves("A06"), pytest.mark.timeout(60)]

ROOT = Path(__file__).parent.parent.parent
EACH = 12
WRITER = """
import sys
from pathlib import Path
from shard_jupyter.core.permissions.rule_files.granted_rules import keep_rule, revoke_rules
from shard_jupyter.types.decisions import Rule
file, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
for number in range(count):
    rule = Rule(effect="allow", tool="write", path=f"{name}-{number}")
    kept = keep_rule(file, rule, by=name, at="")
    if number % 3 == 0:
        assert revoke_rules(file, [kept.rule_id]) == (kept,)
"""


def test_writers_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    file = tmp_path / "rules/granted.json"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(file), name, str(EACH)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
        )
        for name in ("a", "b", "c")
    ]
    try:
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"ready\n"
        for writer in writers:
            assert writer.stdin is not None
            writer.stdin.write(b"\n")
            writer.stdin.flush()
        assert [writer.wait(50) for writer in writers] == [0, 0, 0]
    finally:
        for writer in writers:
            writer.kill()
            writer.communicate()
    kept = {one.rule.path for one in read_granted(file)}
    assert kept == {f"{name}-{n}" for name in "abc" for n in range(EACH) if n % 3}
    assert not list(file.parent.glob(".tmp-*"))
