"""The corpus of bad frames: its lines, what they are made of, and what became of them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from shard_jupyter.errors import CommandError, FrameError
from shard_jupyter.protocol.agent_commands import PermissionResponse
from shard_jupyter.protocol.decode_command import decode_command
from shard_jupyter.protocol.decode_event import decode_event
from shard_jupyter.protocol.framing import FrameDecoder, Record

CORPUS = Path(__file__).parent.parent / "data" / "bad_frames.jsonl"
GOOD = b'{"v":1,"type":"prompt","id":"c1","agent_id":"agent-1","text":"hi"}\n'
CHUNK = 64 * 1024

Line = dict[str, Any]
Item = Record | FrameError


def read_corpus() -> list[Line]:
    return [json.loads(line) for line in CORPUS.read_bytes().split(b"\n") if line]


def select(transport: str, *, generated: bool | None = None) -> list[Line]:
    """Lines of a transport (or of a family, `ws`), in the order of the corpus."""
    return [
        line
        for line in read_corpus()
        if line["transport"].split("-")[0] == transport
        and (generated is None or generated == ("gen" in line))
    ]


def payload(line: Line) -> bytes:
    return base64.b64decode(line["b64"])


def generate(line: Line) -> Iterator[bytes]:
    """The bytes of a generated line in pieces, so that the test itself holds little of them."""
    recipe = line["gen"]
    if recipe.get("kind") == "keys":
        yield from rechunk(_keys(recipe["count"]))
        return
    yield recipe.get("prefix", "").encode()
    unit = recipe["repeat"].encode()
    step = max(1, CHUNK // len(unit))
    left = recipe["count"]
    while left:
        now = min(step, left)
        yield unit * now
        left -= now
    yield recipe.get("suffix", "").encode()


def _keys(count: int) -> Iterator[bytes]:
    yield b'{"v":1,"type":"prompt","id":"c1","agent_id":"a","text":"x"'
    for number in range(count):
        yield b',"k%d":0' % number
    yield b"}\n"


def rechunk(pieces: Iterable[bytes]) -> Iterator[bytes]:
    held = bytearray()
    for piece in pieces:
        held += piece
        if len(held) >= CHUNK:
            yield bytes(held)
            held.clear()
    yield bytes(held)


def feed_bytewise(data: bytes) -> list[Item]:
    decoder = FrameDecoder()
    return [item for at in range(len(data)) for item in decoder.feed(data[at : at + 1])]


def judge(line: Line, item: Item) -> str:
    """What became of one item: accept, reject:CODE by the frame, error:CODE by the command."""
    if isinstance(item, FrameError):
        return f"reject:{item.code}"
    if line.get("direction") == "event":
        decode_event(item)
        return "accept"
    try:
        command = decode_command(item)
    except CommandError as error:
        return f"error:{error.code}"
    return "answer" if isinstance(command, PermissionResponse) else "accept"


def expected(line: Line) -> list[str]:
    """The corpus' `expect` as a list of outcomes; accept:N is N times accept."""
    outcomes: list[str] = []
    for part in line["expect"].split("+"):
        word, _, count = part.partition(":")
        if word == "accept":
            outcomes += ["accept"] * int(count or 1)
        elif word in ("reject", "error"):
            outcomes.append(part)
    return outcomes


def same_refusal(outcome: str, wanted: str) -> bool:
    """The corpus says reject or error for a refused command; only the code is a promise."""
    code = outcome.partition(":")[2]
    return bool(code) and code == wanted.partition(":")[2]
