"""Ten secrets through real runs at a shell: none of them is anywhere but where it has to be.

Each is unique, so that one search of everything finds it: every file that was written, what was
told, the arguments of every process, and the environment of every process that a tool started.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from tests.scenarios.command_line import PATIENCE_SECONDS, Person

pytestmark = [pytest.mark.proves("A05", "A13"), pytest.mark.timeout(240)]

ENVIRONMENT = {
    "the key of the provider": ("ANTHROPIC_API_KEY", "canary-01-provider-key"),
    "a key under a name of its own": ("CORP_GATEWAY", "canary-02-named-key"),
    "the token of Jupyter": ("JUPYTER_TOKEN", "canary-03-jupyter-token"),
    "the token of the Hub": ("JPY_API_TOKEN", "canary-04-hub-token"),
    "a cookie": ("SESSION_COOKIE", "canary-05-cookie"),
    "a password in an address": ("DATABASE_URL", "postgres://me:canary-06-url-password@db/x"),
    "a password alone": ("MYSQL_PWD", "canary-07-password"),
    "a token under a harmless name": ("FAVOURITE", "ghp_canary08canary08canary08canary08canary"),
    "the keys of a cloud": ("AWS_SECRET_ACCESS_KEY", "canary-09-cloud-key"),
}
"""In the environment of `shard` and nowhere else; the server of the model gets the first two."""
IN_FILE = "canary-10-in-dot-env"
"""In `.env` of the project, through which the model searches."""
IN_PROMPT = "canary-11-in-the-prompt"
"""In the prompt: the session, a cassette and the events of `--json` keep that."""
SEEDS = {
    **{
        kind: value.rpartition("me:")[2].partition("@")[0]
        for kind, (_, value) in ENVIRONMENT.items()
    },
    "a file of the project": IN_FILE,
    "the prompt": IN_PROMPT,
}
LOOK = (
    "env; tr '\\0' ' ' < /proc/self/environ; tr '\\0' ' ' < /proc/$$/cmdline; ps -ww -eo args; "
    "sleep 0.4"
)
RUNS = {
    "ok": (f"go @@shell {LOOK} @@", 0),
    "searched": ('go @@call grep {"pattern": "canary", "path": "."} @@', 0),
    "refused": ("go @@status 401 @@", 1),
    "broken": ("go @@status 500 @@", 1),
}  # fmt: skip
MODELS = ("openai:mock", "anthropic:mock")


@dataclass
class Watch:
    """What was seen of processes while it ran: arguments of all, environments of tools."""

    found: dict[str, str] = field(default_factory=dict)
    tools_seen: int = 0

    def look(self, child: psutil.Process) -> None:
        own = child.cmdline()
        for process in [child, *child.children(recursive=True)]:
            try:
                words = process.cmdline()
                self.found[f"arguments of {words[:3]}"] = " ".join(words)
                if words != own:  # else it is a fork of `shard` itself, before its exec
                    self.tools_seen += 1
                    self.found[f"environment of {words[:3]}"] = str(process.environ())
            except psutil.Error:
                continue


@contextmanager
def watched(child: subprocess.Popen[bytes]) -> Iterator[Watch]:
    watch, stop = Watch(), threading.Event()

    def keep_looking() -> None:
        while not stop.wait(0.03):
            try:
                watch.look(psutil.Process(child.pid))
            except psutil.Error:
                return

    thread = threading.Thread(target=keep_looking)
    thread.start()
    try:
        yield watch
    finally:
        stop.set()
        thread.join()


def places_of(seed: str, texts: dict[str, str]) -> list[str]:
    return [place for place, text in texts.items() if seed in text]


def written(person: Person) -> dict[str, str]:
    """Every file of the person and the project but those that were planted."""
    planted = {person.project / ".env", person.root / ".config" / "shard" / "config.json"}
    return {
        f"file {path.relative_to(person.root)}": path.read_bytes().decode("utf-8", "replace")
        for path in person.root.rglob("*")
        if path.is_file() and path not in planted
    }


def find_leaks(texts: dict[str, str], *, keeps_prompt: tuple[str, ...]) -> dict[str, list[str]]:
    leaks = {kind: places_of(seed, texts) for kind, seed in SEEDS.items()}
    leaks["the prompt"] = [
        place for place in leaks["the prompt"] if not any(part in place for part in keeps_prompt)
    ]
    return {kind: places for kind, places in leaks.items() if places}


@pytest.fixture
def seeded(person: Person) -> Person:
    person.environ.update(dict(ENVIRONMENT.values()))
    person.configure(providers={"openai": {"api_key_env": "CORP_GATEWAY"}})
    (person.project / ".env").write_text(f"PASSWORD={IN_FILE}\n", encoding="utf-8")
    tell_environments(person)
    return person


def tell_environments(person: Person) -> None:
    """Put programs before all others that write down their environment, where it is searched."""
    folder = person.root / "bin"
    folder.mkdir()
    for name in ("uname", "git", "rg", "bash", "lsb_release", "ldconfig", "hostname", "id", "gcc"):
        real = shutil.which(name)
        program = folder / name
        program.write_text(
            f"#!/bin/sh\n/usr/bin/env > {person.root}/environment-of-{name}\n"
            + (f'exec {real} "$@"\n' if real else "exit 1\n"),
            encoding="utf-8",
        )
        program.chmod(0o755)
    person.environ["PATH"] = f"{folder}:{person.environ['PATH']}"


def arguments(model: str, *options: str) -> tuple[str, ...]:
    return ("run", "--ask", "yes", "--model", model, *options, "-")


@pytest.mark.parametrize(
    ("name", "model"),
    [*((name, MODELS[0]) for name in RUNS), ("ok", MODELS[1]), ("refused", MODELS[1])],
)
def test_ten_secrets_are_nowhere_after_a_run(seeded: Person, model: str, name: str) -> None:
    text, code = RUNS[name]
    prompt = f"{IN_PROMPT} {text}".encode()
    cassette = str(seeded.project / "cassette.jsonl")
    both = ("--record", cassette), ("--json",)
    for options in both[1:] if name == "broken" else both:  # which is asked again, and waits
        with (
            seeded.started(*arguments(model, *options), stdin=subprocess.PIPE) as child,
            watched(child) as watch,
        ):
            out, err = child.communicate(prompt, timeout=PATIENCE_SECONDS)
        assert bool(child.returncode) is bool(code), err.decode()
        texts = {**watch.found, **written(seeded), "stdout": out.decode(), "stderr": err.decode()}
        kept = ("session.jsonl", "cassette.jsonl", *(("stdout",) if "--json" in options else ()))
        assert find_leaks(texts, keeps_prompt=kept) == {}
        if name == "ok":
            assert watch.tools_seen
            assert "PATH=" in texts["file environment-of-bash"]
            assert "PATH=" in texts["stdout"] or "--json" not in options
    # The seeds were where they had to be, or this proves nothing.
    assert any(IN_PROMPT in text for place, text in texts.items() if "session.jsonl" in place)


def test_ten_secrets_are_nowhere_after_a_crash(seeded: Person) -> None:
    prompt = f"{IN_PROMPT} go @@shell touch STARTED; sleep 30 @@".encode()
    with seeded.started(*arguments(MODELS[0], "--json"), stdin=subprocess.PIPE) as child:
        assert child.stdin is not None
        child.stdin.write(prompt)
        child.stdin.close()
        with watched(child) as watch:
            wait_for(seeded.project / "STARTED")
            for _ in range(5):
                watch.look(psutil.Process(child.pid))
        tools = psutil.Process(child.pid).children(recursive=True)
        child.send_signal(signal.SIGKILL)
        assert child.stdout is not None
        assert child.stderr is not None
        out, err = child.stdout.read(), child.stderr.read()
    psutil.wait_procs(tools, timeout=10)
    texts = {**watch.found, **written(seeded), "stdout": out.decode(), "stderr": err.decode()}
    assert watch.tools_seen
    assert find_leaks(texts, keeps_prompt=("session.jsonl", "stdout")) == {}


def wait_for(path: Path) -> None:
    done = threading.Event()
    for _ in range(2000):
        if path.exists():
            return
        done.wait(0.01)
    raise AssertionError(f"{path} never came")


@pytest.mark.parametrize(
    "command", [("run", "--model", "openai:mock", "hi"), ("config", "show"), ("doctor",)]
)
@pytest.mark.parametrize(
    "wrong",
    [
        {"providers": {"openai": {"api_key": SEEDS["the key of the provider"]}}},
        {"providers": {"openai": {"base_url": "http://me:canary-12-in-address@127.0.0.1:9/v1"}}},
        {"providers": {"openai": {"base_url": "http://canary-12-in-address@127.0.0.1:9/v1"}}},
        {"providers": {"openai": {"base_url": "ftp://me:canary-12-in-address@127.0.0.1:9/v1"}}},
        {"providers": {"openai": {"headers": {"Authorization": "Bearer canary-12-in-address"}}}},
    ],
)  # fmt: skip
def test_secret_that_stands_in_the_configuration_is_not_shown(
    person: Person, command: tuple[str, ...], wrong: dict[str, object]
) -> None:
    person.configure(**wrong)
    ended = person.shard(*command)
    texts = {**written(person), "stdout": ended.out, "stderr": ended.err}
    assert [place for place, text in texts.items() if "canary" in text] == []


def test_secret_in_an_address_of_the_environment_is_not_shown(person: Person) -> None:
    for url in (
        "http://me:canary-13@127.0.0.1:9/v1",
        "me:canary-13@x",
        "http://127.0.0.1:9/v1?key=canary-13",
    ):
        person.environ["OPENAI_BASE_URL"] = url
        for command in (("run", "--model", "openai:mock", "hi"), ("config", "show"), ("doctor",)):
            ended = person.shard(*command)
            texts = {**written(person), "stdout": ended.out, "stderr": ended.err}
            assert [place for place, text in texts.items() if "canary" in text] == [], (
                url,
                command,
            )


def test_seeds_are_found_where_they_are(seeded: Person) -> None:
    """The search itself works: a careless line in any of these places would be found."""
    for kind, seed in SEEDS.items():
        leaks = find_leaks({"file x": json.dumps({"a": seed})}, keeps_prompt=("session.jsonl",))
        assert leaks == {kind: ["file x"]}
    assert len(SEEDS) >= 10
