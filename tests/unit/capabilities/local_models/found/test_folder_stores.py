"""Stores that are folders: LM Studio, the hub's cache, llama.cpp and configured folders."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from shard_jupyter.capabilities.local_models.found.folder_stores import find_in_configured_folder
from shard_jupyter.capabilities.local_models.found.search import Search
from tests.fakes.gguf_file import text, tiny_llama, write_projector, write_split_model
from tests.fakes.gguf_file import write_tiny_model as write
from tests.fakes.model_stores import write_hub_file
from tests.unit.capabilities.local_models.found.finding import find, make_places, titles

pytestmark = pytest.mark.proves("C10")
TINY = tiny_llama().to_bytes()
OTHER = tiny_llama(name="Other").to_bytes()


@pytest.mark.proves("L4.lm_studio")
def test_lm_studio_has_its_files_in_both_places_exactly_two_deep(tmp_path: Path) -> None:
    home = make_places(tmp_path).home
    new, old = home / ".lmstudio/models", home / ".cache/lm-studio/models"
    write(new / "publisher/repo/a.gguf", name="a")
    write(old / "publisher/repo/b.gguf", name="b")
    write(new / "c.gguf", name="c")
    write(new / "publisher/d.gguf", name="d")
    write(new / "publisher/repo/deeper/e.gguf", name="e")
    assert titles(find(make_places(tmp_path))) == [
        ("lm-studio", "publisher/repo/a.gguf"),
        ("lm-studio", "publisher/repo/b.gguf"),
    ]


@pytest.mark.proves("L4.lm_studio")
def test_lm_studio_elsewhere_is_found_by_its_variable(tmp_path: Path) -> None:
    write(tmp_path / "studio/models/p/r/a.gguf")
    places = make_places(tmp_path, LMSTUDIO_HOME=str(tmp_path / "studio"))
    assert titles(find(places)) == [("lm-studio", "p/r/a.gguf")]


@pytest.mark.proves("L4.hub_cache")
@pytest.mark.parametrize(
    ("variable", "value", "hub"),
    [
        ("HF_HUB_CACHE", "one", "one"),
        ("HF_HOME", "two", "two/hub"),
        ("XDG_CACHE_HOME", "three", "three/huggingface/hub"),
        ("", "", "home/.cache/huggingface/hub"),
    ],
)
def test_hub_cache_is_where_the_variables_say(
    tmp_path: Path, variable: str, value: str, hub: str
) -> None:
    environ = {variable: str(tmp_path / value)} if variable else {}
    write_hub_file(tmp_path / hub, "org/name", "m.gguf", TINY)
    assert titles(find(make_places(tmp_path, **environ))) == [("hub-cache", "org/name/m.gguf")]


@pytest.mark.proves("L4.hub_cache")
def test_variable_that_is_nearer_wins(tmp_path: Path) -> None:
    write_hub_file(tmp_path / "cache", "org/name", "m.gguf", TINY)
    write_hub_file(tmp_path / "hf/hub", "org/name", "n.gguf", OTHER)
    environ = {"HF_HUB_CACHE": str(tmp_path / "cache"), "HF_HOME": str(tmp_path / "hf")}
    assert titles(find(make_places(tmp_path, **environ))) == [("hub-cache", "org/name/m.gguf")]


@pytest.mark.proves("L4.hub_cache")
def test_blob_under_two_revisions_is_one_model(tmp_path: Path) -> None:
    hub = make_places(tmp_path).home / ".cache/huggingface/hub"
    write_hub_file(hub, "org/name", "m.gguf", TINY, revision="a")
    link = write_hub_file(hub, "org/name", "m.gguf", TINY, revision="b")
    write_hub_file(hub, "org/name", "README.md", b"text", revision="b")
    (row,) = find(make_places(tmp_path)).models
    assert (row.title, row.path) == ("org/name/m.gguf", link.resolve())


@pytest.mark.proves("L4.hub_cache")
def test_plain_files_and_folders_of_a_snapshot_are_found(tmp_path: Path) -> None:
    hub = make_places(tmp_path).home / ".cache/huggingface/hub"
    write(hub / "models--gpt2/snapshots/r/m.gguf", name="a")
    write(hub / "models--o--n--x/snapshots/r/Q4/m.gguf", name="b")
    write(hub / "datasets--o--n/snapshots/r/m.gguf", name="c")
    write(hub / "models--o--n/m.gguf", name="d")
    assert titles(find(make_places(tmp_path))) == [
        ("hub-cache", "gpt2/m.gguf"),
        ("hub-cache", "o/n--x/m.gguf"),
    ]


@pytest.mark.proves("L4.hub_cache")
def test_download_that_is_not_done_is_passed_over(tmp_path: Path) -> None:
    hub = make_places(tmp_path).home / ".cache/huggingface/hub"
    folder = hub / "models--org--name"
    write(folder / "blobs/0123.incomplete")
    (folder / "snapshots/r").mkdir(parents=True)
    (folder / "snapshots/r/m.gguf").symlink_to("../../blobs/0123.incomplete")
    write(folder / "snapshots/r/n.gguf.incomplete")
    found = find(make_places(tmp_path))
    assert (found.models, found.notes) == ((), ())


@pytest.mark.proves("L4.hub_cache", "L4.split")
def test_split_model_of_links_keeps_the_names_of_its_parts(tmp_path: Path) -> None:
    hub = make_places(tmp_path).home / ".cache/huggingface/hub"
    parts = write_split_model(tmp_path / "parts")
    links = [write_hub_file(hub, "o/n", f"Q4/{part.name}", part.read_bytes()) for part in parts]
    (row,) = find(make_places(tmp_path)).models
    assert row.path == links[0]
    assert row.size_bytes == sum(part.stat().st_size for part in parts)


@pytest.mark.proves("L4.llama_cpp")
@pytest.mark.parametrize(
    ("variable", "value", "folder"),
    [
        ("LLAMA_CACHE", "one", "one"),
        ("XDG_CACHE_HOME", "two", "two/llama.cpp"),
        ("", "", "home/.cache/llama.cpp"),
    ],
)
def test_cache_of_llama_cpp_is_flat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, folder: str
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    environ = {variable: str(tmp_path / value)} if variable else {}
    write(tmp_path / folder / "org_repo_m.gguf")
    write(tmp_path / folder / "deeper/n.gguf", name="deeper")
    assert titles(find(make_places(tmp_path, **environ))) == [("llama.cpp", "org_repo_m.gguf")]


@pytest.mark.proves("L4.llama_cpp")
def test_cache_of_llama_cpp_on_a_mac(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    write(make_places(tmp_path).home / "Library/Caches/llama.cpp/m.gguf")
    assert titles(find(make_places(tmp_path))) == [("llama.cpp", "m.gguf")]


@pytest.mark.proves("L4.folders")
def test_configured_folder_is_looked_through_a_few_levels_deep(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    for depth in range(6):
        write(folder.joinpath(*["x"] * depth) / f"m{depth}.GGUF", name=str(depth))
    found = find(make_places(tmp_path, folder))
    assert titles(found) == [("folder", f"m{depth}.GGUF") for depth in range(4)]


@pytest.mark.proves("L4.folders")
def test_configured_folder_may_be_named_from_the_home_folder(tmp_path: Path) -> None:
    write(make_places(tmp_path).home / "models/m.gguf")
    assert titles(find(make_places(tmp_path, Path("~/models")))) == [("folder", "m.gguf")]


@pytest.mark.proves("L4.folders")
def test_links_that_lead_round_are_followed_once(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    write(folder / "a/m.gguf")
    (folder / "a/up").symlink_to("..")
    (folder / "b").symlink_to("a")
    found = find(make_places(tmp_path, folder))
    assert (titles(found), found.notes) == ([("folder", "m.gguf")], ())


@pytest.mark.proves("L4.folders", "L4.limits")
def test_many_links_that_lead_round_do_not_multiply(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    write(folder / "m.gguf")
    for index in range(30):
        (folder / f"link{index}").symlink_to(".")
    found = find(make_places(tmp_path, folder))
    assert (titles(found), found.notes) == ([("folder", "m.gguf")], ())


@pytest.mark.proves("L4.folders")
@pytest.mark.parametrize("name", ["home", ".", "link"])
def test_home_folder_is_never_walked(tmp_path: Path, name: str) -> None:
    places = make_places(tmp_path, tmp_path / name)
    (tmp_path / "link").symlink_to("home")
    write(places.home / "m.gguf")
    found = find(places)
    assert found.models == ()
    assert "holds your whole home folder" in found.notes[0]


@pytest.mark.proves("L4.folders")
@pytest.mark.parametrize("name", ["missing", "file", "n\0ul"])
def test_configured_folder_that_is_none_is_a_note(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    found = find(make_places(tmp_path, tmp_path / name))
    assert found.models == ()
    assert found.notes[0].endswith("is no folder.")


@pytest.mark.proves("L4.limits")
def test_number_of_files_that_are_looked_at_is_bounded(tmp_path: Path) -> None:
    for index in range(5):
        write(tmp_path / f"models/{index}/m.gguf", name=str(index))
    notes: list[str] = []
    search = Search("Folder", notes, most_entries=8)
    home = make_places(tmp_path).home
    assert len(list(find_in_configured_folder(search, tmp_path / "models", home))) == 3
    (note,) = notes
    assert note.startswith("Folder: looked at 8 files and folders, up to ")


@pytest.mark.proves("L4.limits")
def test_number_of_notes_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    for index in range(80):
        (tmp_path / f"models/{index}.gguf").write_bytes(b"<html>" * 10)
    notes = find(make_places(tmp_path, tmp_path / "models")).notes
    assert (len(notes), notes[-1]) == (51, "There was more that could not be read.")


@pytest.mark.proves("L4.mmproj")
def test_projector_is_paired_and_never_offered(tmp_path: Path) -> None:
    repo = make_places(tmp_path).home / ".lmstudio/models/p/r"
    write(repo / "model-Q4_K_M.gguf")
    by_name = write_projector(repo / "mmproj-F16.gguf")
    (row,) = find(make_places(tmp_path)).models
    assert row.projector == by_name
    by_name.unlink()
    write(by_name, name="an old one, which does not say what it is")
    (row,) = find(make_places(tmp_path)).models
    assert row.projector == by_name
    by_name.unlink()
    by_type = write_projector(repo / "vision.gguf")
    (row,) = find(make_places(tmp_path)).models
    assert row.projector == by_type


@pytest.mark.proves("L4.mmproj")
def test_projector_in_a_mixed_folder_is_paired_by_name_only(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    for name in ("o_gemma-3-4b-it-GGUF_gemma-3-4b-it-Q4_K_M", "qwen3-0.6b-q8_0"):
        write(folder / f"{name}.gguf", name=name)
    projector = write_projector(folder / "o_gemma-3-4b-it-GGUF_mmproj-model-f16.gguf")
    write_projector(folder / "mmproj.gguf")
    rows = find(make_places(tmp_path, folder)).models
    assert [row.projector for row in rows] == [projector, None]


@pytest.mark.proves("L4.mmproj")
def test_adapter_is_never_offered(tmp_path: Path) -> None:
    tiny_llama().put("general.type", text("adapter")).write(tmp_path / "models/m.gguf")
    found = find(make_places(tmp_path, tmp_path / "models"))
    assert (found.models, found.notes) == ((), ())


@pytest.mark.proves("L4.split")
def test_split_model_is_one_row_with_the_size_of_all(tmp_path: Path) -> None:
    parts = write_split_model(tmp_path / "models")
    (row,) = find(make_places(tmp_path, tmp_path / "models")).models
    assert (row.path, row.title) == (parts[0], "big-00001-of-00003.gguf")
    assert row.size_bytes == sum(part.stat().st_size for part in parts)


@pytest.mark.proves("L4.split")
@pytest.mark.parametrize("lost", [0, 1, 2])
def test_split_model_with_a_missing_part_is_one_note(tmp_path: Path, lost: int) -> None:
    write_split_model(tmp_path / "models")[lost].unlink()
    found = find(make_places(tmp_path, tmp_path / "models"))
    assert found.models == ()
    (note,) = found.notes
    assert note.endswith("of big-00001-of-00003.gguf not all 3 parts are there.")


@pytest.mark.proves("L4.notes")
def test_file_that_only_has_the_name_of_a_model_is_a_note(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "a.gguf").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    (folder / "dangling.gguf").symlink_to("nowhere")
    (folder / "folder.gguf").mkdir()
    os.mkfifo(folder / "pipe.gguf")
    found = find(make_places(tmp_path, folder))
    assert found.models == ()
    (note,) = found.notes
    assert "Git-LFS pointer" in note
