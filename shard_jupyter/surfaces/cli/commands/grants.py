"""`shard grants`: what you allowed for longer, and how to take it back."""

from __future__ import annotations

import argparse
import os
import sys

from shard_jupyter.core.permissions.rule_files.rule_places import find_rule_places
from shard_jupyter.surfaces.cli.exit_codes import DONE, FAILED
from shard_jupyter.surfaces.cli.judging.rule_judge import show_rule
from shard_jupyter.surfaces.cli.judging.stored_grants import StoredGrant, StoredGrants
from shard_jupyter.surfaces.cli.output import align_columns, find_width, write_json, write_lines
from shard_jupyter.surfaces.render_static.visible_text import make_visible_line

_HEAD = ("id", "holds for", "given", "what is allowed")


def run_command(arguments: argparse.Namespace) -> int:
    stored = StoredGrants(find_rule_places(os.environ))
    if arguments.action == "revoke":
        _revoke(stored, arguments)
    else:
        _list(stored, arguments)
    for problem in stored.problems:
        sys.stderr.write(f"shard: {make_visible_line(problem)}\n")
    return FAILED if stored.problems else DONE


def _list(stored: StoredGrants, arguments: argparse.Namespace) -> None:
    found = stored.list_all(arguments.session)
    if arguments.json:
        write_json([_show(one) for one in found])
    elif found:
        write_lines(align_columns([_HEAD, *map(_cells, found)], find_width()))
    elif not stored.problems:
        sys.stderr.write("You have allowed nothing for longer than a session.\n")


def _revoke(stored: StoredGrants, arguments: argparse.Namespace) -> None:
    gone = stored.revoke(None if arguments.all else arguments.id, arguments.session)
    if arguments.json:
        write_json([_show(one) for one in gone])
        return
    write_lines(f"Revoked: {make_visible_line(one.words)} ({_say_where(one)})." for one in gone)
    if not gone:
        sys.stderr.write("There was nothing to revoke.\n")


def _show(one: StoredGrant) -> dict[str, object]:
    return {
        "id": one.grant_id,
        "scope": one.scope,
        "where": one.where,
        "session": one.session_id,
        "words": one.words,
        "rule": show_rule(one.rule),
        "given_by": one.given_by,
        "given_at": one.given_at,
    }


def _cells(one: StoredGrant) -> tuple[str, ...]:
    who = one.given_by or "by hand"
    when = one.given_at[:16].replace("T", " ")
    return one.grant_id, _say_where(one), f"{when} {who}".strip(), one.words


def _say_where(one: StoredGrant) -> str:
    if one.scope == "agent":
        return f"session {one.session_id} in {one.where}"
    return f"agents in {one.where}" if one.where else "every project"
