"""Who answers when a cell asks for a line of input."""

from __future__ import annotations

from typing import Protocol


class Answers(Protocol):
    """Asked one question after another, never two at once."""

    @property
    def has_person(self) -> bool:
        """Whether cells may ask at all; it is told to the kernel with each of them."""
        ...

    async def answer(self, prompt: str, *, is_password: bool) -> str | None:
        """Show the prompt and return the line, without its end; None: there is no more input.

        Cancelled when the answer is not needed any more.
        """
        ...


class Nobody:
    """Cells run as in CI: `input` raises in them, and rules decide what an agent may do."""

    @property
    def has_person(self) -> bool:
        return False

    async def answer(self, prompt: str, *, is_password: bool) -> str | None:
        del prompt, is_password
        return None
