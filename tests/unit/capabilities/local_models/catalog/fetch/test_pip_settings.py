"""pip's own order of files, sections and variables."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from shard_jupyter.capabilities.local_models.catalog.fetch.pip_settings import (
    PUBLIC_INDEX,
    PipSettings,
    config_files,
    read_pip_settings,
)

pytestmark = pytest.mark.proves("C10")


class Pip:
    def __init__(self, root: Path) -> None:
        self.prefix = root / "venv"
        self.system = root / "xdg"
        self.config = root / "config"
        self.environ = {
            "HOME": str(root),
            "XDG_CONFIG_DIRS": str(self.system),
            "XDG_CONFIG_HOME": str(self.config),
        }

    def write(self, folder: Path, text: str) -> Path:
        file = folder / ("pip.conf" if folder == self.prefix else "pip/pip.conf")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def read(self, **environ: str) -> PipSettings:
        return read_pip_settings(self.environ | environ, self.prefix)


@pytest.fixture
def pip(tmp_path: Path) -> Pip:
    return Pip(tmp_path)


def write_index(name: str) -> str:
    return f"[global]\nindex-url = https://{name}.example/simple\n"


@pytest.fixture(autouse=True)
def no_system_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """What this machine has in /etc/pip.conf is none of these tests' concern."""
    whole = Path.read_bytes

    def read(self: Path) -> bytes:
        if str(self) == "/etc/pip.conf":
            raise FileNotFoundError(self)
        return whole(self)

    monkeypatch.setattr(Path, "read_bytes", read)


def test_without_settings_the_public_index_is_asked(pip: Pip) -> None:
    assert pip.read() == PipSettings(indexes=(PUBLIC_INDEX,))


def test_a_later_file_wins_and_a_variable_wins_over_all(pip: Pip) -> None:
    pip.write(pip.system, write_index("system") + "cert = /system.pem\n")
    assert pip.read().indexes == ("https://system.example/simple",)
    pip.write(pip.config, write_index("user"))
    assert pip.read().indexes == ("https://user.example/simple",)
    pip.write(pip.prefix, write_index("venv"))
    assert pip.read().indexes == ("https://venv.example/simple",)
    assert pip.read().certificates == "/system.pem"
    changed = pip.read(PIP_INDEX_URL="https://variable.example/simple", PIP_CERT="/mine.pem")
    assert changed.indexes == ("https://variable.example/simple",)
    assert changed.certificates == "/mine.pem"


def test_the_section_of_install_wins_over_global(pip: Pip) -> None:
    pip.write(pip.config, "[install]\nindex_url = https://i.example\n" + write_index("g"))
    assert pip.read().indexes == ("https://i.example",)


def test_extra_indexes_come_after_the_first_and_each_once(pip: Pip) -> None:
    pip.write(
        pip.config,
        write_index("a") + "extra-index-url =\n  https://b.example\n  https://c.example\n"
        "  https://b.example\n",
    )
    expected = ("https://a.example/simple", "https://b.example", "https://c.example")
    assert pip.read().indexes == expected
    assert pip.read(PIP_EXTRA_INDEX_URL="https://d.example").indexes == (
        "https://a.example/simple",
        "https://d.example",
    )


@pytest.mark.parametrize("value", ["1", "true", "Yes"])
def test_no_index_is_obeyed(pip: Pip, value: str) -> None:
    assert pip.read(PIP_NO_INDEX=value).indexes == ()


def test_uv_is_asked_where_pip_says_nothing(pip: Pip) -> None:
    assert pip.read(UV_INDEX_URL="https://uv.example").indexes == ("https://uv.example",)
    assert pip.read(UV_DEFAULT_INDEX="https://uv.example").indexes == ("https://uv.example",)
    pip.write(pip.config, write_index("user"))
    settings = pip.read(UV_INDEX_URL="https://uv.example", UV_EXTRA_INDEX_URL="https://e.example")
    assert settings.indexes == ("https://user.example/simple", "https://e.example")


def test_a_file_named_by_the_environment_takes_the_place_of_the_users(
    pip: Pip, tmp_path: Path
) -> None:
    pip.write(pip.config, write_index("user") + "proxy = http://proxy.example:3128\n")
    assert pip.read().proxy == "http://proxy.example:3128"
    own = tmp_path / "own.conf"
    assert pip.read(PIP_CONFIG_FILE=str(own)).indexes == ("https://user.example/simple",)
    own.write_text(write_index("own"), encoding="utf-8")
    settings = pip.read(PIP_CONFIG_FILE=str(own))
    assert (settings.indexes, settings.proxy) == (("https://own.example/simple",), "")


def test_the_null_device_as_file_means_no_file(pip: Pip) -> None:
    pip.write(pip.config, write_index("user"))
    assert pip.read(PIP_CONFIG_FILE=os.devnull).indexes == (PUBLIC_INDEX,)


def test_the_old_place_of_the_users_file_is_read_before_the_new(pip: Pip) -> None:
    files = list(config_files(pip.environ, pip.prefix))
    home = Path(pip.environ["HOME"])
    assert files.index(home / ".pip" / "pip.conf") < files.index(pip.config / "pip" / "pip.conf")
    assert files[-1] == pip.prefix / "pip.conf"


@pytest.mark.parametrize("text", ["index-url = x", "[global", "[global]\n\udcff"])
def test_a_broken_file_is_noted_and_the_others_hold(pip: Pip, text: str) -> None:
    pip.write(pip.system, write_index("system"))
    broken = pip.config / "pip" / "pip.conf"
    broken.parent.mkdir(parents=True)
    broken.write_bytes(text.encode("utf-8", "surrogateescape"))
    settings = pip.read()
    assert settings.indexes == ("https://system.example/simple",)
    assert str(broken) in settings.notes[0]


def test_a_password_is_not_in_the_representation(pip: Pip) -> None:
    assert "s3cret" not in repr(pip.read(PIP_INDEX_URL="https://me:s3cret@i.example"))


def test_the_files_are_those_of_pip_itself_in_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever pip is here: the page says "as pip does", so it had better."""
    configuration = pytest.importorskip("pip._internal.configuration")
    monkeypatch.delenv("PIP_CONFIG_FILE", raising=False)
    named = configuration.get_configuration_files()
    expected = [Path(file) for kind in ("global", "user", "site") for file in named[kind]]
    assert list(config_files(os.environ, Path(sys.prefix))) == expected
