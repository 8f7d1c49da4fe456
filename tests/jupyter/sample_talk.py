"""A notebook in which an agent does everything that shows, and what its model says, step by step.

Made to be run with the scripted server. Names and texts are full of markup.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from shard_jupyter.testing.scripted_provider import Step, call, calls, say
from tests.fakes.scripted_server import scripted_server
from tests.jupyter.headless import LOAD, Scratch, notebook

MODEL = "openai:scripted"
MAKE_PROJECT = """\
import os
from pathlib import Path

Path("project").mkdir()
os.chdir("project")
Path("main.py").write_text("def greet(name):\\n    return 'Hello ' + nme\\n")
Path("<b>odd & name.md").write_text("# Notes\\n<script>alert(1)</script>\\n")
numbers = [3, 1, 2]"""
ANSWER = """\
## Done

`greet` works now. It had *one* fault:

1. `nme` was no name (`main.py:2`);
2. nothing else.

| file | lines |
| --- | ---: |
| main.py | 2 |

```python
def greet(name):
    return f"Hello {name}"
```

See [the notes](https://example.org/notes) and ![a picture](https://example.org/track.png).
<script>alert("from the model")</script> <iframe src="https://example.org"></iframe>
Grüße, 世界 🙂 \x1b[31mred\x1b[0m \u202etxt.exe"""
FIXED = "def greet(name):\n    return 'Hello ' + name\n"
CELLS = (
    MAKE_PROJECT,
    f"%%shard --model {MODEL} --ask yes\nMend <b>main.py</b>, and sort @numbers.\n$x {{y}} !z",
    "%%shard --no-raise\nNow clean up.",
    "%%shard --quiet --out short\nSay it in one word.",
    "short",
    "%%shard --no-raise\nOnce more.",
    "%%shard --no-raise\nAnd now?",
)
STEPS: tuple[Step, ...] = (
    say("I look at it **first**.")
    + calls(
        call("ls", path="."),
        call("read", path="main.py"),
        call("grep", pattern="nme", path="."),
        call("find", pattern="*.md"),
        call("read", path="<b>odd & name.md"),
        call("read", path="missing.py"),
    ),
    calls(
        call("bash", command="printf '\\033[1mbold\\033[0m <i>ok</i>\\n'; seq 40; exit 3"),
        call("bash", command="cat <<'EOF'\nseveral\nlines\nEOF"),
    ),
    say("Now the change.")
    + calls(
        call("edit", path="main.py", old="nme", new="name"),
        call("write", path="new/notes.md", content="# New\n\n- one\n- two\n"),
        call("edit", path="main.py", old="not there", new="x"),
    ),
    say(ANSWER),
    calls(
        call("bash", command="rm -rf build", timeout_seconds=5),
        call("write", path="new/notes.md", content="# Old\n"),
    ),
    say("I was not allowed to."),
    say("Done"),
    say("Again.") + call("ls", path="."),
)
"""The last prompt finds the script at its end: its turn fails."""


def make_notebook() -> NotebookNode:
    return notebook(LOAD, *CELLS)


@contextmanager
def talking(
    root: Path, *, chunk: int = 16, delay_seconds: float = 0.0, seed: str = "0", cut_first: int = 0
) -> Iterator[Scratch]:
    """A place in which the notebook can be run once, as that of somebody else would be."""
    with scripted_server(
        STEPS, chunk=chunk, delay_seconds=delay_seconds, cut_first=cut_first
    ) as server:
        environ = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-test"}
        scratch = Scratch(root, **environ, PYTHONHASHSEED=seed)
        nbformat.write(make_notebook(), scratch.work / "notebook.ipynb")
        yield scratch


def outputs_as_text(made: NotebookNode) -> list[str]:
    """All that each cell shows, to the last byte, with everything that is stored with it."""
    return [json.dumps(cell.outputs, indent=1) for cell in made.cells]
