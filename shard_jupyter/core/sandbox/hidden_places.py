"""What no command may see: our state, keys, and what Jupyter and browsers keep. Pure."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

IN_HOME = (
    ".ssh", ".gnupg", ".aws", ".azure", ".config/gcloud", ".kube", ".docker", ".netrc", "_netrc",
    ".pypirc", ".git-credentials", ".config/git/credentials", ".config/gh", ".config/hub",
    ".config/rclone", ".config/op", ".config/containers", ".password-store", ".local/share/keyrings",
    ".local/share/python_keyring", ".mozilla", ".config/google-chrome", ".config/chromium",
    ".cargo/credentials", ".cargo/credentials.toml", ".npmrc", ".yarnrc.yml", ".gem/credentials",
    ".m2/settings.xml", ".gradle/gradle.properties", ".pgpass", ".my.cnf", ".vault-token",
    ".terraform.d", ".terraformrc", ".s3cfg", ".boto", ".oci", ".databrickscfg", ".snowflake",
    ".cache/huggingface/token", ".huggingface", ".jupyter", ".ipython", ".local/share/jupyter",
    ".bash_history", ".zsh_history", ".python_history", ".lesshst", ".psql_history", ".shard",
    ".config/shard",
)  # fmt: skip
IN_ETC = (
    "shadow", "shadow-", "gshadow", "gshadow-", "sudoers", "sudoers.d", "ssl/private",
    "ssh/ssh_host_rsa_key", "ssh/ssh_host_ecdsa_key", "ssh/ssh_host_ed25519_key",
)  # fmt: skip
"""What only root could read anyway."""
VARIABLES = (
    "SHARD_HOME", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR", "GNUPGHOME",
    "DOCKER_CONFIG", "CLOUDSDK_CONFIG", "AZURE_CONFIG_DIR", "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_CONFIG_FILE", "GOOGLE_APPLICATION_CREDENTIALS", "NETRC", "PGPASSFILE", "NPM_CONFIG_USERCONFIG",
)  # fmt: skip
"""Variables that name such a place; read of our own environment, not of the children's."""


def find_hidden(environ: Mapping[str, str], home: Path, *, is_root: bool) -> tuple[Path, ...]:
    """Name them all, whether they exist or not, by the given and by the real path."""
    named = [home / name for name in IN_HOME]
    named += _named_by_variables(environ)
    if is_root:
        named += [Path("/etc") / name for name in IN_ETC]
    return tuple(dict.fromkeys(path for name in named for path in both_names(name)))


def both_names(path: Path) -> tuple[Path, Path]:
    return path, Path(os.path.realpath(path))


def _named_by_variables(environ: Mapping[str, str]) -> Iterator[Path]:
    for variable in VARIABLES:
        value = environ.get(variable, "")
        if value.startswith("/") and value.strip("/"):
            yield Path(value)
    for name in environ.get("KUBECONFIG", "").split(os.pathsep):
        if name.startswith("/"):
            yield Path(name)
    for variable, names in (("XDG_CONFIG_HOME", ("shard", "gcloud", "gh")),
                            ("XDG_DATA_HOME", ("jupyter", "keyrings"))):  # fmt: skip
        if environ.get(variable, "").startswith("/"):
            yield from (Path(environ[variable]) / name for name in names)
    if environ.get("JUPYTER_DATA_DIR", "").startswith("/"):
        data = Path(environ["JUPYTER_DATA_DIR"])
        yield from (data / name for name in ("runtime", "notebook_secret", "nbsignatures.db"))
