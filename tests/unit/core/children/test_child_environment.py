from __future__ import annotations

import pytest

from shard_jupyter.core.children.child_environment import QUIET, child_environment

pytestmark = pytest.mark.proves("A05")


@pytest.mark.parametrize(
    "name",
    ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GITHUB_TOKEN", "hf_token", "JUPYTER_TOKEN",
     "JPY_API_TOKEN", "JUPYTERHUB_API_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
     "DB_PASSWORD", "MYSQL_PASSWD", "GOOGLE_APPLICATION_CREDENTIALS", "CLIENT_SECRET",
     "JPY_COOKIE_SECRET", "SSH_ASKPASS", "GIT_ASKPASS"],
)  # fmt: skip
def test_secrets_do_not_reach_a_child(name):
    assert name not in child_environment({name: "x"})


@pytest.mark.parametrize(
    "name", ["BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "BASH_FUNC_ls%%", "CDPATH", "PS4"]
)
def test_shell_start_up_hooks_do_not_reach_a_child(name):
    assert name not in child_environment({name: "x"})


@pytest.mark.parametrize(
    "name", ["PATH", "HOME", "LANG", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "LD_PRELOAD", "CONDA_PREFIX",
             "TOKENIZERS_PARALLELISM", "SSH_AUTH_SOCK", "http_proxy"]
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
