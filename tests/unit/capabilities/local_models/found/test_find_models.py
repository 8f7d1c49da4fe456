"""What is found is certain, each file once, and nothing is touched."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from shard_jupyter.capabilities.local_models.catalog.catalog_model import (
    DEFAULT_MODEL,
    SMALL_MODEL,
)
from shard_jupyter.capabilities.local_models.gguf.read_header import read_header
from shard_jupyter.capabilities.local_models.gguf.refusals import BadModelFile
from tests.fakes.gguf_file import tiny_llama, write_projector, write_split_model, write_tiny_model
from tests.fakes.model_stores import (
    OLLAMA_LAYER,
    take_picture,
    write_hub_file,
    write_ollama_manifest,
    write_ollama_model,
    write_own_download,
    write_stand_in,
)
from tests.unit.capabilities.local_models.found.finding import find, make_places, resolve, titles

pytestmark = pytest.mark.proves("C10")


def put_in_ollama(home: Path, size: int = SMALL_MODEL.size_bytes) -> Path:
    """Give Ollama a blob that is named as the small model's would be."""
    blob = write_stand_in(home / f"blobs/sha256-{SMALL_MODEL.sha256}", SMALL_MODEL)
    os.truncate(blob, size)
    layer = {"mediaType": f"{OLLAMA_LAYER}model", "size": size}
    layer["digest"] = f"sha256:{SMALL_MODEL.sha256}"
    write_ollama_manifest(home, "registry.ollama.ai/library/smollm2/135m", [layer])
    return blob


@pytest.mark.proves("L4.row_id")
def test_row_id_is_the_hash_of_the_canonical_path(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    path = write_tiny_model(folder / "m.gguf")
    (tmp_path / "link").symlink_to("models")
    (row,) = find(make_places(tmp_path, tmp_path / "link")).models
    assert row.path == path
    assert row.row_id == hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
    assert row.model_id == f"local:gguf:{row.row_id}"


@pytest.mark.proves("L4.once")
def test_file_that_many_names_lead_to_is_one_row_of_the_first_store(tmp_path: Path) -> None:
    places = make_places(tmp_path, tmp_path / "models")
    blob = write_ollama_model(places.home / ".ollama/models")
    (tmp_path / "models").mkdir()
    (tmp_path / "models/soft.gguf").symlink_to(blob)
    os.link(blob, tmp_path / "models/hard.gguf")
    assert titles(find(places)) == [("ollama", "tiny:latest")]


@pytest.mark.proves("L4.once")
def test_stores_come_in_a_fixed_order(tmp_path: Path) -> None:
    places = make_places(tmp_path, tmp_path / "models", LLAMA_CACHE=str(tmp_path / "llama"))
    write_tiny_model(tmp_path / "models/a.gguf", name="a")
    write_tiny_model(tmp_path / "llama/b.gguf", name="b")
    hub = places.home / ".cache/huggingface/hub"
    write_hub_file(hub, "o/n", "c.gguf", tiny_llama(name="c").to_bytes())
    write_tiny_model(places.home / ".lmstudio/models/p/r/d.gguf", name="d")
    write_ollama_model(places.home / ".ollama/models")
    write_tiny_model(places.models_home / "f.gguf", name="f")
    assert [row.store for row in find(places).models] == [
        "shard", "ollama", "lm-studio", "hub-cache", "llama.cpp", "folder",
    ]  # fmt: skip


@pytest.mark.proves("L4.read_only")
def test_nothing_is_written_or_locked(tmp_path: Path) -> None:
    places = make_places(tmp_path, tmp_path / "models")
    write_split_model(tmp_path / "models")
    write_projector(tmp_path / "models/mmproj.gguf")
    (tmp_path / "models/bad.gguf").write_bytes(b"<html>" * 9)
    blob = write_ollama_model(places.home / ".ollama/models")
    write_hub_file(places.home / ".cache/huggingface/hub", "o/n", "m.gguf", b"GGUF")
    write_own_download(places.models_home, SMALL_MODEL)
    before = take_picture(tmp_path)
    found = find(places)
    assert len(found.models) == 3
    for name in (SMALL_MODEL.name, found.models[-1].row_id, str(blob), "nothing"):
        if row := resolve(name, places):
            read_header(row.path)
    assert take_picture(tmp_path) == before


def test_machine_without_any_model_has_none(tmp_path: Path) -> None:
    found = find(make_places(tmp_path))
    assert (found.models, found.notes) == ((), ())


@pytest.mark.proves("L4.names")
def test_names_from_files_cannot_steer_a_terminal(tmp_path: Path) -> None:
    folder = tmp_path / "mo\x1bdels"
    write_tiny_model(folder / "a\x1b[2J\n\u202eb.gguf")
    (folder / "bad\x07.gguf").write_bytes(b"<html>" * 9)
    write_tiny_model(folder / os.fsdecode(b"c\xff.gguf"), name="c")
    places = make_places(tmp_path, folder)
    write_ollama_model(places.home / ".ollama/models", "registry.ollama.ai/library/x\x1b/y\r")
    found = find(places)
    assert titles(found) == [
        ("ollama", "x\ufffd:y\ufffd"),
        ("folder", "a\ufffd[2J\ufffd\ufffdb.gguf"),
        ("folder", "c\ufffd.gguf"),
    ]
    (note,) = found.notes
    assert note.isprintable()


@pytest.mark.proves("L4.checked")
def test_checked_download_has_its_name(tmp_path: Path) -> None:
    places = make_places(tmp_path)
    path = write_own_download(places.models_home, SMALL_MODEL)
    (row,) = find(places).models
    assert (row.store, row.title, row.path) == ("shard", SMALL_MODEL.title, path)
    assert row.model_id == SMALL_MODEL.model_id
    assert resolve(SMALL_MODEL.name, places) == row
    assert resolve(row.row_id, places) == row
    assert resolve(str(path), places) == row
    assert resolve(DEFAULT_MODEL.name, places) is None


@pytest.mark.proves("L4.checked")
@pytest.mark.parametrize(
    "changes",
    [{"sha256": DEFAULT_MODEL.sha256}, {"size": 5}, {"mtime_ns": 5}, {"mtime_ns": None}],
)
def test_download_that_was_checked_as_another_is_not_trusted(
    tmp_path: Path, changes: dict[str, object]
) -> None:
    places = make_places(tmp_path)
    write_own_download(places.models_home, SMALL_MODEL, **changes)
    (row,) = find(places).models
    assert (row.catalog_name, row.title) == ("", SMALL_MODEL.file_name)
    assert resolve(SMALL_MODEL.name, places) is None


@pytest.mark.proves("L4.checked")
def test_download_that_changed_since_is_not_trusted(tmp_path: Path) -> None:
    places = make_places(tmp_path)
    path = write_own_download(places.models_home, SMALL_MODEL)
    os.utime(path, ns=(7, 7))
    assert resolve(SMALL_MODEL.name, places) is None
    write_own_download(places.models_home, SMALL_MODEL)
    assert resolve(SMALL_MODEL.name, places) is not None
    os.truncate(path, 9999)
    assert resolve(SMALL_MODEL.name, places) is None


@pytest.mark.proves("L4.checked")
def test_check_of_a_file_of_another_size_is_not_trusted(tmp_path: Path) -> None:
    places = make_places(tmp_path)
    path = write_own_download(places.models_home, SMALL_MODEL)
    os.truncate(path, 9999)
    stamp = path.stat().st_mtime_ns
    record = {"sha256": SMALL_MODEL.sha256, "size": 9999, "mtime_ns": stamp}
    path.with_name(f"{path.name}.json").write_text(json.dumps(record), encoding="utf-8")
    assert resolve(SMALL_MODEL.name, places) is None


@pytest.mark.proves("L4.checked")
def test_file_beside_a_checked_download_has_not_its_name(tmp_path: Path) -> None:
    places = make_places(tmp_path)
    path = write_own_download(places.models_home, SMALL_MODEL)
    write_tiny_model(places.models_home / "another.gguf")
    rows = find(places).models
    assert [row.catalog_name for row in rows] == ["", SMALL_MODEL.name]
    assert rows[1].path == path


@pytest.mark.proves("L4.checked")
def test_link_to_a_file_of_the_same_name_has_not_the_name_of_the_download(tmp_path: Path) -> None:
    places = make_places(tmp_path)
    path = write_own_download(places.models_home, SMALL_MODEL)
    other = write_tiny_model(tmp_path / "other" / SMALL_MODEL.file_name)
    (places.models_home / "a.gguf").symlink_to(other)
    rows = find(places).models
    assert {(row.path, row.catalog_name) for row in rows} == {(other, ""), (path, SMALL_MODEL.name)}


@pytest.mark.proves("L4.checked")
def test_download_that_was_moved_to_another_disk_keeps_its_name(tmp_path: Path) -> None:
    places = make_places(tmp_path)
    path = write_own_download(places.models_home, SMALL_MODEL)
    moved = path.rename(tmp_path / "large.gguf")
    path.symlink_to(moved)
    row = resolve(SMALL_MODEL.name, places)
    assert row is not None
    assert (row.catalog_name, row.path) == (SMALL_MODEL.name, moved)


@pytest.mark.proves("L4.checked")
@pytest.mark.parametrize("data", [b"", b"[]", b"\xff", b"[" * 100_000, None])
def test_download_whose_check_is_lost_is_not_trusted(tmp_path: Path, data: bytes | None) -> None:
    places = make_places(tmp_path)
    record = write_own_download(places.models_home, SMALL_MODEL)
    record = record.with_name(f"{record.name}.json")
    record.unlink()
    if data is not None:
        record.write_bytes(data)
    assert resolve(SMALL_MODEL.name, places) is None
    assert len(find(places).models) == 1


@pytest.mark.proves("L4.checked")
def test_blob_that_a_store_names_by_the_hash_has_not_the_name_of_a_checked_file(
    tmp_path: Path,
) -> None:
    places = make_places(tmp_path)
    blob = put_in_ollama(places.home / ".ollama/models")
    link = write_hub_file(places.home / ".cache/huggingface/hub", "o/n", "any.gguf", b"x")
    named = write_stand_in(link.resolve().with_name(SMALL_MODEL.sha256), SMALL_MODEL)
    link.unlink()
    link.symlink_to(named)
    rows = find(places).models
    assert [(row.catalog_name, row.title, row.path) for row in rows] == [
        ("", "smollm2:135m", blob),
        ("", "o/n/any.gguf", named),
    ]
    assert resolve(SMALL_MODEL.name, places) is None


@pytest.mark.proves("L4.checked")
def test_name_alone_is_no_proof(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    write_stand_in(folder / SMALL_MODEL.file_name, SMALL_MODEL)
    write_stand_in(folder / f"blobs/{SMALL_MODEL.sha256}.gguf", SMALL_MODEL)
    write_stand_in(folder / f"blobs/{SMALL_MODEL.sha256}", SMALL_MODEL)
    (folder / "link.gguf").symlink_to(f"blobs/{SMALL_MODEL.sha256}")
    places = make_places(tmp_path, folder)
    snapshot = places.home / ".cache/huggingface/hub/models--o--n/snapshots/r"
    write_stand_in(snapshot.parent / SMALL_MODEL.sha256, SMALL_MODEL)
    snapshot.mkdir()
    (snapshot / "m.gguf").symlink_to(f"../{SMALL_MODEL.sha256}")
    assert [row.catalog_name for row in find(places).models] == [""] * 4
    assert resolve(SMALL_MODEL.name, places) is None


@pytest.mark.proves("L4.checked")
def test_two_files_with_the_same_content_have_different_ids(tmp_path: Path) -> None:
    places = make_places(tmp_path)
    write_own_download(places.models_home, SMALL_MODEL)
    put_in_ollama(places.home / ".ollama/models")
    rows = find(places).models
    assert [row.store for row in rows] == ["shard", "ollama"]
    assert rows[0].model_id == SMALL_MODEL.model_id
    assert rows[1].model_id == f"local:gguf:{rows[1].row_id}"
    assert [resolve(row.model_id.removeprefix("local:gguf:"), places) for row in rows] == [*rows]


@pytest.mark.proves("L4.resolve")
def test_path_is_resolved_and_named_from_the_home_folder_too(tmp_path: Path) -> None:
    places = make_places(tmp_path)
    path = write_tiny_model(places.home / "my models/gemma-4b-q8_0.gguf")
    projector = write_projector(path.with_name("gemma-4b-mmproj-f16.gguf"))
    row = resolve(str(path), places)
    assert row is not None
    assert (row.store, row.path, row.title) == ("path", path, path.name)
    assert (row.size_bytes, row.projector) == (path.stat().st_size, projector)
    assert resolve("~/my models/gemma-4b-q8_0.gguf", places) == row


@pytest.mark.proves("L4.resolve")
def test_path_of_a_split_model_has_the_size_of_all_parts(tmp_path: Path) -> None:
    parts = write_split_model(tmp_path)
    row = resolve(str(parts[0]), make_places(tmp_path))
    assert row is not None
    assert (
        row.size_bytes
        == sum(part.stat().st_size for part in parts)
        == (read_header(row.path).file_bytes)
    )
    parts[1].unlink()
    row = resolve(str(parts[0]), make_places(tmp_path))
    assert row is not None
    with pytest.raises(BadModelFile, match="is missing: part 2 of the 3"):
        read_header(row.path)


@pytest.mark.proves("L4.resolve")
@pytest.mark.parametrize(
    "name",
    [
        "",
        "nothing",
        "0123456789abcdef",
        "/nowhere/m.gguf",
        "~/m.gguf",
        "m.gguf",
        "~",
        "/a\0b",
        "..",
    ],
)
def test_what_is_not_there_is_none(tmp_path: Path, name: str) -> None:
    assert resolve(name, make_places(tmp_path)) is None


@pytest.mark.proves("L4.resolve")
def test_folder_is_said_to_be_one_by_its_header(tmp_path: Path) -> None:
    row = resolve(str(tmp_path), make_places(tmp_path))
    assert row is not None
    with pytest.raises(BadModelFile, match="is a folder"):
        read_header(row.path)


@pytest.mark.proves("L4.vanished")
def test_file_that_vanishes_after_the_list_is_an_ordinary_refusal(tmp_path: Path) -> None:
    places = make_places(tmp_path)
    home = places.home / ".ollama/models"
    write_ollama_model(home)
    (row,) = find(places).models
    row.path.unlink()
    assert resolve(row.row_id, places) is None
    assert resolve(str(row.path), places) is None
    with pytest.raises(BadModelFile, match="is not there"):
        read_header(row.path)
    shutil.rmtree(home)
    assert find(places).models == ()


@pytest.mark.proves("L4.row_id")
def test_row_id_stays_when_other_files_come_and_go(tmp_path: Path) -> None:
    places = make_places(tmp_path, tmp_path / "models")
    write_tiny_model(tmp_path / "models/m.gguf")
    (before,) = find(places).models
    write_tiny_model(tmp_path / "models/a.gguf", name="a")
    assert resolve(before.row_id, places) == before
    assert resolve(before.row_id, replace(places, folders=())) is None
