"""All layers together: order, provenance, trust, spelling help, and no secret in any message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shard_jupyter.core.config.load_settings import LoadedSettings, load_settings
from shard_jupyter.errors import ConfigError, UsageError
from shard_jupyter.types.decisions import Rule

pytestmark = pytest.mark.proves("A19")


class Place:
    """A home, a configuration folder and a project, all empty at first."""

    def __init__(self, root: Path) -> None:
        self.config = root / "xdg" / "shard"
        self.project = root / "project"
        self.environ = {"HOME": str(root / "home"), "XDG_CONFIG_HOME": str(root / "xdg")}
        (self.project / ".shard").mkdir(parents=True)
        self.config.mkdir(parents=True)

    def user(self, values: Any) -> None:
        (self.config / "config.json").write_text(json.dumps(values), encoding="utf-8")

    def machine(self, values: Any) -> None:
        (self.config / "settings.json").write_text(json.dumps(values), encoding="utf-8")

    def of_project(self, text: str) -> None:
        (self.project / ".shard" / "config.json").write_text(text, encoding="utf-8")

    def load(self, **arguments: Any) -> LoadedSettings:
        return load_settings(self.environ, self.project, **arguments)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_each_layer_overrules_the_one_before(place: Place) -> None:
    def model(**arguments: Any) -> tuple[str | None, str]:
        loaded = place.load(**arguments)
        return loaded.settings.model, loaded.sources["model",]

    assert model() == (None, "built-in default")
    place.user({"model": "p:user"})
    assert model() == ("p:user", str(place.config / "config.json"))
    place.machine({"model": "p:machine"})
    assert model() == ("p:machine", str(place.config / "settings.json"))
    place.of_project('{"model": "p:project"}')
    project = str(place.project / ".shard" / "config.json")
    assert model(trust_project=True) == ("p:project", project)
    place.environ["SHARD_MODEL"] = "p:environment"
    found = model(trust_project=True)
    assert found == ("p:environment", "environment variable SHARD_MODEL")
    found = model(trust_project=True, options={"model": "p:option"})
    assert found == ("p:option", "option of this run")


def test_sections_are_merged_key_by_key(place: Place) -> None:
    place.user({"retry": {"max_attempts": 2}, "providers": {"openai": {"timeout_seconds": 5}}})
    place.machine({"retry": {"max_wait_seconds": 7}})
    place.environ["OPENAI_BASE_URL"] = "http://localhost:1/v1"
    settings = place.load().settings
    assert (settings.retry.max_attempts, settings.retry.max_wait_seconds) == (2, 7)
    assert settings.providers["openai"].timeout_seconds == 5
    assert settings.providers["openai"].base_url == "http://localhost:1/v1"
    assert settings.providers["openai-responses"].base_url == "http://localhost:1/v1"


def test_an_empty_variable_counts_as_not_set(place: Place) -> None:
    place.environ |= {"SHARD_MODEL": "", "OPENAI_BASE_URL": " "}
    assert place.load().settings.model is None
    assert place.load().settings.providers == {}


def test_an_option_that_was_not_given_changes_nothing(place: Place) -> None:
    place.user({"mode": "plan"})
    assert place.load(options={"mode": None}).settings.mode == "plan"


def test_rules_of_all_files_are_added_up_and_marked_with_their_source(place: Place) -> None:
    place.user({"permissions": {"rules": [{"effect": "deny", "tool": "web"}]}})
    place.machine({"permissions": {"rules": [{"effect": "ask", "source": "policy"}]}})
    place.of_project('{"permissions": {"rules": [{"effect": "allow", "tool": "*"}]}}')
    run = {"permissions.rules": [Rule(effect="deny", tool="bash")]}
    loaded = place.load(trust_project=True, options=run)
    found = [(rule.effect, rule.source) for rule in loaded.settings.permissions.rules]
    assert found == [("deny", "user"), ("ask", "user"), ("allow", "project"), ("deny", "run")]
    assert loaded.sources["permissions", "rules"].count(", ") == 3


@pytest.mark.proves("E09", "A06")
@pytest.mark.parametrize(
    ("own", "wanted", "holds"),
    [
        (None, "off", "auto"), ("required", "off", "required"), ("required", "auto", "required"),
        ("off", "auto", "auto"), (None, "required", "required"), ("off", "off", "off"),
    ],
)  # fmt: skip
def test_a_trusted_project_may_ask_for_more_of_a_sandbox_but_never_for_less(
    place: Place, own: str | None, wanted: str, holds: str
) -> None:
    place.user({"sandbox": own} if own else {})
    place.of_project(json.dumps({"sandbox": wanted, "mode": "plan"}))
    loaded = place.load(trust_project=True)
    assert (loaded.settings.sandbox, loaded.settings.mode) == (holds, "plan")
    told = [notice.message for notice in loaded.notices if "sandbox" in notice.message]
    assert len(told) == (holds != wanted)
    place.environ["SHARD_SANDBOX"] = "off"  # a person may
    assert place.load(trust_project=True).settings.sandbox == "off"


def test_without_trust_the_project_file_is_not_even_parsed(place: Place) -> None:
    place.of_project("{ this is no JSON")
    loaded = place.load()
    assert [(notice.tone, notice.path) for notice in loaded.notices] == [
        ("info", str(place.project / ".shard" / "config.json"))
    ]
    assert "not trusted" in loaded.notices[0].message
    with pytest.raises(ConfigError, match="not valid JSON at line 1, column 3"):
        place.load(trust_project=True)


@pytest.mark.parametrize(
    ("values", "key", "near"),
    [
        ({"mo_del": "x"}, '"mo_del"', '"model"'),
        ({"retry": {"max_atempts": 3}}, '"retry.max_atempts"', '"retry.max_attempts"'),
        ({"timeout_seconds": 3}, '"timeout_seconds"', '"ask_timeout_seconds"'),
        (
            {"providers": {"openai": {"baseurl": "http://h"}}},
            '"providers.openai.baseurl"',
            '"providers.openai.base_url"',
        ),
        (
            {"prices": {"openai:gpt-5.1": {"input": 1}}},
            '"prices.openai:gpt-5.1.input"',
            "input_usd_per_million",
        ),
        (
            {"permissions": {"rules": [{"effect": "deny", "tol": "bash"}]}},
            '"permissions.rules.0.tol"',
            '"permissions.rules.0.tool"',
        ),
        (
            {
                "permissions": {
                    "rules": [{"effect": "deny", "command": {"program": "a", "arg": []}}]
                }
            },
            '"permissions.rules.0.command.arg"',
            '"permissions.rules.0.command.args"',
        ),
        ({"zzzzzz": 1}, '"zzzzzz"', "shard config show"),
    ],
)
def test_an_unknown_key_is_named_with_the_nearest_known_one(
    place: Place, values: dict[str, Any], key: str, near: str
) -> None:
    place.user(values)
    with pytest.raises(ConfigError) as caught:
        place.load()
    assert f"unknown key {key}" in caught.value.message
    assert str(place.config / "config.json") in caught.value.message
    assert near in caught.value.next_step


def test_an_overruled_layer_is_checked_all_the_same(place: Place) -> None:
    place.user({"retry": "often"})
    place.machine({"retry": {"max_attempts": 2}})
    with pytest.raises(ConfigError, match=r"config\.json: retry"):
        place.load()


def test_all_faults_of_a_file_are_told_at_once(place: Place) -> None:
    place.user({"mode": 1, "network": "off", "mo_del": "x"})
    with pytest.raises(ConfigError) as caught:
        place.load()
    assert all(name in caught.value.message for name in ("mode:", "network:", '"mo_del"'))


def test_an_unknown_option_is_the_callers_fault(place: Place) -> None:
    with pytest.raises(UsageError, match=r'"limits\.max_round"') as caught:
        place.load(options={"limits.max_round": 1})
    assert '"limits.max_rounds"' in caught.value.next_step


def test_text_that_is_no_unicode_is_refused(place: Place) -> None:
    place.environ["SHARD_MODEL"] = "openai:\udcff"
    with pytest.raises(ConfigError, match="SHARD_MODEL: holds text that is no valid Unicode"):
        place.load()


def test_an_option_that_no_file_could_hold_is_refused(place: Place) -> None:
    with pytest.raises(ConfigError, match=r"option of this run: limits\.max_rounds"):
        place.load(options={"limits.max_rounds": object()})


def test_names_that_look_misspelt_are_noticed(place: Place) -> None:
    place.user(
        {
            "providers": {"opnai": {"timeout_seconds": 1}, "lab": {"timeout_seconds": 1}},
            "prices": {"gpt-5": {"input_usd_per_million": 1}},
        }
    )
    place.environ |= {"SHARD_MO_DEL": "x:y", "SHARD_SOMETHING_ELSE": "1"}
    told = {notice.path: notice.message for notice in place.load().notices}
    assert told == {
        "providers.opnai": "no bundled provider has this prefix; near: openai",
        "providers.lab": "no bundled provider has this prefix",
        "prices.gpt-5": "a model id starts with its provider; near: openai:gpt-5",
        "SHARD_MO_DEL": "this environment variable is not read; near: SHARD_MODEL",
    }


SECRET = "sk-very-secret-0123456789"


@pytest.mark.proves("A19", "C21")
@pytest.mark.parametrize(
    "values",
    [
        {"providers": {"openai": {"api_key": SECRET}}},
        {"providers": {"openai": {"api_key": SECRET, "timeout_seconds": "x"}}},
        {"providers": {"openai": {"api_key_env": SECRET}}},
        {"providers": {"openai": {"base_url": f"https://me:{SECRET}@host/v1"}}},
        {"providers": {"openai": {"base_url": f"{SECRET}"}}},
        {"providers": {"openai": SECRET}},
        {"providers": SECRET},
        {"model": [SECRET]},
        {"network": SECRET},
        {"permissions": {"rules": [SECRET]}},
    ],
)
def test_a_secret_in_a_file_is_refused_and_never_repeated(
    place: Place, values: dict[str, Any]
) -> None:
    place.user(values)
    with pytest.raises(ConfigError) as caught:
        place.load()
    told = f"{caught.value} {caught.value!r} {caught.value.__context__!r}"
    assert SECRET not in told


def test_a_key_in_a_file_is_sent_to_the_environment(place: Place) -> None:
    place.user({"providers": {"anthropic": {"api_key": SECRET}}})
    with pytest.raises(ConfigError) as caught:
        place.load()
    assert "ANTHROPIC_API_KEY" in caught.value.next_step
    assert "api_key_env" in caught.value.next_step


def test_keys_in_the_environment_never_become_settings(place: Place) -> None:
    place.environ |= {"OPENAI_API_KEY": SECRET, "ANTHROPIC_API_KEY": SECRET}
    loaded = place.load()
    assert SECRET not in f"{loaded!r} {loaded.settings.model_dump_json()}"
    assert SECRET not in repr(loaded.settings.provider_settings("openai", place.environ))
