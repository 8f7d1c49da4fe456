"""Real bash that runs nothing: every program and builtin is written down instead.

All builtins but `cd` are switched off and PATH is empty, so that bash hands every command, as it
has read it, to `command_not_found_handle`. That runs in a process of its own, where it may switch
`printf` on again to write the arguments down. It writes line by line, and those of two stages of a
pipeline would mix, so that a control character, which no text has, stands for the end of a line.
What has a slash in its name is really started.
"""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

PRELUDE = """\
command_not_found_handle() {
  enable printf
  printf '%s\\0' "$#" "${@//$'\\n'/$'\\1'}" >>"$RECORD"
  [[ $STUB_STATUS == 0 ]]
}
enable -n """


class BashRecorder:
    """Runs texts in `workspace`; `place` is a folder of its own."""

    def __init__(self, workspace: Path, place: Path) -> None:
        self._workspace = workspace
        self._prelude = place / "prelude.sh"
        builtins = subprocess.check_output(["/bin/bash", "-c", "compgen -b"], encoding="utf-8")
        off = " ".join(name for name in builtins.split() if name not in ("cd", "enable"))
        self._prelude.write_text(f"{PRELUDE}{off}\n", encoding="utf-8")
        self._place = place
        self._runs = 0

    def run(self, text: str, status: int = 0) -> list[tuple[str, ...]]:
        """Give the arguments of every command that bash ran, in the order of their end.

        `status` is what each command returns.
        """
        # A new file each time: to cut one short and write it again waits for the disk.
        self._runs += 1
        record = self._place / f"record-{self._runs}"
        bash = subprocess.Popen(
            ["/bin/bash", "-c", text],
            cwd=self._workspace,
            env=self._environment(record, status),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            bash.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(bash.pid, signal.SIGKILL)
            bash.wait()
            raise
        if not record.exists():
            return []
        data = record.read_bytes()
        record.unlink()
        return _read_records(data)

    def _environment(self, record: Path, status: int) -> dict[str, str]:
        return {
            "PATH": str(self._place / "nothing"),
            "BASH_ENV": str(self._prelude),
            "RECORD": str(record),
            "STUB_STATUS": str(status),
            "LC_ALL": "C.UTF-8",
        }


def _read_records(data: bytes) -> list[tuple[str, ...]]:
    data = data.replace(b"\x01", b"\n")
    fields = [field.decode("utf-8", "surrogateescape") for field in data.split(b"\0")[:-1]]
    records: list[tuple[str, ...]] = []
    at = 0
    while at < len(fields):
        count = int(fields[at])
        records.append(tuple(fields[at + 1 : at + 1 + count]))
        at += 1 + count
    return records
