"""Watch an agent mend a small project. No key, no network, nothing outside of a scratch folder.

The model's answers are played from cassette.jsonl; the tools that they call really run.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path

PROMPT = "Make check_tally.py pass, and note in CHANGES.md what you changed."
DEMO = Path(__file__).resolve().parent
PROJECT = DEMO / "project"


def main() -> int:
    scratch = Path(tempfile.mkdtemp(prefix="shard-demo-"))
    project = scratch / "project"
    shutil.copytree(PROJECT, project, ignore=shutil.ignore_patterns("__pycache__"))
    print(f"The demo project was copied to {project}. Now an agent works there:\n")
    options = ["--ask", "yes", "--model", f"replay:{DEMO / 'cassette.jsonl'}"]
    shown = [name_of_shard(), "run", *options, "--cwd", str(project), PROMPT]
    print(f"$ {shlex.join(shown)}\n", flush=True)
    command = [sys.executable, "-m", "shard_jupyter.surfaces.cli.main", *shown[1:]]
    # Its history goes to the scratch folder too, and your own configuration stays out of it.
    own = {"SHARD_HOME": str(scratch / "state"), "XDG_CONFIG_HOME": str(scratch / "config")}
    code = subprocess.run(command, env={**os.environ, **own}, check=False).returncode
    if code != 0:
        print(
            "\nIt did not work. Is it installed in this Python? pip install -e .", file=sys.stderr
        )
        return code
    if not sys.stdout.isatty():  # a terminal has seen it
        print("\nWhat it did, from its log:\n", *calls_in(scratch / "state"), sep="\n  ")
    print("\nWhat it changed:\n", *diff(PROJECT, project), sep="\n")
    print(next_steps(scratch, project))
    return 0


def name_of_shard() -> str:
    beside = Path(sys.executable).with_name("shard")
    return str(beside) if beside.exists() else "shard"


def calls_in(state: Path) -> Iterator[str]:
    (log,) = state.glob("sessions/*/session.jsonl")
    for line in log.read_bytes().split(b"\n"):
        entry = json.loads(line or b"{}")
        if entry.get("type") == "message" and entry["role"] == "assistant":
            for block in entry["content"]:
                if block["kind"] == "tool_call":
                    yield f"{block['name']:6}{next(iter(block['arguments'].values()))}"


def diff(old: Path, new: Path) -> Iterator[str]:
    names = {path.relative_to(folder) for folder in (old, new) for path in folder.rglob("*.*")}
    for name in sorted(names):
        if "__pycache__" not in name.parts:
            before, after = lines_of(old / name), lines_of(new / name)
            yield from unified_diff(before, after, f"before/{name}", f"after/{name}", lineterm="")


def lines_of(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").rstrip("\n").split("\n") if file.exists() else []


def next_steps(scratch: Path, project: Path) -> str:
    return f"""
What to try next:

  With a key of your own, ask for something else; it asks you before it changes anything.

    export OPENAI_API_KEY=...    # or ANTHROPIC_API_KEY
    cd {project}
    {name_of_shard()} run --model openai:gpt-5 "show the share of each word in percent too"

  {name_of_shard()} doctor    says what is missing on this machine
  {scratch / "state"} holds the whole history of this run
  rm -r {scratch}    removes all that the demo made"""


if __name__ == "__main__":
    sys.exit(main())
