"""Loading and unloading: what it costs, what it leaves alone, what it takes away again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.jupyter.kept_requests import keep_requests, take_requests
from tests.jupyter.kernel import CellRun, Kernel, open_kernel

HOOKS = """
import json as _json
_ip = get_ipython()
print(_json.dumps({
    "transforms": [repr(t) for t in _ip.input_transformers_cleanup],
    "events": {name: len(calls) for name, calls in _ip.events.callbacks.items()},
    "matchers": len(_ip.Completer.custom_matchers),
    "line": "shard" in _ip.magics_manager.magics["line"],
    "cell": "shard" in _ip.magics_manager.magics["cell"],
    "registry": "ShardMagics" in _ip.magics_manager.registry,
    "pack": repr(_ip.kernel.session.pack),
    "meta": sorted(_ip.meta),
}))
"""


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    with open_kernel(tmp_path) as running:
        yield running


def hooks_of(kernel: Kernel) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(kernel.execute(HOOKS).stream())
    return found


@pytest.mark.proves("D02")
def test_what_was_loaded_is_gone_after_unloading(kernel: Kernel) -> None:
    before = hooks_of(kernel)
    keep_requests(kernel)
    kernel.execute("%%shard\nhello")
    assert len(take_requests(kernel)) == 1
    assert hooks_of(kernel) != before
    kernel.execute("%unload_ext shard_jupyter")
    assert hooks_of(kernel) == before
    assert kernel.execute("_KernelAgents.closed").result == "1"
    assert kernel.execute("%%shard\nhello").status == "error"
    assert take_requests(kernel) == []


@pytest.mark.proves("D02")
def test_loading_again_changes_nothing(kernel: Kernel) -> None:
    keep_requests(kernel)
    once = hooks_of(kernel)
    kernel.execute("%load_ext shard_jupyter")
    kernel.execute("import shard_jupyter; shard_jupyter.load_ipython_extension(get_ipython())")
    assert hooks_of(kernel) == once
    kernel.execute("%%shard\nhello")
    kernel.execute("%reload_ext shard_jupyter")
    again = hooks_of(kernel)
    assert len(again.pop("transforms")) == len(once.pop("transforms"))
    assert again.keys() == once.keys()
    assert again["events"] == once["events"]
    assert kernel.execute("_KernelAgents.closed").result == "1"
    kernel.execute("%%shard\nhello")
    assert len(take_requests(kernel)) == 2
    kernel.execute("%unload_ext shard_jupyter\n%unload_ext shard_jupyter")
    kernel.execute("shard_jupyter.unload_ipython_extension(get_ipython())")
    assert "shard" not in kernel.complete("%%sha")


def test_a_magic_of_the_same_name_comes_back(kernel: Kernel) -> None:
    kernel.execute("get_ipython().register_magic_function(lambda line: 'mine', 'line', 'shard')")
    keep_requests(kernel)
    assert kernel.execute("%shard").result == "('line', '')"
    kernel.execute("%unload_ext shard_jupyter")
    assert kernel.execute("%shard").result == "'mine'"


OTHER_CELLS = [
    "1+1",
    "print('x')\nprint('y')\n3",
    "1/0",
    "x = [1,\n  2]\nx",
    "%%writefile note.txt\n# c\n%%shard\nnot for us\n",
    "print(open('note.txt', encoding='utf-8').read())",
    "%%capture got\nprint('in')",
    "got.stdout",
    "!echo hi",
    "%pwd",
    "len?",
    "%%timeit?",
    "# comment\n%%time\n1",
    "%%nothing\nx",
    "%%shardx\ny",
    "def f():\n    return 1\n\nf()",
    "import asyncio\nawait asyncio.sleep(0, 'done')",
    "input('?')",
    "x = !echo a",
    "'''\n%%shard\nx\n'''",
    "for i in range(2):\n    print(i)\n",
    "raise KeyboardInterrupt",
    "if True:\nprint(1)",
    "%%html\n<b>x</b>",
    "None",
    "",
]


def shown(run: CellRun) -> tuple[Any, ...]:
    """What a notebook shows, without what differs from run to run."""
    contents: list[tuple[str, dict[str, Any]]] = []
    for message in run.outputs:
        kind, content = message["msg_type"], message["content"]
        last = contents[-1][1] if contents else {}
        if kind == "stream" and last.get("name") == content["name"]:  # sent in two parts
            content = {**content, "text": last["text"] + content["text"]}
            contents.pop()
        contents.append((kind, content))
    payload = run.reply["content"].get("payload", [])
    return (run.status, contents, payload, run.reply["content"]["execution_count"])


@pytest.mark.proves("J3.12")
def test_other_cells_show_what_they_showed_before(tmp_path: Path) -> None:
    with open_kernel(tmp_path / "plain") as plain:
        plain.execute("1")
        expected = [shown(plain.execute(code)) for code in OTHER_CELLS]
    with open_kernel(tmp_path / "with") as loaded:
        loaded.execute("%load_ext shard_jupyter")
        got = [shown(loaded.execute(code)) for code in OTHER_CELLS]
    text = json.dumps(expected, default=str).replace(str(tmp_path / "plain"), "HOME")
    assert json.dumps(got, default=str).replace(str(tmp_path / "with"), "HOME") == text
