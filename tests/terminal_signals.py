"""For programs that tests start: signals as a terminal has them.

Whoever starts the tests in the background, or by nohup, has some of them ignored, and a child
inherits that.
"""

from __future__ import annotations

import signal


def obey_signals() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
