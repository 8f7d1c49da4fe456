"""`shard run`: one prompt, to its end, with an exit code that says whether the work was done."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import anyio

from shard_jupyter.core.config.config_files import find_state_home
from shard_jupyter.core.permissions.approval_facts import rule_in_words
from shard_jupyter.store.session_index import list_sessions
from shard_jupyter.surfaces.cli.run_request import RunRequest, read_request
from shard_jupyter.surfaces.cli.run_turn import AskPerson, MakeAgent, run_turn
from shard_jupyter.surfaces.cli.run_view import JsonView, RunView
from shard_jupyter.surfaces.conversation.palette import choose_palette
from shard_jupyter.surfaces.conversation.person_view import PersonView
from shard_jupyter.surfaces.sdk.approvals import ApprovalAnswer
from shard_jupyter.surfaces.sdk.shard import Shard
from shard_jupyter.types.events import PermissionRequest


def run_command(arguments: argparse.Namespace) -> int:
    request = read_request(
        arguments,
        sys.stdin.buffer,
        on_terminal=sys.stdin.isatty() and sys.stderr.isatty(),
        find_last_session=find_last_session,
    )
    if request.ask == "yes":
        sys.stderr.write(
            "shard: --ask yes: whatever no deny rule forbids runs without a question.\n"
        )
    return anyio.run(run_turn, request, _make_view(request), _agent_maker(request), rule_in_words)


def find_last_session(cwd: Path) -> str | None:
    """Return the id of the session of `cwd` that was used last."""
    summaries = anyio.run(list_sessions, find_state_home(os.environ) / "sessions")
    return next((found.session_id for found in summaries if found.cwd == str(cwd)), None)


def _make_view(request: RunRequest) -> RunView:
    if request.as_json:
        return JsonView(sys.stdout.buffer, sys.stderr)
    return PersonView(sys.stdout, sys.stderr, choose_palette(sys.stdout, os.environ))


def _agent_maker(request: RunRequest) -> MakeAgent:
    def make(ask: AskPerson) -> Shard:
        asks_here = request.ask == "inline" or (request.ask is None and request.on_terminal)

        async def answer(question: PermissionRequest) -> ApprovalAnswer:
            reply = await ask(question)
            return ApprovalAnswer(
                decision=reply.decision,
                note=reply.note,
                rule=reply.rule,
                keep=reply.keep,
                arguments=reply.arguments,
            )

        return Shard(
            cwd=request.cwd,
            model=request.model,
            mode=request.mode,
            ask=request.ask,
            on_approval=answer if asks_here else None,
            session=request.session,
            budget=request.budget,
            record=request.record,
            trust_project=request.trust_project,
            overrides={"sandbox": request.sandbox} if request.sandbox else None,
        )

    return make
