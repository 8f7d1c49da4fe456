"""Tells a cancellation that was asked for from one that merely came out of foreign code."""

from __future__ import annotations

import asyncio
import math

import anyio


def is_cancelled() -> bool:
    """True while the running task is being cancelled, by a scope or by asyncio itself."""
    task = asyncio.current_task()
    asked = task is not None and task.cancelling() > 0
    return asked or anyio.current_effective_deadline() == -math.inf
