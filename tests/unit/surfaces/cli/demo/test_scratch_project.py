"""The scratch folder, from a clone and from an installed wheel."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from shard_jupyter.errors import StorageError
from shard_jupyter.surfaces.cli.demo.scratch_project import make_scratch
from tests.notebook_scripts import NOTEBOOKS

pytestmark = pytest.mark.proves("D12")
FILES = ["01_quickstart.ipynb", "sales/README.md", "sales/check_report.py", "sales/report.py",
         "sales/sales.csv"]  # fmt: skip
MAKE = """
import sys
from pathlib import Path
from shard_jupyter.surfaces.cli.demo.scratch_project import make_scratch
print(make_scratch(Path(sys.argv[1])))
"""
EDITABLE = "import sys; from hatchling.build import build_editable; build_editable(sys.argv[1])"


def files_of(folder: Path) -> list[str]:
    found = [path for path in folder.rglob("*") if path.is_file()]
    return sorted(path.relative_to(folder).as_posix() for path in found)


def check_copy(notebook: Path) -> None:
    assert notebook.parent.name.startswith("shard-demo-")
    assert files_of(notebook.parent) == FILES
    for name in FILES:
        assert (notebook.parent / name).read_bytes() == (NOTEBOOKS / name).read_bytes()


def test_each_time_it_is_a_fresh_folder(tmp_path: Path) -> None:
    parent = tmp_path / "not/there/yet"
    first, second = make_scratch(parent), make_scratch(parent)
    assert first != second
    check_copy(first)
    check_copy(second)


def test_without_a_folder_it_is_the_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert make_scratch(None).parent.parent == tmp_path.resolve()


def test_a_folder_that_cannot_be_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="shard demo --folder DIR"):
        make_scratch(tmp_path / "file")


def test_an_installed_wheel_has_the_files(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=NOTEBOOKS.parent, check=True, capture_output=True, timeout=50)
    (wheel,) = tmp_path.glob("*.whl")
    installed = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    done = subprocess.run(
        [sys.executable, "-c", MAKE, tmp_path / "demo"],
        env={**os.environ, "PYTHONPATH": str(installed)},
        cwd=tmp_path,
        check=True,
        capture_output=True,
        timeout=50,
    )
    check_copy(Path(done.stdout.decode().rstrip("\n")))


def test_an_editable_install_consists_of_the_clone_alone(tmp_path: Path) -> None:
    build = [sys.executable, "-c", EDITABLE, str(tmp_path)]
    subprocess.run(build, cwd=NOTEBOOKS.parent, check=True, capture_output=True, timeout=50)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" not in name]
        assert [name.endswith(".pth") for name in names] == [True]
        assert archive.read(names[0]).decode() == str(NOTEBOOKS.parent)
