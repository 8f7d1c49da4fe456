"""Fixtures of this folder: the mock model server, and a worker that talks to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shard_jupyter.surfaces.transports.worker import Worker
from tests.child_watch import assert_no_new_child, children
from tests.fakes.model_server import MockModel, mock_model, model_server
from tests.worker_rig import WorkerRig, plain_environ, running_worker

__all__ = ["mock_model", "model_server"]


@pytest.fixture(scope="module")
def shared_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """One process for a module's tests. When they are over nothing of it may be left."""
    before = children()
    with running_worker(tmp_path_factory.mktemp("worker")) as worker:
        yield worker
    assert_no_new_child(before)


@pytest.fixture
def rig(shared_worker: Worker, tmp_path: Path, mock_model: MockModel) -> Iterator[WorkerRig]:
    """A project and a state of its own in a shared worker, without agents."""
    made = WorkerRig(shared_worker, tmp_path, mock_model.url)
    yield made
    made.kill_agents()


@pytest.fixture
def own_rig(tmp_path: Path, mock_model: MockModel) -> Iterator[WorkerRig]:
    """A worker that the test may end as it likes. Nothing of it may be left."""
    before = children()
    worker = Worker.start(client="test", environ=plain_environ(tmp_path))
    yield WorkerRig(worker, tmp_path, mock_model.url)
    worker.close()
    assert_no_new_child(before)


@pytest.fixture
def nothing_left() -> Iterator[None]:
    """What the test starts is gone when it ends."""
    before = children()
    yield
    assert_no_new_child(before)
