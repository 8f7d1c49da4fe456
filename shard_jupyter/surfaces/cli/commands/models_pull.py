"""`shard models pull`: say what would be fetched, ask, fetch, and say what comes next."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import anyio

from shard_jupyter.capabilities.local_models.catalog.catalog_model import DEFAULT_MODEL
from shard_jupyter.capabilities.local_models.catalog.pull_model import pull_model, refuse_network
from shard_jupyter.capabilities.local_models.catalog.pull_plan import PullPlan, plan_pull
from shard_jupyter.capabilities.local_models.catalog.pull_sources import (
    PullSources,
    read_pull_sources,
)
from shard_jupyter.capabilities.local_models.found.find_models import find_models
from shard_jupyter.capabilities.local_models.model_places import ModelPlaces
from shard_jupyter.core.config.load_settings import load_settings
from shard_jupyter.core.config.settings import Settings
from shard_jupyter.surfaces.cli.exit_codes import DENIED, DONE
from shard_jupyter.surfaces.cli.fetching.named_model import find_named_model
from shard_jupyter.surfaces.cli.fetching.pull_view import PullView
from shard_jupyter.surfaces.cli.fetching.yes_or_no import ask_yes
from shard_jupyter.surfaces.cli.output import write_json, write_lines
from shard_jupyter.surfaces.render_static.visible_text import make_visible_line
from shard_jupyter.surfaces.sdk.local_places import find_model_places


def pull_named(arguments: argparse.Namespace) -> int:
    model = find_named_model(arguments.name or DEFAULT_MODEL.name)
    settings = load_settings(os.environ, Path.cwd()).settings
    places = find_model_places(settings, os.environ)
    sources = gather_sources(settings, places, os.environ)
    plan = plan_pull(model, places, sources)
    if plan.action == "download" and settings.network == "local":
        raise refuse_network(model)
    if plan.action != "present":
        _tell_err("\n".join(map(make_visible_line, plan.tell())))
        if not arguments.yes and not ask_yes("Fetch it?"):
            _tell_err("Nothing was fetched.")
            return DENIED
        fetch(plan, places, sources)
    _tell_end(plan, as_json=arguments.json)
    return DONE


def gather_sources(
    settings: Settings, places: ModelPlaces, environ: Mapping[str, str]
) -> PullSources:
    """Find what may be copied, the hub and the package indexes. Reads files, asks no network."""
    # Our own folder is looked at by the plan itself.
    found = [row.path for row in find_models(places).models if row.store != "shard"]
    return read_pull_sources(environ, candidates=found, network=settings.network)


def fetch(plan: PullPlan, places: ModelPlaces, sources: PullSources) -> Path:
    """Fetch it, and show how far it is. Ctrl-C keeps what has come, and says so.

    Raises:
        ShardError: as `pull_model`.
    """
    view = PullView()
    pull = partial(pull_model, plan.model, places, tell=view.tell, sources=sources)
    try:
        return anyio.run(pull)
    except KeyboardInterrupt:
        view.close()
        _tell_err("Stopped. What has come is kept; the same command goes on from there.")
        raise
    finally:
        view.close()


def _tell_end(plan: PullPlan, *, as_json: bool) -> None:
    model = plan.model
    if as_json:
        write_json(
            {
                "model_id": model.model_id,
                "path": str(plan.path),
                "size_bytes": model.size_bytes,
                "sha256": model.sha256,
                "licence": model.licence,
                "was_here": plan.action == "present",
            }
        )
        return
    verb = "is here already" if plan.action == "present" else "is here"
    write_lines(
        [
            make_visible_line(f"{model.model_id} {verb}: {plan.path}"),
            f'Use it: shard run --model {model.model_id} "..."',
        ]
    )


def _tell_err(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
