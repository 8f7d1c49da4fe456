"""`config set` and `unset`: only settings.json changes, and only to something that is valid."""

from __future__ import annotations

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from shard_jupyter.core.config.change_settings import set_value, unset_value
from shard_jupyter.errors import ConfigError, UsageError

pytestmark = pytest.mark.proves("A19", "B12")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}


def settings_file(environ: dict[str, str]) -> Path:
    return Path(environ["XDG_CONFIG_HOME"]) / "shard" / "settings.json"


def stored(environ: dict[str, str]) -> Any:
    return json.loads(settings_file(environ).read_bytes())


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("model", "openai:gpt-5", "openai:gpt-5"),
        ("model", '"openai:gpt-5"', "openai:gpt-5"),
        ("model", "5", "5"),
        ("model", "null", None),
        ("usage_log", "false", False),
        ("limits.max_rounds", "7", 7),
        ("ask_timeout_seconds", "1.5", 1.5),
    ],
)
def test_a_value_is_read_as_json_or_as_text(
    environ: dict[str, str], key: str, text: str, value: object
) -> None:
    set_value(environ, key, text)
    found = stored(environ)
    for part in key.split("."):
        found = found[part]
    assert found == value
    assert type(found) is type(value)


def test_names_with_dots_are_one_part(environ: dict[str, str]) -> None:
    set_value(environ, "prices.openai:gpt-5.1.input_usd_per_million", "2")
    set_value(environ, "providers.my.lab.base_url", "http://h/v1")
    assert stored(environ) == {
        "prices": {"openai:gpt-5.1": {"input_usd_per_million": 2}},
        "providers": {"my.lab": {"base_url": "http://h/v1"}},
    }


def test_other_keys_stay_and_a_list_is_replaced(environ: dict[str, str]) -> None:
    set_value(environ, "permissions.rules", '[{"effect": "deny", "tool": "web"}]')
    set_value(environ, "mode", "plan")
    set_value(environ, "permissions.rules", '[{"effect": "ask"}]')
    assert stored(environ) == {"permissions": {"rules": [{"effect": "ask"}]}, "mode": "plan"}


def test_taking_a_key_out_leaves_no_empty_object(environ: dict[str, str]) -> None:
    set_value(environ, "retry.max_attempts", "3")
    set_value(environ, "mode", "plan")
    assert unset_value(environ, "retry.max_attempts")
    assert stored(environ) == {"mode": "plan"}
    assert not unset_value(environ, "retry.max_attempts")
    assert not unset_value(environ, "prices.a:b.input_usd_per_million")


@pytest.mark.parametrize(
    ("key", "text", "reason"),
    [
        ("limits.max_rounds", "0", "greater than or equal to 1"),
        ("limits.max_rounds", "many", "valid integer"),
        ("network", "off", "'on' or 'local'"),
        ("usage_log", '"yes"', "boolean"),
        ("permissions.rules", '[{"effect": "deny", "tol": 1}]', '"permissions.rules.0.tol"'),
    ],
)
def test_a_value_that_does_not_fit_changes_nothing(
    environ: dict[str, str], key: str, text: str, reason: str
) -> None:
    set_value(environ, "mode", "plan")
    with pytest.raises(ConfigError, match=reason.replace("(", r"\(")):
        set_value(environ, key, text)
    assert stored(environ) == {"mode": "plan"}


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("mo_del", '"model"'),
        ("retry", '"retry.max_attempts", "retry.max_wait_seconds"'),
        ("providers.openai", "providers.<prefix>."),
        ("prices..input_usd_per_million", ""),
        ("limits.max_round", '"limits.max_rounds"'),
        ("providers.openai.api_key", "OPENAI_API_KEY"),
        ("", ""),
    ],
)
def test_an_unknown_key_is_refused_with_help(environ: dict[str, str], key: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        set_value(environ, key, "sk-secret")
    assert hint in caught.value.next_step
    assert "sk-secret" not in str(caught.value)
    assert not settings_file(environ).exists()


def test_a_broken_file_is_never_written_over(environ: dict[str, str]) -> None:
    set_value(environ, "mode", "plan")
    for data in (b'{"mode": "plan"', b'{"mo_del": 1}', b""):
        settings_file(environ).write_bytes(data)
        with pytest.raises(ConfigError):
            set_value(environ, "model", "a:b")
        assert settings_file(environ).read_bytes() == data


def test_the_persons_own_file_is_not_touched(environ: dict[str, str]) -> None:
    own = settings_file(environ).with_name("config.json")
    own.parent.mkdir()
    own.write_bytes(b'{ "mode":"plan" }')
    set_value(environ, "mode", "build")
    unset_value(environ, "mode")
    assert own.read_bytes() == b'{ "mode":"plan" }'


def test_changes_at_once_are_all_kept(environ: dict[str, str]) -> None:
    keys = [f"prices.a:m{number}.input_usd_per_million" for number in range(24)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda key: set_value(environ, key, "1"), keys))
    assert len(stored(environ)["prices"]) == len(keys)


def test_a_folder_that_cannot_be_written_says_so(environ: dict[str, str]) -> None:
    settings_file(environ).parent.write_bytes(b"a file in the place of the folder")
    with pytest.raises(ConfigError, match="cannot be changed") as caught:
        set_value(environ, "mode", "plan")
    assert caught.value.next_step


def test_the_file_is_private_and_nothing_else_is_left_beside_it(environ: dict[str, str]) -> None:
    set_value(environ, "mode", "plan")
    folder = settings_file(environ).parent
    assert stat.S_IMODE(settings_file(environ).stat().st_mode) == 0o600
    assert {path.name for path in folder.iterdir()} <= {"settings.json", ".settings.json.lock"}


def test_a_link_to_the_file_stays_a_link(environ: dict[str, str], tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_bytes(b"{}")
    settings_file(environ).parent.mkdir()
    settings_file(environ).symlink_to(real)
    set_value(environ, "mode", "plan")
    assert settings_file(environ).is_symlink()
    assert json.loads(real.read_bytes()) == {"mode": "plan"}
