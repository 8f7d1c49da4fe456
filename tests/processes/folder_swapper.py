"""Swaps a folder and a link, in one step each time: `python folder_swapper.py A B COUNT MICROSECONDS`.

Stands for whatever else writes to the workspace. A pause of random length up to MICROSECONDS lies
between two swaps, so that they meet a call of a tool anywhere. Ends with the folder in its place.
"""

from __future__ import annotations

import ctypes
import os
import random
import sys
import time

AT_FDCWD = -100
RENAME_EXCHANGE = 2


def main(one: str, other: str, count: int, microseconds: int) -> None:
    exchange = ctypes.CDLL(None, use_errno=True).renameat2
    first, second = os.fsencode(one), os.fsencode(other)
    random.seed(7)
    for _ in range(count):
        if exchange(AT_FDCWD, first, AT_FDCWD, second, RENAME_EXCHANGE):
            raise OSError(ctypes.get_errno(), "renameat2")
        end = time.perf_counter() + random.random() * microseconds / 1e6
        while time.perf_counter() < end:
            time.sleep(0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
