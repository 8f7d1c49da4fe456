from __future__ import annotations

import pytest

from shard_jupyter.core.children.child_environment import QUIET, child_environment

pytestmark = pytest.mark.proves("A05")


@pytest.mark.parametrize(
    "name",
    ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GITHUB_TOKEN", "hf_token", "JUPYTER_TOKEN",
     "JPY_API_TOKEN", "JUPYTERHUB_API_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
     "DB_PASSWORD", "MYSQL_PASSWD", "GOOGLE_APPLICATION_CREDENTIALS", "CLIENT_SECRET",
     "JPY_COOKIE_SECRET", "SSH_ASKPASS", "GIT_ASKPASS", "AZURE_DEVOPS_PAT", "DB_PWD", "SMTP_PASS",
     "SSHPASS", "SENTRY_DSN", "MY_BEARER", "SESSION_JWT", "SLACK_WEBHOOK_URL",
     "AZURE_STORAGE_CONNECTION_STRING", "OP_SESSION_home"],
)  # fmt: skip
def test_secrets_do_not_reach_a_child(name):
    assert name not in child_environment({name: "x"})


@pytest.mark.parametrize(
    "value",
    ["postgres://me:pw@db.example/x", "redis://:pw@db", "x://u:p@ss@h y://z", "sk-" + "a" * 30, "ghp_" + "b" * 36, "AKIA" + "C" * 16,
     "-----BEGIN RSA PRIVATE KEY-----\nx\n-----END RSA PRIVATE KEY-----"],
)  # fmt: skip
def test_a_secret_under_a_harmless_name_does_not_reach_a_child(value):
    assert "DATABASE_URL" not in child_environment({"DATABASE_URL": value})


@pytest.mark.parametrize(
    "value", ["http://proxy:3128", "https://me@host/x", "git@host:a/b", "a:b@c", "x://[::1]:9/@x"]
)
def test_an_address_without_a_password_stays(value):
    assert child_environment({"ADDRESS": value})["ADDRESS"] == value


@pytest.mark.parametrize("name", ["https_proxy", "HTTP_PROXY", "PIP_INDEX_URL", "UV_INDEX_URL"])
def test_an_index_or_proxy_stays_though_it_holds_a_password(name):
    """Without it a program would fetch from the public one."""
    assert name in child_environment({name: "https://me:pw@mirror.example/simple"})


@pytest.mark.parametrize(
    "name", ["BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "BASH_FUNC_ls%%", "CDPATH", "PS4"]
)
def test_shell_start_up_hooks_do_not_reach_a_child(name):
    assert name not in child_environment({name: "x"})


@pytest.mark.parametrize(
    "name", ["PATH", "HOME", "LANG", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "LD_PRELOAD", "CONDA_PREFIX",
             "TOKENIZERS_PARALLELISM", "SSH_AUTH_SOCK", "http_proxy", "PWD", "OLDPWD", "KUBECONFIG",
             "DBUS_SESSION_BUS_ADDRESS"]
)  # fmt: skip
def test_what_programs_need_stays(name):
    assert child_environment({name: "x"})[name] == "x"


@pytest.mark.proves("H4f.58")
def test_nothing_interactive_is_left():
    environment = child_environment({"EDITOR": "vim", "PAGER": "less", "TERM": "xterm"})
    assert environment == QUIET
    assert environment["GIT_EDITOR"] == environment["EDITOR"] == environment["VISUAL"] == "true"
    assert environment["GIT_TERMINAL_PROMPT"] == "0"
    assert environment["PAGER"] == environment["GIT_PAGER"] == "cat"
    assert environment["TERM"] == "dumb"


def test_the_given_mapping_is_not_changed():
    base = {"A": "1", "API_KEY": "x"}
    child_environment(base)
    assert base == {"A": "1", "API_KEY": "x"}
