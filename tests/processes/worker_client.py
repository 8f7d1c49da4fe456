"""A program that has a worker with a turn at work in it; then it ends as it is told.

python -m tests.processes.worker_client FOLDER URL WAY
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from shard_jupyter.surfaces.transports.worker import Worker
from tests.worker_rig import WorkerRig, plain_environ, shell, wait_for

TOOL = "trap '' TERM; echo $$ > PID.tmp; mv PID.tmp PID; while :; do sleep 1; done"


def main() -> None:
    folder, url, way = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    worker = Worker.start(client="test", environ=plain_environ(folder))
    rig = WorkerRig(worker, folder, url)
    agent = rig.create()
    rig.prompt(agent, shell(TOOL))
    wait_for((rig.project / "PID").exists, "the tool runs")
    if way == "held":  # a program that was started later still holds our end of the socket
        held = worker.connection._sock.fileno()
        holder = subprocess.Popen(["sleep", "60"], pass_fds=(held,), start_new_session=True)
        print(f"holder {holder.pid}", flush=True)
    if way == "forked" and os.fork() == 0:
        signal.pause()
    print(f"worker {worker.pid}", flush=True)
    if way in ("held", "waits", "forked"):
        signal.pause()
    elif way == "raises":
        raise SystemExit(3)


if __name__ == "__main__":
    main()
