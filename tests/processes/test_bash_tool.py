from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import anyio
import psutil
import pytest

from shard_jupyter.errors import ToolFailed, ToolInputError
from shard_jupyter.types.render_descriptors import KvDescriptor, StatusDescriptor, TextDescriptor
from tests.tool_rig import ToolRig, make_rig, text_of, tool_of

pytestmark = pytest.mark.proves("A05")


@pytest.fixture
def rig(tmp_path) -> ToolRig:
    return make_rig(tmp_path)


async def test_output_is_what_the_model_reads(rig):
    result = await rig.call("bash", command="echo out; echo err >&2")
    assert text_of(result) == "out\nerr"
    assert not result.is_error
    assert result.details == {"exit_code": 0}


async def test_failure_tells_the_exit_code(rig):
    result = await rig.call("bash", command="echo no; exit 3")
    assert text_of(result) == "no\n[exit code 3]"
    assert result.is_error
    assert result.details["exit_code"] == 3


async def test_silence_is_said(rig):
    assert text_of(await rig.call("bash", command="true")) == "(no output)"


async def test_nothing_persists_between_calls(rig):
    await rig.call("bash", command="cd /; export A=1; f() { :; }")
    result = await rig.call("bash", command='pwd; echo "[$A]"; type f')
    assert text_of(result).startswith(f"{rig.cwd}\n[]\n")


async def test_shell_is_no_login_shell_and_reads_no_start_up_file(
    tmp_path, monkeypatch, clean_home
):
    noise = tmp_path / "noise.sh"
    noise.write_text("echo start-up file was read\n", encoding="utf-8")
    for name in (".bashrc", ".bash_profile", ".profile"):
        (clean_home / name).write_text("echo start-up file was read\n", encoding="utf-8")
    monkeypatch.setenv("BASH_ENV", str(noise))
    monkeypatch.setenv("ENV", str(noise))
    rig = make_rig(tmp_path)
    assert text_of(await rig.call("bash", command="shopt -q login_shell; echo $?")) == "1"


async def test_secrets_are_not_in_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-seeded-secret")
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", "seeded-secret")
    monkeypatch.setenv("HARMLESS", "yes")
    text = text_of(await make_rig(tmp_path).call("bash", command="env"))
    assert "seeded-secret" not in text
    assert "HARMLESS=yes" in text


@pytest.mark.proves("H4f.57")
@pytest.mark.parametrize("command", ["sleep 60 & echo hi", "setsid sleep 60 & echo hi",
                                     "sleep 60 >/dev/null 2>&1 & echo hi"])  # fmt: skip
async def test_call_returns_although_a_background_child_lives_on(rig, command):
    started = time.monotonic()
    result = await rig.call("bash", command=command)
    assert time.monotonic() - started < 2
    first, last = text_of(result).split("\n")
    assert first == "hi"
    assert last.startswith("[still running in the background, killed: ")
    assert "sleep 60" in last
    assert not result.is_error


@pytest.mark.proves("H4f.58")
@pytest.mark.parametrize(
    "command",
    [
        "git init -q . && git -c user.name=a -c user.email=b@c commit --allow-empty",
        "read -r line < /dev/tty; echo $?",
        "git -c credential.helper= ls-remote https://127.0.0.1:9/x",
        "git log --oneline | cat; $EDITOR /etc/passwd; $PAGER < /dev/null; read x; echo end",
    ],
)
async def test_nothing_waits_for_a_person(rig, command):
    started = time.monotonic()
    result = await rig.call("bash", command=command, timeout_seconds=10)
    assert "timed out" not in text_of(result)
    assert time.monotonic() - started < 5


@pytest.mark.proves("H4f.60")
@pytest.mark.parametrize("command", ["yes | head -c 20M", "yes | head -c 20M >&2"])
async def test_long_output_is_cut_and_the_whole_can_be_read(rig, command):
    result = await rig.call("bash", command=command)
    text = text_of(result)
    assert len(text.encode()) <= rig.context.output_limit_bytes
    assert "bytes cut …]" in text
    spill = Path(result.details["spill_path"])
    assert spill.stat().st_size == 20 << 20
    assert f"[whole output in {spill}: read it with offset" in text
    rest = await rig.call("read", path=str(spill), offset=9_000_000, limit=2)
    assert text_of(rest).startswith("y\ny\n[lines 9000000-9000001")


async def test_binary_output_stays_within_the_limit(rig):
    result = await rig.call("bash", command="head -c 3M /dev/urandom; printf 'a\\0b'")
    text = text_of(result)
    assert len(text.encode()) <= rig.context.output_limit_bytes
    assert "\0" not in text


async def test_long_line_is_cut_in_the_middle(rig):
    result = await rig.call("bash", command="printf 'x%.0s' {1..9000}; echo")
    assert "characters cut]" in text_of(result)


async def test_colours_and_titles_are_removed(rig):
    result = await rig.call("bash", command=r"printf '\e[31mred\e[0m \e]0;title\a\r\nend\n'")
    assert text_of(result) == "red \nend"


@pytest.mark.proves("H4f.61")
async def test_time_out_reaches_the_whole_group_and_returns_at_the_deadline(rig):
    started = time.monotonic()
    command = "grep -r zzz / 2>/dev/null & (trap '' TERM; sleep 77.7) & echo begun; wait"
    result = await rig.call("bash", command=command, timeout_seconds=0.5)
    assert time.monotonic() - started < 2.5
    assert result.is_error
    assert text_of(result).startswith("begun\n[timed out after 0.5 s and was killed; above is")
    assert not any("77.7" in " ".join(_words(p)) for p in psutil.process_iter())


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@pytest.mark.proves("H4f.61")
async def test_cancellation_ends_the_command_within_two_seconds(rig):
    begun = anyio.Event()
    context = replace(rig.context, report=lambda _: begun.set())
    tool = tool_of("bash")
    async with anyio.create_task_group() as tasks:
        command = "trap '' TERM; echo begun; sleep 78.8; sleep 78.8"
        tasks.start_soon(tool.execute, tool.parse({"command": command}), context)
        with anyio.fail_after(5):
            await begun.wait()
        started = time.monotonic()
        tasks.cancel_scope.cancel()
    assert time.monotonic() - started < 2
    assert not any("78.8" in " ".join(_words(p)) for p in psutil.process_iter())


async def test_progress_is_reported_while_it_runs_and_stays_small(rig):
    await rig.call("bash", command="echo first; sleep 0.3; yes | head -c 30M")
    assert rig.reported[0].startswith("first")
    assert sum(map(len, rig.reported)) < 200_000


async def test_progress_keeps_characters_whole(rig):
    await rig.call("bash", command=r"printf '\xc3'; sleep 0.15; printf '\xa9\n'; sleep 0.15; echo")
    assert "\ufffd" not in "".join(rig.reported)
    assert "é" in "".join(rig.reported)


async def test_missing_bash_is_said(tmp_path):
    rig = make_rig(tmp_path, environment={"PATH": str(tmp_path)})
    with pytest.raises(ToolFailed, match="'bash' does not exist on the PATH"):
        await rig.call("bash", command="true")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({}, "'command' is missing"),
        ({"command": ""}, "at least 1 character"),
        ({"command": "a\0b"}, "zero byte"),
        ({"command": "x" * 130_000}, "write it to a file"),
        ({"command": "a", "timeout_seconds": 601}, "less than or equal to 600"),
        ({"command": "a", "timeout": 5}, "no argument 'timeout'; perhaps 'timeout_seconds'"),
    ],
)
def test_wrong_arguments_are_explained(arguments, reason):
    with pytest.raises(ToolInputError, match=reason):
        tool_of("bash").parse(arguments)


async def test_preview_is_the_command_as_it_will_run(rig):
    tool = tool_of("bash")
    arguments = tool.parse({"command": "rm -rf x\n# more", "timeout_seconds": 5})
    command, where = await tool.preview(arguments, rig.context)
    assert command == TextDescriptor(text="rm -rf x\n# more", language="bash")
    assert isinstance(where, KvDescriptor)
    assert {pair.k: pair.v for pair in where.pairs} == {"folder": str(rig.cwd), "time limit": "5 s"}
    reach = tool.reach(arguments)
    assert (reach.kind, reach.command) == ("execute", "rm -rf x\n# more")
    assert reach.summary == "rm -rf x…"


async def test_result_shows_how_it_ended(rig):
    result = await rig.call("bash", command="exit 2")
    assert result.render[-1] == StatusDescriptor(label="exit code 2", tone="error")
