"""With every optional package and program absent the core runs, and says what is missing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.demo_recording import DEMO, PROMPT
from tests.scenarios.command_line import PATIENCE_SECONDS, ROOT, Ended, Person, one_line
from tests.scenarios.test_demo import assert_mended, make_repository, programs_without

pytestmark = pytest.mark.proves("A13", "A19", "B12")
SDKS = ("openai", "anthropic", "httpx2")
# As if the packages were not there: neither found by `find_spec` nor imported.
WITHOUT = """
import sys
from importlib.machinery import PathFinder

absent = set(sys.argv.pop(1).split(","))

class Finder:
    find_distributions = PathFinder.find_distributions
    invalidate_caches = PathFinder.invalidate_caches

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in absent:
            return None
        return PathFinder.find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Finder
"""
RUN = "from shard_jupyter.surfaces.cli.main import run_cli\nsys.exit(run_cli(sys.argv[1:]))\n"


class Bare(Person):
    """A person whose Python lacks some packages."""

    absent = SDKS

    def shard(self, *arguments: str | bytes, stdin: bytes | None = None) -> Ended:
        return self.python(WITHOUT + RUN, *arguments, stdin=stdin)

    def python(self, code: str, *arguments: str | bytes, stdin: bytes | None = None) -> Ended:
        done = subprocess.run(
            [sys.executable, "-c", code, ",".join(self.absent), *arguments],
            env=self.environ,
            cwd=self.project,
            input=stdin or b"",
            capture_output=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def bare(tmp_path: Path) -> Bare:
    person = Bare(tmp_path, "http://127.0.0.1:1")
    person.environ["PATH"] = programs_without(tmp_path / "bin", "rg", "git")
    return person


def test_the_packages_are_really_absent_here(bare: Bare) -> None:
    for name in SDKS:
        ended = bare.python(WITHOUT + f"import {name}")
        assert ended.err.endswith(f"ModuleNotFoundError: No module named '{name}'\n")


@pytest.mark.proves("E04")
def test_a_recorded_run_plays(bare: Bare) -> None:
    project = make_repository(bare.root / "p")
    ended = bare.run(PROMPT, "--cwd", str(project), model=f"replay:{DEMO / 'cassette.jsonl'}")
    assert_mended(ended, project)


@pytest.mark.parametrize(
    ("model", "package"),
    [
        ("openai:gpt-5", "openai"),
        ("openai-responses:gpt-5", "openai"),
        ("anthropic:claude", "anthropic"),
    ],
)
def test_a_model_that_needs_a_package_names_it_and_nothing_is_written(
    model: str, package: str, bare: Bare
) -> None:
    ended = bare.run("hello", model=model)
    assert (ended.code, ended.out) == (1, "")
    told = one_line(ended.told)
    assert told.startswith(f"shard: The package '{package}' is not installed. pip install ")
    assert not bare.state.exists()


@pytest.mark.parametrize("model", ["openai:gpt-5", "anthropic:claude"])
def test_a_package_below_the_sdk_is_named_too(model: str, bare: Bare) -> None:
    bare.absent = ("httpx2",)
    ended = bare.run("hello", model=model)
    assert (ended.code, ended.out) == (1, "")
    assert one_line(ended.told).startswith("shard: The package 'httpx2' is not installed. pip")
    assert not bare.state.exists()


@pytest.mark.parametrize("model", ["openai:gpt-5", "anthropic:claude"])
def test_an_sdk_that_cannot_be_loaded_is_told_and_nothing_is_written(
    model: str, person: Person
) -> None:
    package = model.partition(":")[0]
    broken = person.root / "site" / package / "__init__.py"
    broken.parent.mkdir(parents=True)
    broken.write_text("import a_part_of_it_that_is_gone\n", encoding="utf-8")
    person.environ["PYTHONPATH"] = f"{ROOT}:{broken.parent.parent}"
    ended = person.run("hello", model=model)
    assert (ended.code, ended.out) == (1, "")
    assert one_line(ended.told) == (
        f"shard: The package {package!r} cannot be loaded: No module named "
        f"'a_part_of_it_that_is_gone'. pip install --force-reinstall {package}\n"
    )
    assert not person.state.exists()


def test_models_say_what_each_needs(bare: Bare) -> None:
    ended = bare.shard("models", "--json")
    rows = {row["provider"]: row for row in json.loads(ended.out)}
    refused = {name: row["refusal"]["kind"] for name, row in rows.items() if row["refusal"]}
    assert refused == dict.fromkeys(
        ("openai", "openai-responses", "anthropic", "local"), "needs_install"
    )
    assert rows["replay"]["refusal"] is None
    assert "pip install anthropic" in bare.shard("models").out


@pytest.mark.proves("C21")
def test_doctor_says_what_is_missing_and_that_the_rest_is_well(bare: Bare) -> None:
    ended = bare.shard("doctor", "--json")
    report = json.loads(ended.out)
    assert (ended.code, report["ok"]) == (0, True)
    warned = [check for check in report["checks"] if check["status"] == "warn"]
    told = " ".join(f"{check['message']} {check['next_step']}" for check in warned)
    for package in SDKS:
        assert f"{package} is not installed pip install {package}" in told
    assert "rg is not found" in told
    assert "git is not found" in told


def test_importing_the_package_or_playing_a_run_imports_no_sdk(bare: Bare) -> None:
    bare.absent = ("nothing",)
    code = f"""
import sys
heavy = {SDKS!r}
import shard_jupyter
from shard_jupyter import Shard, SyncShard
print([name for name in heavy if name in sys.modules])
with SyncShard(cwd=sys.argv[2], model="replay:" + sys.argv[3], ask="yes") as agent:
    print(agent.prompt(sys.argv[4]).outcome)
print([name for name in heavy if name in sys.modules])
"""
    project = make_repository(bare.root / "p")
    ended = bare.python(code, str(project), str(DEMO / "cassette.jsonl"), PROMPT)
    assert (ended.err, ended.out.split("\n")) == ("", ["[]", "completed", "[]", ""])
