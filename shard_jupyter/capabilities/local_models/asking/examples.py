"""The examples that a small model gets. Data.

They are part of what was measured (`poe bench`): with them the default model fills in 43 calls of
50. Requests of the bench's `fresh` set are not in here, and may not be looked at to choose others.
"""

from __future__ import annotations

from dataclasses import dataclass

from shard_jupyter.capabilities.local_models.replies.reply_reader import ANSWER


@dataclass(frozen=True)
class Example:
    """One call. `result`: what came of it, in an example of several steps."""

    tool: str
    arguments: dict[str, str]
    result: str = ""


def _say(text: str) -> Example:
    return Example(ANSWER, {"text": text})


_ITALY = ("What is the capital of Italy?", _say("Rome."))
_WEEK = ("How many days are in a week?", _say("Seven."))
_CD = ("What does the command cd do?", _say("It changes the current directory."))
_APP = ("Show me the file app.py", Example("read", {"path": "app.py"}))
_RUFF = ("Run the linter with ruff", Example("bash", {"command": "ruff check ."}))
_MORNING = (
    "Create a file a.txt containing good morning",
    Example("write", {"path": "a.txt", "content": "good morning"}),
)
_CONFIG = ("What does config.yaml say?", Example("read", {"path": "config.yaml"}))
_COMMITS = ("Show the last three commits", Example("bash", {"command": "git log -3"}))
_SAVE = (
    "Save the text y = 2 into b.py",
    Example("write", {"path": "b.py", "content": "y = 2"}),
)

Shown = tuple[str, tuple[Example, ...]]


def _after(shown: tuple[str, Example], result: str, said: str) -> Shown:
    request, call = shown
    return request, (Example(call.tool, call.arguments, result), _say(said))


FIRST: tuple[Shown, ...] = tuple(
    (request, (call,))
    for request, call in (_ITALY, _APP, _RUFF, _WEEK, _MORNING, _CONFIG, _CD, _COMMITS, _SAVE)
)
"""For the first step. Examples of several steps would cost it five calls of fifty."""
AFTER_RESULT: tuple[Shown, ...] = (
    _after(_APP, "import os\nprint(os.getcwd())", "That is app.py."),
    _after(_RUFF, "All checks passed!", "All checks passed."),
    _after(_MORNING, "created a.txt", "a.txt is written."),
    _after(_CONFIG, "debug: true", "It says that debug is true."),
)
"""Few, because a server that was just started reads them before the first result can be told of.

What is said in them is taken from the result: else the model says the same of another result.
"""
