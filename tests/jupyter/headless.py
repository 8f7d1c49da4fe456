"""A folder with notebooks and a home of its own, and the programs that run notebooks in it.

`SHARD_TEST_KERNEL_PATH` counts here as well as in `kernel.py`.
"""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import psutil
from nbclient.client import NotebookClient
from nbformat import NotebookNode

from tests.jupyter.agent_kernel import TRANSCRIPT
from tests.jupyter.kernel import kernel_environ

PATIENCE_SECONDS = 90.0
LOAD = "%load_ext shard_jupyter"
MODEL = "openai:mock"
FORMS = {"text/plain", "text/markdown", "text/html", TRANSCRIPT}
MARK = "HEADLESS_RUN"
PORT_TAKEN = "zmq.error.ZMQError: Address already in use"
"""A kernel is told its ports before it has them, so somebody may take one first. Then try again."""
NBVAL = ("-p", "no:randomly", "-p", "no:cacheprovider", "-q")


@dataclass(frozen=True)
class Ended:
    """`told` is all that the program wrote."""

    code: int
    told: str

    def check(self) -> None:
        assert self.code == 0, self.told


class Scratch:
    """Programs run in `work`, with nothing of the developer's environment.

    Every process that is started here, and every one that those start, can be found by `left`.
    """

    def __init__(self, root: Path, url: str | None = None, **environ: str) -> None:
        self.root = root
        self.work = root / "work"
        self.temp = root / "temp"
        for folder in (self.work, self.temp):
            folder.mkdir(parents=True, exist_ok=True)
        self.mark = uuid.uuid4().hex
        self.environ = _as_a_person_has(kernel_environ(root)) | {
            MARK: self.mark,
            "TMPDIR": str(self.temp),
            "JUPYTER_CONFIG_DIR": str(root / "jupyter"),
            "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
        }
        if url is not None:
            self.environ |= {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "sk-test"}
        self.environ |= environ

    def configure(self, **values: Any) -> None:
        file = self.root / "config/shard/config.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values), encoding="utf-8")

    def write(self, *cells: str, name: str = "notebook.ipynb") -> Path:
        """Make a notebook of code cells; the first one loads the magic."""
        made = notebook(LOAD, *cells)
        path = self.work / name
        nbformat.write(made, path)
        return path

    def read(self, name: str = "notebook.ipynb") -> NotebookNode:
        return read_notebook(self.work / name)

    def run(self, *command: str | Path, timeout: float = PATIENCE_SECONDS) -> Ended:
        """Run a program to its end. One that takes longer is killed and fails the test."""
        ended = self._run(command, timeout)
        return self._run(command, timeout) if PORT_TAKEN in ended.told else ended

    def _run(self, command: Sequence[str | Path], timeout: float) -> Ended:
        with subprocess.Popen(
            [str(part) for part in command],
            env=self.environ,
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as child:
            try:
                told, _ = child.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                told, _ = child.communicate()
                raise AssertionError(f"{command} hung: {told.decode()}") from None
        return Ended(child.returncode, told.decode())

    def execute(self, path: Path, *options: str) -> Ended:
        """Run it in place, as `jupyter execute --inplace`."""
        return self.run("jupyter", "execute", "--inplace", *options, path)

    def papermill(self, path: Path, out: str = "out.ipynb", *options: str) -> Ended:
        quiet = ("--no-progress-bar", "--no-log-output")
        return self.run("papermill", path, self.work / out, *quiet, *options)

    def nbval(self, *paths: Path, lax: bool = False) -> Ended:
        return self.run(
            sys.executable, "-m", "pytest", *NBVAL, "--nbval-lax" if lax else "--nbval", *paths
        )

    def convert(self, path: Path, form: str, *options: str) -> Ended:
        return self.run("jupyter", "nbconvert", "--to", form, *options, path)

    def left(self) -> list[psutil.Process]:
        """Every process of this machine that was started here, or by such a one."""
        return [process for process in psutil.process_iter() if self._is_ours(process)]

    def _is_ours(self, process: psutil.Process) -> bool:
        try:
            return process.environ().get(MARK) == self.mark
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            return False

    def sockets(self) -> list[Path]:
        return [path for path in self.root.rglob("*") if stat.S_ISSOCK(path.lstat().st_mode)]


def _as_a_person_has(environ: Mapping[str, str]) -> dict[str, str]:
    """Leave out how tests are run: what programs warn of would stand between the outputs."""
    left_out = ("PYTHONWARN", "PYTHONDONTWRITEBYTECODE")
    return {key: value for key, value in environ.items() if not key.startswith(left_out)}


def notebook(*cells: str) -> NotebookNode:
    """Make a notebook of code cells whose ids are their numbers."""
    made = nbformat.v4.new_notebook()
    made.cells = [
        nbformat.v4.new_code_cell(source, id=f"cell-{at}") for at, source in enumerate(cells)
    ]
    made.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python 3",
        "language": "python",
    }
    made.metadata["language_info"] = {"name": "python", "file_extension": ".py"}
    return made


def read_notebook(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def shard(prompt: str, *options: str, model: str | None = MODEL) -> str:
    """Write a cell."""
    line = " ".join(("%%shard", *(("--model", model) if model else ()), *options))
    return f"{line}\n{prompt}"


def bundles(made: NotebookNode) -> list[dict[str, Any]]:
    """What each agent cell shows, which is one display and nothing else."""
    found = []
    for cell in made.cells:
        if cell.cell_type == "code" and cell.source.startswith("%%shard"):
            (output,) = cell.outputs
            assert output.output_type == "display_data"
            assert set(output.data) == FORMS
            assert output.metadata == {}
            found.append(output.data)
    return found


@contextmanager
def open_client(scratch: Scratch, made: NotebookNode, **options: Any) -> Iterator[NotebookClient]:
    """An nbclient in this process, with a kernel that has started."""
    with ExitStack() as stack:
        try:
            client = stack.enter_context(_started(scratch, made, options))
        except RuntimeError:  # it died at its start; see PORT_TAKEN
            client = stack.enter_context(_started(scratch, made, options))
        yield client


@contextmanager
def _started(
    scratch: Scratch, made: NotebookNode, options: Mapping[str, Any]
) -> Iterator[NotebookClient]:
    client = NotebookClient(
        made,
        timeout=60,
        kernel_name="python3",
        resources={"metadata": {"path": str(scratch.work)}},
        **options,
    )
    with client.setup_kernel(env=scratch.environ):
        yield client
