from __future__ import annotations

import re

import pytest
import tree_sitter
import tree_sitter_bash

from shard_jupyter.core.permissions.shell.parsing import syntax_tree

pytestmark = pytest.mark.proves("A06", "T44")


def test_every_named_node_of_the_grammar_is_known_and_all_else_is_refused() -> None:
    language = tree_sitter.Language(tree_sitter_bash.language())
    named = {
        language.node_kind_for_id(number)
        for number in range(language.node_kind_count)
        if language.node_kind_is_named(number) and language.node_kind_is_visible(number)
    }
    known = (
        syntax_tree.PARTS_OF_COMMANDS
        | syntax_tree.PARTS_OF_WORDS
        | set(syntax_tree.REFUSED)
        | syntax_tree.NEVER_REACHED
    )
    assert {kind for kind in named if kind} <= known


def test_no_sign_that_is_let_through_is_the_name_of_a_refused_node() -> None:
    let_through = syntax_tree.PARTS_OF_COMMANDS | syntax_tree.WORDS | syntax_tree.SIGNS
    assert let_through.isdisjoint(syntax_tree.REFUSED)
    assert let_through.isdisjoint(syntax_tree.NEVER_REACHED)
    assert all(re.fullmatch(r"[^A-Za-z0-9$`~]*|-[ao]|\$", sign) for sign in syntax_tree.SIGNS)
