"""What real tools and a real turn loop tell makes a record that reads well."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from inline_snapshot import snapshot

from shard_jupyter.surfaces.render_static.bundle import make_bundle
from shard_jupyter.surfaces.render_static.turn_record import TurnRecord, TurnRecorder
from shard_jupyter.surfaces.sdk.approvals import ApprovalAnswer
from shard_jupyter.surfaces.sdk.shard import Shard
from shard_jupyter.testing.scripted_provider import (
    ScriptedProvider,
    Step,
    call,
    calls,
    fail,
    say,
)
from shard_jupyter.types.events import PermissionRequest

pytestmark = pytest.mark.proves("D05", "A08")


def make_script() -> list[Step]:
    return [
        calls(call("ls", path="."), call("find", pattern="**/*.txt")),
        calls(call("grep", pattern="x", path="src"), call("read", path="a.py")),
        calls(
            call("edit", path="a.py", old="y = 2", new="y = 3"),
            call("write", path="new.txt", content="one\ntwo\n"),
        ),
        call("bash", command="touch t; echo ok; ls nope"),
        call("nosuch", x="1"),
        say("All **done**."),
    ]


async def record_turn(
    folder: Path, script: list[Step], ask: str = "yes", *, person: bool = False
) -> TurnRecord:
    (folder / "src").mkdir()
    (folder / "a.py").write_text("x = 1\ny = 2\n", encoding="utf-8")
    (folder / "src" / "b.txt").write_text("hello x\n", encoding="utf-8")
    recorder = TurnRecorder(agent="tally", prompt="go", deterministic=True)

    async def answer(request: PermissionRequest) -> ApprovalAnswer:
        if request.tool == "bash":
            return ApprovalAnswer(decision="deny", note="use uv")
        return ApprovalAnswer(decision="allow")

    options = {"on_approval": answer} if person else {"ask": ask}
    with anyio.fail_after(30):
        async with Shard(cwd=folder, provider=ScriptedProvider(script), **options) as agent:
            agent.subscribe(recorder.take)
            await agent.prompt("go", check=False)
    return recorder.record()


async def test_every_tool_makes_a_row_that_says_what_came_of_it(tmp_path: Path) -> None:
    record = await record_turn(tmp_path, make_script())
    assert make_bundle(record)["text/plain"] == snapshot("""\
✓ Done · tally · scripted:test · build

Listed 1 folder, looked for files once, searched once, read 1 file, edited 1 file, wrote 1 file, ran 1 command, 1 step failed · 8 steps
  ✓ List  .  2 names
  ✓ Find  **/*.txt  1 file
  ✓ Search  x in src  1 matching line in 1 file
  ✓ Read  a.py  2 lines
  ✓ Edit  a.py  +1 -1
  ✓ Write  new.txt  +2 -0
  ✗ Run  touch t; echo ok; ls nope  exit 2
  ✗ nosuch  1  There is no tool 'nosuch'. Tools: read, write, edit, bash, grep, find, ls.

All **done**.

2 files changed  +3 -1
  a.py  +1 -1
    @@ -1,2 +1,2 @@
     x = 1
    -y = 2
    +y = 3
  new.txt  +2 -0
    @@ -0,0 +1,2 @@
    +one
    +two

What the steps showed
  List  .
      .
        src/
        a.py  12
  Find  **/*.txt
      src/b.txt
  Search  x in src
      src/b.txt:1:hello x
  Read  a.py
      x = 1
      y = 2
  Run  touch t; echo ok; ls nope
      ok
      ls: cannot access 'nope': No such file or directory
""")


async def test_what_nobody_could_allow_is_told_with_its_rule(tmp_path: Path) -> None:
    record = await record_turn(tmp_path, make_script()[2:4] + [say("No.")], "rules")
    assert make_bundle(record)["text/plain"] == snapshot("""\
⊘ Done, but not all was allowed · tally · scripted:test · build

3 steps denied
  ⊘ Edit  a.py  denied
  ⊘ Write  new.txt  denied
  ⊘ Run  touch t; echo ok; ls nope  denied

No.

⊘ Denied: Edit  a.py
  Nobody could be asked, and no rule allows it.
  This rule would allow it: {"effect": "allow", "tool": "edit", "path": "a.py"}
⊘ Denied: Write  new.txt
  Nobody could be asked, and no rule allows it.
  This rule would allow it: {"effect": "allow", "tool": "write", "path": "new.txt"}
⊘ Denied: Run  touch t; echo ok; ls nope
  Nobody could be asked, and no rule allows it, and touch writes files.
  This rule would allow it: {"effect": "allow", "tool": "bash", "command": {"program": "touch", "args": ["t"]}}
""")


async def test_what_a_person_answered_stands_in_the_row(tmp_path: Path) -> None:
    record = await record_turn(tmp_path, make_script()[2:4] + [say("Half.")], person=True)
    assert make_bundle(record)["text/plain"] == snapshot("""\
✓ Done · tally · scripted:test · build

Edited 1 file, wrote 1 file, 1 step denied · 3 steps
  ✓ Edit  a.py  +1 -1 · Allowed by you, once
  ✓ Write  new.txt  +2 -0 · Allowed by you, once
  ⊘ Run  touch t; echo ok; ls nope  Denied by you · “use uv”

Half.

2 files changed  +3 -1
  a.py  +1 -1
    @@ -1,2 +1,2 @@
     x = 1
    -y = 2
    +y = 3
  new.txt  +2 -0
    @@ -0,0 +1,2 @@
    +one
    +two
""")


async def test_two_runs_of_one_turn_give_the_same_bundle(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    script = make_script()
    one = await record_turn(tmp_path / "one", script)
    two = await record_turn(tmp_path / "two", [fail("cut"), *script])
    assert make_bundle(one) == make_bundle(two)
