"""Makes docs/demo/cassette.jsonl: the tools really run, the model's answers are the ones below.

`python -m tests.docs_check --write` writes the file again, which is needed whenever the system
prompt, a tool's description or a tool's answer changes.
"""

from __future__ import annotations

import os
import runpy
import shutil
import tempfile
from pathlib import Path

import anyio
import anyio.to_thread

from shard_jupyter import Shard
from shard_jupyter.testing.scripted_provider import ScriptedProvider, Step, call, calls, say

DEMO = Path(__file__).parent.parent / "docs/demo"
PROMPT: str = runpy.run_path(str(DEMO / "run.py"))["PROMPT"]
CHECK = "python3 -B check_tally.py"
CHANGES = """\
# Changes

- Words are counted in lower case; stops and line ends are no part of a word.
- The report starts with the most frequent word; equal counts are in order of the alphabet.
"""
CLOSING = """\
`check_tally.py` passes now.

- `tally/words.py:8` split at blanks only, so "The" and "the", "dog" and "dog." were different words.
- `tally/report.py:5` sorted the rarest words first.

What changed is noted in `CHANGES.md`."""


def script() -> list[Step]:
    words_before = """\
from collections import Counter


def count_words(text):
    return Counter(text.split(" "))"""
    words_after = """\
import re
from collections import Counter


def count_words(text):
    return Counter(re.findall(r"[\\w']+", text.lower()))"""
    return [
        say("First I look at what fails.") + call("bash", command=CHECK),
        say("All three. Where are the functions?") + call("grep", pattern="^def ", glob="*.py"),
        calls(call("read", path="tally/words.py"), call("read", path="tally/report.py")),
        say("Words are split at blanks only, and the report sorts the wrong way round.")
        + calls(
            call("edit", path="tally/words.py", old=words_before, new=words_after),
            call(
                "edit",
                path="tally/report.py",
                old="key=lambda item: item[1])",
                new="key=lambda item: (-item[1], item[0]))",
            ),
        ),
        calls(
            call("write", path="CHANGES.md", content=CHANGES),
            call("bash", command=CHECK),
        ),
        say(CLOSING),
    ]


def make_cassette() -> str:
    """Let the demo run once and return what was recorded."""
    return anyio.run(_record)


async def _record() -> str:
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        project, cassette = scratch / "project", scratch / "cassette.jsonl"
        ignore = shutil.ignore_patterns("__pycache__")
        await anyio.to_thread.run_sync(
            lambda: shutil.copytree(DEMO / "project", project, ignore=ignore)
        )
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": folder,
            "SHARD_HOME": f"{folder}/state",
            "SHARD_SANDBOX": "off",
        }
        provider = ScriptedProvider(script())
        async with Shard(
            cwd=project, provider=provider, record=cassette, ask="yes", environ=environ
        ) as agent:
            await agent.prompt(PROMPT)
        return (await anyio.Path(cassette).read_bytes()).decode("utf-8")
