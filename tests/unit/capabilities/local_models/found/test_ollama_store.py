"""Models of Ollama are found by the names that Ollama shows, or the note says why not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shard_jupyter.capabilities.local_models.found.ollama_store import name_model, parse_manifest
from tests.fakes.gguf_file import tiny_llama, write_projector
from tests.fakes.model_stores import (
    OLLAMA_LAYER,
    write_ollama_blob,
    write_ollama_manifest,
    write_ollama_model,
)
from tests.unit.capabilities.local_models.found.finding import find, make_places, titles

pytestmark = pytest.mark.proves("C10", "L4.ollama")
NAME = "registry.ollama.ai/library/qwen2.5-coder/0.5b"


def test_model_is_found_with_its_name_and_blob(tmp_path: Path) -> None:
    places = make_places(tmp_path)
    blob = write_ollama_model(places.home / ".ollama/models", NAME)
    found = find(places)
    (row,) = found.models
    assert (row.store, row.title, row.path) == ("ollama", "qwen2.5-coder:0.5b", blob)
    assert (row.size_bytes, row.catalog_name, row.projector) == (blob.stat().st_size, "", None)
    assert found.notes == ()


def test_folder_of_the_environment_takes_the_place_of_the_usual_one(tmp_path: Path) -> None:
    places = make_places(tmp_path, OLLAMA_MODELS=str(tmp_path / "elsewhere"))
    write_ollama_model(tmp_path / "elsewhere", NAME)
    write_ollama_model(places.home / ".ollama/models", "registry.ollama.ai/library/old/latest")
    assert titles(find(places)) == [("ollama", "qwen2.5-coder:0.5b")]


def test_models_of_the_service_are_found_too(tmp_path: Path) -> None:
    write_ollama_model(tmp_path / "system-ollama", NAME)
    assert titles(find(make_places(tmp_path))) == [("ollama", "qwen2.5-coder:0.5b")]


def test_folder_that_cannot_be_read_is_a_note(tmp_path: Path) -> None:
    (tmp_path / "system-ollama").symlink_to("system-ollama")
    found = find(make_places(tmp_path))
    assert found.models == ()
    (note,) = found.notes
    assert note.startswith("Ollama: ")
    assert "system-ollama/manifests cannot be read" in note


def test_two_names_of_one_blob_are_one_row(tmp_path: Path) -> None:
    home = make_places(tmp_path).home / ".ollama/models"
    write_ollama_model(home, "registry.ollama.ai/library/tiny/latest")
    write_ollama_model(home, "registry.ollama.ai/library/tiny/1b")
    assert titles(find(make_places(tmp_path))) == [("ollama", "tiny:1b")]


def test_projector_comes_from_the_manifest(tmp_path: Path) -> None:
    home = make_places(tmp_path).home / ".ollama/models"
    model = write_ollama_blob(home, tiny_llama().to_bytes())
    data = write_projector(tmp_path / "p.gguf").read_bytes()
    projector = write_ollama_blob(home, data)
    layers = [
        {"mediaType": f"{OLLAMA_LAYER}model", **model},
        {"mediaType": f"{OLLAMA_LAYER}projector", **projector},
    ]
    write_ollama_manifest(home, NAME, layers)
    (row,) = find(make_places(tmp_path)).models
    assert row.projector == home / "blobs" / projector["digest"].replace(":", "-")


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        (["tensor", "tensor", "json"], "is kept in pieces"),
        (["model", "model"], "has no model file on this machine"),
        ([], "has no model file on this machine"),
    ],
)
def test_model_that_is_not_one_file_is_a_note(tmp_path: Path, kinds: list[str], words: str) -> None:
    home = make_places(tmp_path).home / ".ollama/models"
    blob = write_ollama_blob(home, tiny_llama().to_bytes())
    layers = [{"mediaType": OLLAMA_LAYER + kind, **blob} for kind in kinds]
    write_ollama_manifest(home, NAME, layers)
    found = find(make_places(tmp_path))
    assert found.models == ()
    (note,) = found.notes
    assert note.startswith(f"Ollama: qwen2.5-coder:0.5b {words}")


def test_blob_of_another_size_is_a_note(tmp_path: Path) -> None:
    blob = write_ollama_model(make_places(tmp_path).home / ".ollama/models", NAME)
    whole = blob.stat().st_size
    os.truncate(blob, 100)
    found = find(make_places(tmp_path))
    assert found.models == ()
    assert found.notes == (f"Ollama: qwen2.5-coder:0.5b is not complete: 100 of {whole} bytes.",)


def test_blob_that_is_gone_is_a_note(tmp_path: Path) -> None:
    write_ollama_model(make_places(tmp_path).home / ".ollama/models", NAME).unlink()
    found = find(make_places(tmp_path))
    assert found.models == ()
    assert found.notes == ("Ollama: qwen2.5-coder:0.5b is listed, and its file is not there.",)


def test_blob_that_is_no_gguf_file_is_a_note(tmp_path: Path) -> None:
    write_ollama_model(make_places(tmp_path).home / ".ollama/models", NAME, b"<html>" * 10)
    found = find(make_places(tmp_path))
    assert found.models == ()
    assert "is no GGUF file" in found.notes[0]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[" * 100_000,
        b"\xff\xfe{}",
        b"[]",
        b"{}",
        b'{"schemaVersion": 3, "layers": []}',
        b'{"schemaVersion": 2, "layers": {}}',
        b'{"schemaVersion": 2, "layers": [1]}',
        b'{"schemaVersion": 2, "layers": [{"mediaType": 1, "digest": "x", "size": 1}]}',
        b'{"schemaVersion": 2, "layers": [{"mediaType": "x", "digest": "sha256:../..", "size": 1}]}',
        b'{"schemaVersion": 2, "layers": [{"mediaType": "x", "digest": "sha256:", "size": 1}]}',
    ],
)
def test_manifest_of_an_unknown_form_is_a_note(tmp_path: Path, data: bytes) -> None:
    home = make_places(tmp_path).home / ".ollama/models"
    assert parse_manifest(data) is None
    write_ollama_manifest(home, NAME, []).write_bytes(data)
    write_ollama_model(home, "registry.ollama.ai/library/tiny/latest")
    found = find(make_places(tmp_path))
    assert titles(found) == [("ollama", "tiny:latest")]
    assert found.notes == ("Ollama: qwen2.5-coder:0.5b has a manifest of an unknown form.",)


def test_odd_things_among_the_manifests_do_no_harm(tmp_path: Path) -> None:
    home = make_places(tmp_path).home / ".ollama/models"
    write_ollama_model(home, "registry.ollama.ai/library/tiny/latest")
    folder = home / "manifests/registry.ollama.ai/library/tiny"
    (folder / ".DS_Store").write_bytes(b"x")
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "dangling").symlink_to("nowhere")
    (folder / "huge").touch()
    os.truncate(folder / "huge", 1 << 30)
    (home / "manifests/file").write_bytes(b"x")
    found = find(make_places(tmp_path))
    assert titles(found) == [("ollama", "tiny:latest")]
    assert [note.rpartition("/")[2] for note in found.notes] == [
        "folder is not what it should be.",
        "huge is not what it should be.",
        "pipe is not what it should be.",
    ]


def test_link_to_a_folder_on_another_disk_is_followed(tmp_path: Path) -> None:
    blob = write_ollama_model(tmp_path / "disk")
    home = make_places(tmp_path).home
    (home / ".ollama").mkdir()
    (home / ".ollama/models").symlink_to(tmp_path / "disk")
    (row,) = find(make_places(tmp_path)).models
    assert row.path == blob


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        (("registry.ollama.ai", "library", "qwen3", "0.6b"), "qwen3:0.6b"),
        (("registry.ollama.ai", "someone", "qwen3", "latest"), "someone/qwen3:latest"),
        (("hf.co", "org", "repo-GGUF", "Q4_K_M"), "hf.co/org/repo-GGUF:Q4_K_M"),
    ],
)
def test_names_are_those_of_ollama(parts: tuple[str, str, str, str], name: str) -> None:
    assert name_model(*parts) == name
