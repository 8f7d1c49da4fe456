from __future__ import annotations

from pathlib import Path

import pytest

from shard_jupyter.core.files.own_places import own_places
from shard_jupyter.core.files.path_guard import locate

pytestmark = pytest.mark.proves("T60")


def test_configuration_state_and_policy_are_ours_wherever_they_are_put(tmp_path: Path) -> None:
    home = tmp_path.resolve()
    (home / "elsewhere").mkdir()
    (home / "state").symlink_to("elsewhere")
    environ = {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "conf"),
        "SHARD_HOME": str(home / "state"),
        "SHARD_POLICY": str(home / "policy"),
    }
    assert set(own_places(environ)) == {home / "conf/shard", home / "elsewhere", home / "policy"}


@pytest.mark.parametrize("wrong", ["relative/state", "./x"])
def test_state_that_is_no_place_does_not_hide_the_rest(tmp_path: Path, wrong: str) -> None:
    home = tmp_path.resolve()
    places = own_places({"HOME": str(home), "SHARD_HOME": wrong, "SHARD_POLICY": wrong})
    assert any(place.is_relative_to(home) for place in places)
    assert all(place.is_absolute() for place in places)


@pytest.mark.parametrize("given", ["state", "state/x/y", "src/../state/x", "link/x"])
def test_own_folder_in_the_workspace_is_neither_read_nor_written_freely(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = tmp_path.resolve()
    monkeypatch.setenv("SHARD_HOME", str(workspace / "state"))
    (workspace / "link").symlink_to("state")
    located = locate(workspace, given)
    assert located.protected
    assert not located.reads_freely
    assert located.why.endswith("belongs to shard itself")
    assert locate(workspace, "stateless").reads_freely


def test_own_folders_that_are_passed_count_too(tmp_path: Path) -> None:
    workspace = tmp_path.resolve()
    assert locate(workspace, "kept/x", (workspace / "kept",)).protected
    assert not locate(workspace, "kept/x").protected
