"""What the three message shapes share: ids on the wire, images, texts. Pure but for `load_images`."""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Iterable, Iterator, Mapping

import anyio.to_thread

from shard_jupyter.contracts.tool_context import BlobStore
from shard_jupyter.errors import StorageError
from shard_jupyter.types.content import ImageBlock, TextBlock, ToolResultBlock
from shard_jupyter.types.messages import Message
from shard_jupyter.types.wire_model import WireModel

Images = Mapping[str, str]
"""Base64 text by SHA-256, of those images that could be read."""


def wire_ids(messages: Iterable[Message], allowed: re.Pattern[str]) -> dict[str, str]:
    """Give each call the id that the vendor knows it by, or ours.

    Ours is used where the vendor's would be ambiguous (some servers give every call one id) or
    is not of a form that this protocol takes (the model was switched in between).
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    for message in messages:
        name_calls(message, allowed, names, taken)
    return names


def name_calls(
    message: Message, allowed: re.Pattern[str], names: dict[str, str], taken: set[str]
) -> None:
    """Add the ids of one more message to `names` and `taken`; see `wire_ids`."""
    for call in message.tool_calls:
        vendor_id = call.vendor_id
        usable = bool(allowed.fullmatch(vendor_id)) and vendor_id not in taken
        names[call.call_id] = vendor_id if usable else call.call_id
        taken.add(names[call.call_id])


def images_of(message: Message) -> Iterator[ImageBlock]:
    for block in message.content:
        if isinstance(block, ImageBlock):
            yield block
        elif isinstance(block, ToolResultBlock):
            yield from (part for part in block.content if isinstance(part, ImageBlock))


async def load_images(wanted: Collection[str], blobs: BlobStore | None) -> dict[str, str]:
    """Read and encode images, named by hash. One that cannot be read is left out, not fatal."""
    images: dict[str, str] = {}
    for sha256 in sorted(wanted) if blobs is not None else ():
        try:
            data = await blobs.get(sha256) if blobs is not None else b""
        except StorageError:
            continue  # the model is told in words; else one lost file would end the session
        encoded = await anyio.to_thread.run_sync(base64.b64encode, data)
        images[sha256] = encoded.decode("ascii")
    return images


def data_url(image: ImageBlock, images: Images) -> str | None:
    encoded = images.get(image.sha256)
    return None if encoded is None else f"data:{image.media_type};base64,{encoded}"


def absent_image(image: ImageBlock) -> str:
    return f"[An image ({image.media_type}, {image.size_bytes} bytes) that is not available.]"


def joined_text(parts: Iterable[WireModel]) -> str:
    """The text blocks among `parts`, a line break between them."""
    return "\n".join(part.text for part in parts if isinstance(part, TextBlock))
