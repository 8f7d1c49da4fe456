"""How an asked request differs from the nearest recorded one. Pure."""

from __future__ import annotations

from difflib import SequenceMatcher, unified_diff
from itertools import takewhile

from shard_jupyter.capabilities.cassettes.canonical import CanonicalRequest, Json, dump
from shard_jupyter.capabilities.cassettes.cassette import Cassette

MOST_LINES = 40
_LONGEST_LINE = 200
_MOST_COMPARED = 500
_MOST_CANDIDATES = 20


def explain_mismatch(cassette: Cassette, asked: CanonicalRequest) -> str:
    """Return a short unified diff, recorded against asked, from the first difference on."""
    if not cassette.answers:
        return "It holds no answer at all."
    system, tools, last = _nearest(cassette, asked)
    recorded = cassette.chain_to(last)
    same = _common(recorded, asked.messages)
    old, new = recorded[same:], asked.messages[same:]
    before = [*_system_lines(cassette.systems.get(system, ""), asked.system, first=True)]
    after = [*_system_lines(cassette.systems.get(system, ""), asked.system, first=False)]
    if cassette.tools.get(tools) != asked.tools:
        before += [f"tool {dump(tool)}" for tool in cassette.tools.get(tools, [])]
        after += [f"tool {dump(tool)}" for tool in asked.tools]
    for message in old:
        before += _message_lines(message)
    for message in new:
        after += _message_lines(message)
    lines = list(unified_diff(before, after, "recorded", "asked", lineterm="", n=2))
    shown = [line[:_LONGEST_LINE] for line in lines[:MOST_LINES]]
    if len(lines) > MOST_LINES:
        shown.append(f"… {len(lines) - MOST_LINES} more lines")
    return "\n".join((_tell_same(same), *shown))


def _tell_same(count: int) -> str:
    if count == 1:
        return "The first message is the same."
    return f"The first {count} messages are the same." if count else "No message is the same."


def _nearest(cassette: Cassette, asked: CanonicalRequest) -> tuple[str, str, str]:
    """Return the key with the longest common start; text decides between those that are equal."""

    def shared(key: tuple[str, str, str]) -> tuple[int, int]:
        same = _common(cassette.chain_to(key[2]), asked.messages)
        return same, sum(a == b for a, b in zip(key[:2], asked.key[:2], strict=True))

    def alike(key: tuple[str, str, str]) -> float:
        recorded = dump(cassette.chain_to(key[2])[most[0] :])[:_MOST_COMPARED]
        wanted = dump(asked.messages[most[0] :])[:_MOST_COMPARED]
        return SequenceMatcher(None, recorded, wanted, autojunk=False).ratio()

    most = max(map(shared, cassette.answers))
    candidates = [key for key in cassette.answers if shared(key) == most]
    return max(candidates[:_MOST_CANDIDATES], key=alike)


def _common(first: list[Json], second: list[Json]) -> int:
    pairs = zip(first, second, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _system_lines(recorded: str, asked: str, *, first: bool) -> list[str]:
    if recorded == asked:
        return []
    return ["system:", *(recorded if first else asked).split("\n")]


def _message_lines(message: Json) -> list[str]:
    lines = [f"{message['role']}:"]
    for block in message["content"]:
        if "text" in block:
            lines += block["text"].split("\n")
        elif "result" in block:
            lines.append(f"result {block['result']} {block['tool']}")
            for part in block["content"]:
                lines += part["text"].split("\n") if "text" in part else [dump(part)]
        else:
            lines.append(dump(block))
    return lines
