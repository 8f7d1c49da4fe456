"""Which mode and model a run gets: as asked for, as the session was used last, or as configured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from shard_jupyter.capabilities.cassettes.replay import read_cassette
from shard_jupyter.core.config.settings import Settings
from shard_jupyter.core.extensions.host import ExtensionSnapshot
from shard_jupyter.core.lineage.last_choices import LastChoices
from shard_jupyter.core.modes.controller import ModeController
from shard_jupyter.core.providers.router import Router
from shard_jupyter.errors import UnknownModel, UserError
from shard_jupyter.surfaces.sdk.default_model import DefaultModel
from shard_jupyter.surfaces.sdk.who_decides import plays_cassette


@dataclass(frozen=True)
class Remark:
    """What a person should know of a choice: a notice before the turn."""

    message: str
    code: str = "restored"
    tone: Literal["info", "warn"] = "warn"


Told = tuple[Remark, ...]


def choose_mode(
    asked: str | None, last: LastChoices, settings: Settings, snapshot: ExtensionSnapshot
) -> tuple[str, Told]:
    """Choose the mode; that of `last` counts where there is one.

    Raises:
        UnknownMode: there is no such mode. That of a session may be gone, and is then told.
    """
    wanted = asked or settings.mode
    told: Told = ()
    if last.mode in snapshot.modes:
        wanted = last.mode
    elif last.mode:
        gone = f"The session was in mode {last.mode!r}, which does not exist any more."
        told = (Remark(f"{gone} It goes on in {wanted!r}."),)
    return ModeController(snapshot.modes, wanted).current.name, told


def choose_model(
    asked: str | None,
    last: LastChoices,
    settings: Settings,
    router: Router,
    default: DefaultModel,
    seen_from: Path,
) -> tuple[str, Told]:
    """Choose the model; that of `last` counts where there is one. Reads a cassette.

    `seen_from` is the folder that the path of a cassette is relative to. `default` is looked at
    only where nothing else says which.

    Raises:
        UserError: it cannot be used. That of a session is then replaced by the configured one, if
            there is one, and this is told.
    """
    if not last.model:
        wanted = asked or settings.model
        if not wanted:
            return _take_default(router, default)
        return check_model(wanted, router), ()
    try:
        check_model(last.model, router)
        if plays_cassette(last.model):
            read_cassette(seen_from / last.model.partition(":")[2])
    except UserError as error:
        if not settings.model:
            raise
        told = f"The session was used with {last.model!r}, which cannot be used now."
        told = f"{told} {error.message} It goes on with {settings.model!r}."
        return check_model(settings.model, router), (Remark(told),)
    return last.model, ()


def _take_default(router: Router, default: DefaultModel) -> tuple[str, Told]:
    model_id = default.find(router)
    if model_id is None:
        raise UnknownModel("No model is chosen.", next_step=default.say_what_helps())
    told = f"No model is chosen and no key is set: {model_id} is used."
    return check_model(model_id, router), (Remark(told, code="default_model", tone="info"),)


def check_model(model_id: str, router: Router) -> str:
    """Refuse a model that cannot answer.

    Raises:
        UnknownModel: there is none of that name.
        UserError: something is missing; see `Router.check`.
    """
    router.check(model_id)
    return model_id
