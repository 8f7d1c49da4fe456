"""Surroundings for tools in tests: a real workspace, real processes, real locks, blobs in files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

from shard_jupyter.contracts.tool import Tool
from shard_jupyter.contracts.tool_context import ToolContext
from shard_jupyter.core.children.child_environment import child_environment
from shard_jupyter.core.files.file_locks import FileLocks
from shard_jupyter.core.processes import SystemProcessRunner
from shard_jupyter.core.tools import builtin_tools
from shard_jupyter.types.content import ImageBlock, TextBlock
from shard_jupyter.types.tool_results import ToolResult


class FolderBlobs:
    """Bytes by hash in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def put(self, data: bytes, media_type: str) -> ImageBlock:
        digest = hashlib.sha256(data).hexdigest()
        await anyio.Path(self.folder / digest).write_bytes(data)
        return ImageBlock(media_type=media_type, sha256=digest, size_bytes=len(data))

    async def get(self, sha256: str) -> bytes:
        return await anyio.Path(self.folder / sha256).read_bytes()


@dataclass
class ToolRig:
    """One workspace; `cwd` is what the tools see, `scratch` and `blobs` lie beside it."""

    cwd: Path
    context: ToolContext
    reported: list[str] = field(default_factory=list)

    async def call(self, name: str, **arguments: Any) -> ToolResult:
        """Parse and run, as the turn loop does after the gate."""
        tool = tool_of(name)
        return await tool.execute(tool.parse(arguments), self.context)

    def write(self, name: str, data: bytes | str) -> Path:
        path = self.cwd / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path


def tool_of(name: str) -> Tool:
    return next(tool for tool in builtin_tools() if tool.spec.name == name)


def text_of(result: ToolResult) -> str:
    return "".join(part.text for part in result.content if isinstance(part, TextBlock))


def make_rig(
    folder: Path, environment: Mapping[str, str] | None = None, output_limit_bytes: int = 32_768
) -> ToolRig:
    folder = folder.resolve()
    for name in ("ws", "scratch", "blobs"):
        (folder / name).mkdir(exist_ok=True)
    reported: list[str] = []
    context = ToolContext(
        agent_id="agent-1",
        turn_id="turn-1",
        call_id="call-1",
        cwd=folder / "ws",
        environment=child_environment(os.environ if environment is None else environment),
        processes=SystemProcessRunner(),
        locks=FileLocks(),
        blobs=FolderBlobs(folder / "blobs"),
        scratch=folder / "scratch",
        report=reported.append,
        output_limit_bytes=output_limit_bytes,
    )
    return ToolRig(folder / "ws", context, reported)
