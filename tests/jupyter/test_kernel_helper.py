"""The test kernel shows everything that a real kernel sends, and leaves nothing behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.jupyter.kernel import KERNEL_PATH, Kernel, KernelTooSlow, open_kernel


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    with open_kernel(tmp_path_factory.mktemp("kernel")) as running:
        yield running


def test_outputs_of_a_cell_are_collected(kernel: Kernel) -> None:
    run = kernel.execute("print('out')\n6 * 7")
    assert (run.status, run.stream(), run.result, run.error) == ("ok", "out\n", "42", None)


def test_an_error_is_collected(kernel: Kernel) -> None:
    run = kernel.execute("1 / 0")
    assert run.status == "error"
    assert run.error is not None
    assert run.error["ename"] == "ZeroDivisionError"


def test_input_is_answered_by_the_callback(kernel: Kernel) -> None:
    run = kernel.execute("input('name? ')", allow_stdin=True, on_stdin=lambda *_: "Ada")
    assert (run.result, run.asked) == ("'Ada'", ["name? "])


def test_input_is_refused_without_stdin(kernel: Kernel) -> None:
    run = kernel.execute("input()")
    assert run.error is not None
    assert run.error["ename"] == "StdinNotImplementedError"


def test_a_cell_is_interrupted(kernel: Kernel) -> None:
    cell = kernel.start_cell("print('go', flush=True)\nimport time; time.sleep(60)")
    kernel.wait_until(cell, lambda run: "go" in run.stream())
    kernel.interrupt()
    run = kernel.finish(cell, timeout=10)
    assert run.error is not None
    assert run.error["ename"] == "KeyboardInterrupt"


def test_metadata_reaches_the_kernel(kernel: Kernel) -> None:
    code = "get_ipython().parent_header['metadata']"
    run = kernel.execute(code, metadata={"cellId": "c1"})
    assert run.result is not None
    assert "'cellId': 'c1'" in run.result


def test_a_slow_cell_is_an_error_with_what_came(kernel: Kernel) -> None:
    cell = kernel.start_cell("print('early', flush=True)\nimport time; time.sleep(60)")
    kernel.wait_until(cell, lambda run: "early" in run.stream())
    with pytest.raises(KernelTooSlow, match="early"):
        kernel.finish(cell, timeout=0.1)
    kernel.interrupt()
    kernel.finish(cell, timeout=10)


def test_no_process_is_left(tmp_path: Path) -> None:
    with open_kernel(tmp_path) as kernel:
        pid = int(kernel.execute("import os; os.getpid()").result or 0)
        assert psutil.pid_exists(pid)
    assert not psutil.pid_exists(pid)


def test_the_kernel_runs_this_tree(kernel: Kernel) -> None:
    run = kernel.execute("import shard_jupyter; shard_jupyter.__file__")
    import shard_jupyter

    assert run.result == repr(shard_jupyter.__file__)


@pytest.mark.skipif(not os.environ.get(KERNEL_PATH), reason=f"{KERNEL_PATH} is not set")
def test_the_kernel_is_of_the_named_folder(kernel: Kernel) -> None:
    run = kernel.execute("import ipykernel; ipykernel.__file__")
    assert run.result is not None
    assert run.result.startswith(f"'{os.environ[KERNEL_PATH]}")
