"""A shell text to commands whose every word is known, or to a reason in words.

Two readers that know nothing of each other must cut the text into the same tokens: our own, which
follows bash, and the grammar of tree-sitter. Only then is it understood.
"""

from __future__ import annotations

from functools import lru_cache

from shard_jupyter.core.permissions.shell.parsed_command import CommandList, NotUnderstood
from shard_jupyter.core.permissions.shell.parsing.here_documents import take_here_documents
from shard_jupyter.core.permissions.shell.parsing.read_commands import CommandReader
from shard_jupyter.core.permissions.shell.parsing.read_word import NotPlain, NotValid
from shard_jupyter.core.permissions.shell.parsing.syntax_tree import find_spans
from shard_jupyter.core.permissions.shell.parsing.tokens import read_tokens
from shard_jupyter.core.permissions.shell.pregate import refuse_text


@lru_cache(maxsize=256)
def parse_command(text: str) -> CommandList | NotUnderstood:
    """Understand `text` whole, or not at all. Looks at nothing but the text; never raises."""
    reason = refuse_text(text)
    if reason:
        return NotUnderstood(reason)
    try:
        return _parse(text)
    except NotPlain as error:
        return NotUnderstood(str(error))


def _parse(text: str) -> CommandList:
    marked, bodies = take_here_documents(text)
    try:
        spans = find_spans(marked)
    except NotValid:
        # Our own reader may be able to say what is wrong.
        CommandReader(read_tokens(marked), bodies).read()
        raise
    tokens = read_tokens(marked)
    if spans != [token.span for token in tokens if token.kind != "line"]:
        raise NotPlain("where its words end can be read in two ways")
    return CommandReader(tokens, bodies).read()
