"""Where files lie, and how a broken one is refused: place, reason, what to do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.core.config.config_files import (
    find_config_paths,
    find_project_file,
    find_state_home,
    read_json_object,
)
from shard_jupyter.errors import ConfigError

pytestmark = pytest.mark.proves("A19")


def test_configuration_and_state_lie_apart() -> None:
    paths = find_config_paths({"HOME": "/h", "XDG_CONFIG_HOME": "/x"})
    assert paths.user_file == Path("/x/shard/config.json")
    assert paths.machine_file == Path("/x/shard/settings.json")
    assert paths.state_home == Path("/h/.shard")


def test_without_xdg_the_home_folder_counts() -> None:
    assert find_config_paths({"HOME": "/h"}).user_file == Path("/h/.config/shard/config.json")


def test_a_relative_xdg_folder_is_void_so_that_no_repository_is_read() -> None:
    paths = find_config_paths({"HOME": "/h", "XDG_CONFIG_HOME": "evil"})
    assert paths.user_file == Path("/h/.config/shard/config.json")


def test_the_state_home_can_be_set_and_must_be_absolute() -> None:
    assert find_state_home({"HOME": "/h", "SHARD_HOME": "/s"}) == Path("/s")
    assert find_state_home({"HOME": "/h", "SHARD_HOME": "~/s"}) == Path("/h/s")
    with pytest.raises(ConfigError, match="not an absolute path"):
        find_state_home({"SHARD_HOME": "state"})


class TestProjectFile:
    def make(self, folder: Path) -> Path:
        (folder / ".shard").mkdir(parents=True)
        file = folder / ".shard" / "config.json"
        file.write_bytes(b"{}")
        return file

    def test_the_nearest_one_up_to_the_root_of_the_repository_counts(self, tmp_path: Path) -> None:
        outside = self.make(tmp_path)
        root = tmp_path / "repo"
        (root / ".git").mkdir(parents=True)
        (root / "a" / "b").mkdir(parents=True)
        assert find_project_file(root / "a" / "b", tmp_path / "state") is None
        file = self.make(root)
        assert find_project_file(root / "a" / "b", tmp_path / "state") == file
        nearer = self.make(root / "a")
        assert find_project_file(root / "a" / "b", tmp_path / "state") == nearer
        assert outside.exists()

    def test_outside_a_repository_only_the_folder_itself_counts(self, tmp_path: Path) -> None:
        file = self.make(tmp_path)
        (tmp_path / "sub").mkdir()
        assert find_project_file(tmp_path, tmp_path / "state") == file
        assert find_project_file(tmp_path / "sub", tmp_path / "state") is None

    def test_the_state_home_is_no_project(self, tmp_path: Path) -> None:
        self.make(tmp_path)
        assert find_project_file(tmp_path, tmp_path / ".shard") is None


BROKEN = {
    "open brace": (b'{\n  "model": ', "line 2, column 12"),
    "comment": (b'{\n  "a": 1 // no\n}', "line 2, column 10"),
    "final comma": (b'{"a": 1,}', "line 1, column"),
    "two documents": (b"{}\n{}", "line 2, column 1"),
    "empty": (b"", "is empty"),
    "blank": (b" \n", "is empty"),
    "list": (b"[]", "no JSON object"),
    "null": (b"null", "no JSON object"),
    "twice": (b'{"model": "a", "model": "b"}', 'the key "model" twice'),
    "twice inside": (b'{"retry": {"a": 1, "a": 1}}', 'the key "a" twice'),
    "nan": (b'{"a": NaN}', "NaN"),
    "infinity": (b'{"a": -Infinity}', "-Infinity"),
    "latin-1": (b'{"a": "na\xefve"}', "not UTF-8 at byte 9"),
    "utf-16": ('{"a": 1}'.encode("utf-16"), "not UTF-8 at byte 0"),
    "deep": (b'{"a":' + b"[" * 200_000, "nested too deeply"),
    "long": (b'{"a": "' + b"x" * (1 << 20) + b'"}', "larger than 1 MiB"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused_with_its_place_and_left_as_it_is(
    name: str, tmp_path: Path
) -> None:
    data, reason = BROKEN[name]
    file = tmp_path / "config.json"
    file.write_bytes(data)
    with pytest.raises(ConfigError) as caught:
        read_json_object(file)
    assert reason in caught.value.message
    assert str(file) in caught.value.message
    assert caught.value.next_step
    assert file.read_bytes() == data


@given(st.binary(max_size=40))
def test_any_bytes_are_an_object_or_refused(data: bytes) -> None:
    file = Path(os.environ["HOME"]) / "any.json"
    file.write_bytes(data)
    try:
        values = read_json_object(file)
    except ConfigError:
        return
    assert isinstance(values, dict)


def test_no_file_is_no_error(tmp_path: Path) -> None:
    assert read_json_object(tmp_path / "none.json") is None
    assert read_json_object(tmp_path / "no" / "folder.json") is None


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_bytes(b'\xef\xbb\xbf{"model": "x:y"}')
    assert read_json_object(file) == {"model": "x:y"}


def test_a_folder_or_a_pipe_in_its_place_is_refused_without_waiting(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        read_json_object(tmp_path)
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    with pytest.raises(ConfigError, match="not a regular file"):
        read_json_object(pipe)
