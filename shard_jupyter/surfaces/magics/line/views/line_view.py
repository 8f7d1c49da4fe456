"""What a `%shard` command returns: data for Python, and something to read for a person."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Mapping

from shard_jupyter.surfaces.render_static.html import render_all_html
from shard_jupyter.surfaces.render_static.markdown import render_all_markdown
from shard_jupyter.surfaces.render_static.plain import render_plain
from shard_jupyter.types.render_descriptors import RenderDescriptor


class LineView(ABC):
    """Subclasses are frozen dataclasses with `repr=False`: `repr` gives what a terminal shows."""

    @abstractmethod
    def describe(self) -> tuple[RenderDescriptor, ...]:
        """Say what is shown, top to bottom."""

    def __repr__(self) -> str:
        return str(self.bundle()["text/plain"])

    def _repr_mimebundle_(
        self, include: Container[str] | None = None, exclude: Container[str] | None = None
    ) -> Mapping[str, object]:
        """Give every form; whoever displays it chooses."""
        del include, exclude
        return self.bundle()

    def bundle(self) -> Mapping[str, object]:
        """Return the same content by MIME type."""
        descriptors = self.describe()
        return {
            "text/plain": "\n\n".join(map(render_plain, descriptors)),
            "text/markdown": render_all_markdown(descriptors),
            "text/html": render_all_html(descriptors),
        }
