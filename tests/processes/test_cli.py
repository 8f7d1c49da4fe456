"""The command line as a real process: output, errors in one line, exit codes, no secret."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from shard_jupyter import __version__

pytestmark = pytest.mark.proves("B12")
ROOT = Path(__file__).parent.parent.parent
SECRET = "sk-seeded-0123456789abcdef"
needs_engine = pytest.mark.skipif(
    importlib.util.find_spec("shard_jupyter.surfaces.composition") is None,
    reason="the engine is not in this tree",
)


class Shell:
    """Runs commands in a project folder with a home of their own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.project = root / "project"
        self.project.mkdir()
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(root),
            "XDG_CONFIG_HOME": str(root / "config"),
            "PYTHONPATH": str(ROOT),
            "PYTHONWARNINGS": "error",
            "LANG": "C.UTF-8",
        }

    def write_config(self, values: Any, name: str = "config.json") -> Path:
        file = self.root / "config" / "shard" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(values if isinstance(values, str) else json.dumps(values), encoding="utf-8")
        return file

    def run(self, *arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-m", "shard_jupyter.surfaces.cli.main", *arguments],
            cwd=self.project,
            env=self.environ,
            input=stdin,
            capture_output=True,
            timeout=50,
            check=False,
        )
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def run_json(self, *arguments: str) -> Any:
        code, out, err = self.run(*arguments, "--json")
        assert (code, err) == (0, "")
        return json.loads(out)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def test_the_version_is_told(shell: Shell) -> None:
    assert shell.run("--version") == (0, f"shard-jupyter {__version__}\n", "")


@pytest.mark.parametrize("command", [(), ("run",), ("config", "set")])
def test_help_is_told(shell: Shell, command: tuple[str, ...]) -> None:
    code, out, err = shell.run(*command, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"usage: {' '.join(('shard', *command))}")


def test_starting_loads_nothing_heavy() -> None:
    code = (
        "import sys; from shard_jupyter.surfaces.cli.main import run_cli; run_cli(['--version']);"
        "heavy = 'pydantic pydantic_core openai anthropic anyio asyncio httpx2 dataclasses inspect';"
        "print([name for name in heavy.split() if name in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
        timeout=20,
    )
    assert found.stdout.decode().split("\n")[1] == "[]"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "the following arguments are required: COMMAND"),
        (("rnu",), 2, "invalid choice: 'rnu'"),
        (("run",), 2, "PROMPT"),
        (("config", "set", "mo_del", "x"), 2, 'There is no key "mo_del". Did you mean'),
        (("config", "set", "network", "off"), 1, "'on' or 'local'"),
        (("config", "set", "providers.openai.api_key", SECRET), 2, "OPENAI_API_KEY"),
        (("config", "set", "providers.openai.api_key_env", SECRET), 1, "should match pattern"),
    ],
)
def test_an_error_is_one_line_with_what_to_do_and_no_traceback(
    shell: Shell, arguments: tuple[str, ...], code: int, message: str
) -> None:
    found, out, err = shell.run(*arguments)
    assert (found, out) == (code, "")
    assert err.startswith("shard: ")
    assert message in err
    assert err.count("\n") == 1
    assert SECRET not in err


def test_an_error_cannot_steer_the_terminal(shell: Shell) -> None:
    _, _, err = shell.run("config", "set", "mo\x1b[2Jdle\nx", "1")
    assert "⟨U+001B⟩[2J" in err
    assert err.count("\n") == 1


def test_a_reader_that_goes_away_gets_no_traceback(shell: Shell) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "shard_jupyter.surfaces.cli.main", "config", "show"],
        cwd=shell.project,
        env=shell.environ,
        stdout=write,
        stderr=subprocess.PIPE,
        timeout=50,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.proves("A19")
class TestConfig:
    def test_show_says_where_every_value_came_from(self, shell: Shell) -> None:
        file = shell.write_config({"model": "openai:gpt-5"})
        shell.environ["SHARD_NETWORK"] = "local"
        found = shell.run_json("config", "show")
        assert found["values"]["model"] == "openai:gpt-5"
        assert found["sources"]["model"] == str(file)
        assert found["sources"]["network"] == "environment variable SHARD_NETWORK"
        assert found["sources"]["mode"] == "built-in default"
        code, out, _ = shell.run("config", "show")
        assert code == 0
        rows = [line.split() for line in out.split("\n") if line.startswith("model ")]
        assert rows == [["model", '"openai:gpt-5"', str(file)]]

    def test_set_and_unset_change_the_machine_file_only(self, shell: Shell) -> None:
        own = shell.write_config('{ "mode":"plan" }')
        assert shell.run("config", "set", "retry.max_attempts", "2") == (0, "", "")
        assert shell.run_json("config", "show")["values"]["retry"]["max_attempts"] == 2
        code, _, err = shell.run("config", "unset", "retry.max_attempts")
        assert code == 0
        assert "it now comes from: built-in default" in err
        assert shell.run_json("config", "show")["values"]["retry"]["max_attempts"] == 5
        assert own.read_bytes() == b'{ "mode":"plan" }'

    def test_a_change_that_has_no_effect_says_why(self, shell: Shell) -> None:
        shell.environ["SHARD_MODEL"] = "a:b"
        code, _, err = shell.run("config", "set", "model", "c:d")
        assert code == 0
        assert "overruled by environment variable SHARD_MODEL" in err

    def test_a_broken_file_is_told_with_its_place(self, shell: Shell) -> None:
        file = shell.write_config('{\n  "model": \n}')
        for command in (("show",), ("set", "mode", "plan")):
            code, out, err = shell.run("config", *command)
            assert (code, out) == (1, "")
            assert f"{file} is not valid JSON at line 3, column 1" in err

    def test_paths_are_told_even_when_the_files_are_broken(self, shell: Shell) -> None:
        shell.write_config("{")
        found = shell.run_json("config", "path")
        assert found == {
            "config": str(shell.root / "config/shard/config.json"),
            "settings": str(shell.root / "config/shard/settings.json"),
            "state": str(shell.root / ".shard"),
            "project": None,
        }

    def test_the_projects_file_needs_trust(self, shell: Shell) -> None:
        folder = shell.project / ".shard"
        folder.mkdir()
        (folder / "config.json").write_text('{"mode": "plan"}', encoding="utf-8")
        found = shell.run_json("config", "show")
        assert found["values"]["mode"] == "build"
        assert "not trusted" in found["notices"][0]["message"]
        assert shell.run_json("config", "show", "--trust-project")["values"]["mode"] == "plan"


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_completion_scripts_are_printed(shell: Shell, name: str) -> None:
    code, out, err = shell.run("completion", name)
    assert (code, err) == (0, "")
    assert out.startswith("#")
    assert "trust-project" in out


@needs_engine
@pytest.mark.proves("C21")
class TestDoctor:
    def checks(self, shell: Shell, code: int) -> dict[str, list[dict[str, str]]]:
        found, out, err = shell.run("doctor", "--json")
        assert (found, err) == (code, ""), out
        report = json.loads(out)
        assert report["ok"] == (code == 0)
        by_name: dict[str, list[dict[str, str]]] = {}
        for check in report["checks"]:
            by_name.setdefault(check["name"], []).append(check)
        return by_name

    def test_a_fresh_installation_is_healthy_and_told_what_to_choose(self, shell: Shell) -> None:
        checks = self.checks(shell, 0)
        assert [check["status"] for check in checks["model"]] == ["warn"]
        assert "shard config set model" in checks["model"][0]["next_step"]
        assert not (shell.root / ".shard").exists()

    def test_the_chosen_model_and_why_are_told(self, shell: Shell) -> None:
        file = shell.write_config({"model": "openai:gpt-5"})
        checks = self.checks(shell, 1)
        assert str(file) in checks["model"][0]["message"]
        assert "OPENAI_API_KEY" in checks["model"][0]["next_step"]
        shell.environ["OPENAI_API_KEY"] = SECRET
        checks = self.checks(shell, 0)
        assert checks["model"][0]["status"] == "ok"
        assert checks["keys"][0]["message"] == "set: OPENAI_API_KEY"

    def test_a_broken_configuration_is_a_problem_and_the_rest_is_still_checked(
        self, shell: Shell
    ) -> None:
        shell.write_config({"mo_del": "x"})
        checks = self.checks(shell, 1)
        assert "mo_del" in checks["config"][0]["message"]
        assert "program" in checks

    def test_an_open_state_folder_is_told(self, shell: Shell) -> None:
        home = shell.root / ".shard"
        home.mkdir()
        home.chmod(0o755)
        check = self.checks(shell, 0)["state"][0]
        assert (check["status"], check["next_step"]) == ("warn", f"chmod 700 {home}")

    def test_a_state_folder_that_is_a_file_is_a_problem(self, shell: Shell) -> None:
        (shell.root / ".shard").write_bytes(b"")
        assert self.checks(shell, 1)["state"][0]["status"] == "problem"

    def test_without_bash_no_command_can_run(self, shell: Shell) -> None:
        shell.environ["PATH"] = str(shell.root)
        checks = self.checks(shell, 1)
        assert [check["status"] for check in checks["program"]] == ["problem", "warn", "warn"]

    def test_for_a_person_each_check_is_a_line(self, shell: Shell) -> None:
        code, out, _ = shell.run("doctor")
        assert code == 0
        assert all(line.startswith(("ok", "warn")) for line in out.split("\n")[:-1])


@needs_engine
def test_models_say_what_is_missing(shell: Shell) -> None:
    shell.write_config(
        {
            "model": "openai:gpt-5",
            "prices": {"anthropic:claude-x": {"input_usd_per_million": 1}},
            "providers": {"anthropic": {"base_url": "http://127.0.0.1:1/"}},
        }
    )
    rows = {row["model_id"]: row for row in shell.run_json("models")}
    assert list(rows)[:2] == ["openai:gpt-5", "anthropic:claude-x"]
    assert rows["openai:gpt-5"]["is_default"]
    assert rows["openai:gpt-5"]["refusal"]["kind"] == "needs_login"
    assert not rows["anthropic:claude-x"]["cloud"]
    assert rows["anthropic:claude-x"]["refusal"] is None
    assert {"openai:*", "openai-responses:*", "anthropic:*"} <= set(rows)
    shell.environ |= {"SHARD_NETWORK": "local", "OPENAI_API_KEY": SECRET}
    rows = {row["model_id"]: row for row in shell.run_json("models")}
    assert rows["openai:gpt-5"]["refusal"]["kind"] == "needs_consent"
    code, out, _ = shell.run("models")
    assert code == 0
    assert "* openai:gpt-5" in " ".join(out.split())


@needs_engine
def test_without_sessions_and_usage_the_lists_are_empty(shell: Shell) -> None:
    assert shell.run_json("sessions") == []
    assert shell.run("sessions") == (0, "", "")
    assert shell.run_json("usage") == {"rows": [], "unreadable_lines": 0}


@needs_engine
def test_usage_is_summed_by_day_and_model(shell: Shell) -> None:
    home = shell.root / ".shard"
    home.mkdir(mode=0o700)
    line = {
        "agent_id": "a",
        "turn_id": "t",
        "model": "openai:m",
        "tokens": {"input_tokens": 600, "output_tokens": 400},
        "cost_usd": 0.25,
        "timestamp": "2026-01-02T03:04:05.000+00:00",
    }
    lines = [json.dumps(line), json.dumps(line), "torn {"]
    (home / "usage.jsonl").write_text("\n".join(lines), encoding="utf-8")
    code, out, err = shell.run("usage")
    assert code == 0
    assert out.split("\n")[1].split() == ["2026-01-02", "openai:m", "2", "1.2k", "800", "$0.50"]
    assert "could not be read: 1." in err
    assert shell.run_json("usage")["unreadable_lines"] == 1


@needs_engine
@pytest.mark.proves("C21", "A19")
@pytest.mark.parametrize(
    "command",
    [("doctor",), ("config", "show"), ("models",), ("sessions",), ("usage",), ("config", "path")],
)
@pytest.mark.parametrize("as_json", [True, False])
def test_no_secret_is_ever_printed(shell: Shell, command: tuple[str, ...], as_json: bool) -> None:
    shell.write_config(
        {
            "model": "openai:gpt-5",
            "providers": {"openai": {"api_key_env": "LAB_KEY"}},
        }
    )
    names = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "LAB_KEY", "SHARD_TOKEN", "OTHER_SECRET")
    shell.environ |= dict.fromkeys(names, SECRET)
    code, out, err = shell.run(*command, *(["--json"] if as_json else []))
    assert code == 0
    assert SECRET not in out + err
    # A key that came into a file or an address by mistake is refused, and not repeated either.
    shell.environ["ANTHROPIC_BASE_URL"] = f"https://user:{SECRET}@host/"
    shell.write_config({"providers": {"openai": {"api_key": SECRET}}}, "settings.json")
    _, out, err = shell.run(*command, *(["--json"] if as_json else []))
    assert SECRET not in out + err


@pytest.mark.parametrize(
    "command",
    [("doctor",), ("models",), ("config", "show"), ("config", "path"), ("sessions",), ("usage",),
     ("demo", "--help"), ("models", "rm", "smollm2-135m")],
)  # fmt: skip
def test_no_command_fails_for_want_of_a_character(shell: Shell, command: tuple[str, ...]) -> None:
    shell.environ |= {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    _, out, err = shell.run(*command)
    assert "UnicodeEncodeError" not in err
    assert (out + err).isascii()
    assert "\\u2" not in out + err
