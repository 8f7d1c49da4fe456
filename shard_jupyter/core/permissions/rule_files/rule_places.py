"""Where rule files lie (DESIGN §8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from shard_jupyter.core.config.config_files import find_state_home
from shard_jupyter.errors import ConfigError

ADMIN_FOLDER = Path("/etc/shard/rules")
POLICY_VARIABLE = "SHARD_POLICY"
FOLDER = "rules"
GRANTED = "granted.json"


@dataclass(frozen=True)
class RulePlaces:
    """Absolute paths. Those of the project follow from the workspace.

    Attributes:
        policy: folders of an admin; the last may be one that must exist.
        required_policy: the one of them that was named, and so must exist.
    """

    state_home: Path
    policy: tuple[Path, ...] = (ADMIN_FOLDER,)
    required_policy: Path | None = None

    @property
    def user(self) -> Path:
        return self.state_home / FOLDER

    @property
    def granted(self) -> Path:
        """Where a person's "always" is kept."""
        return self.user / GRANTED


def find_rule_places(environ: Mapping[str, str]) -> RulePlaces:
    """Say where rules lie; looks at none of them.

    Raises:
        ConfigError: SHARD_HOME or SHARD_POLICY is no absolute path.
    """
    state_home = find_state_home(environ)
    named = environ.get(POLICY_VARIABLE, "").strip()
    if not named:
        return RulePlaces(state_home)
    if not Path(named).is_absolute():
        raise ConfigError(
            f"{POLICY_VARIABLE} is not an absolute path: {named!r}.",
            next_step="Set it to a path that starts with a slash, or unset it.",
        )
    return RulePlaces(state_home, (ADMIN_FOLDER, Path(named)), Path(named))
