"""Names of files that programs run or obey by themselves, and of files that hold keys.

Protected: changing it takes a person each time, whatever broad rule or mode allows writing. These
are start-up files, settings that name programs to run, instructions for agents, and the few build
files that decide what a harmless-looking command (`make`, `npm test`, `pytest`) starts. What is
only run because somebody names it (a script, a module, a test) is an ordinary file.

Secret: reading it takes a person too.

All comparisons are of folded names, see `fold_name`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from fnmatch import translate
from itertools import pairwise

PROTECTED_FOLDERS = frozenset(
    {
        # version control and what it runs
        ".git", ".hg", ".svn", ".jj", ".githooks", ".husky", ".github", ".gitlab", ".gitea",
        ".forgejo", ".circleci", ".buildkite", ".woodpecker",
        # agents
        ".shard", ".agents", ".claude", ".codex", ".cursor", ".gemini", ".copilot", ".windsurf",
        ".continue", ".amazonq", ".kiro", ".roo", ".cline", ".clinerules", ".opencode", ".qwen",
        ".crush", ".goose", ".trae", ".junie", ".augment", ".factory", ".aider", ".mcp",
        # editors, shells and tool chains
        ".vscode", ".idea", ".zed", ".fleet", ".theia", ".devcontainer", ".vim", ".nvim",
        ".emacs.d", ".direnv", ".config", ".local", ".bashrc.d", ".cargo", ".rustup", ".mvn",
        ".gradle", ".m2", ".bundle", ".gem", ".yarn", ".npm", ".nvm", ".pyenv", ".rbenv", ".asdf",
        ".julia", ".terraform", ".terraform.d", ".venv", ".tox", ".nox", "site-packages",
        "dist-packages", "node_modules", "launchagents", "launchdaemons", "autostart",
        # Jupyter and IPython
        ".jupyter", ".ipython", "profile_default", "jupyter_config.d", "jupyter_server_config.d",
        "jupyter_notebook_config.d", "nbconfig", "labconfig", "nbextensions", "labextensions",
        # keys
        ".ssh", ".gnupg", ".aws", ".azure", ".gcloud", ".kube", ".docker", ".oci", ".pki",
        ".password-store", ".mozilla", ".thunderbird", "keychains",
    }
)  # fmt: skip
"""What lies in these runs programs, instructs agents or holds keys."""

PROTECTED_NAMES = (
    # git: `git~1` is what a disk with short names calls `.git`
    ".gitattributes", ".gitmodules", ".gitconfig", ".lfsconfig", ".hgrc", "git~[0-9]*",
    # agents
    "agents.md", "agents.*.md", "agent.md", "shard.md", "claude.md", "claude.*.md", "gemini.md",
    "codex.md", "qwen.md", "crush.md", "warp.md", "skill.md", "copilot-instructions.md",
    ".cursorrules", ".windsurfrules", ".roorules", ".roomodes", ".goosehints", ".rules",
    ".aider*", "opencode.json*", ".mcp.json", "mcp.json", "mcp_*.json", "mcp-*.json",
    "claude_desktop_config.json",
    # shells and terminals
    ".envrc", ".direnvrc", ".bashrc", ".bash_*", ".profile", ".zshrc", ".zshenv", ".zprofile",
    ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", ".logout", ".inputrc",
    ".xprofile", ".xinitrc", ".xsession", ".xsessionrc", ".pam_environment", "config.fish",
    ".tmux.conf", ".screenrc", ".lessfilter", ".lesskey", "authorized_keys", "crontab",
    "*.desktop", "*.code-workspace",
    # debuggers, editors, interpreters
    ".gdbinit", ".lldbinit", ".pdbrc", ".pdbrc.py", ".pythonrc*", ".pythonstartup*",
    "sitecustomize.py", "usercustomize.py", "*.pth", "*.egg-link", "conftest.py", ".rprofile",
    "rprofile.site", ".renviron", "startup.jl", ".irbrc", ".pryrc", ".ghci", ".ocamlinit",
    ".octaverc", ".sqliterc", ".psqlrc", ".vimrc", "_vimrc", ".gvimrc", ".exrc", ".nvimrc",
    ".nvim.lua", ".lvimrc", ".dir-locals*.el", ".emacs", ".nanorc", ".curlrc", ".wgetrc",
    ".ripgreprc", ".ackrc",
    # Jupyter and IPython
    "overrides.json", "page_config.json", "custom.css", "custom.js", "kernel.json",
    "jupyter*_config.py", "jupyter*_config.json", "ipython*_config.py", "ipython*_config.json",
    "*.jupyterlab-settings", "*.jupyterlab-workspace", "*.ipynb", "postbuild",
    # builds: what a command that looks harmless starts
    "makefile", "gnumakefile", "makefile.*", "justfile", ".justfile", "taskfile.y*ml", "rakefile",
    "package.json", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".pnp.*", "bunfig.toml",
    "deno.json*", "composer.json", "gemfile", "*.config.js", "*.config.cjs", "*.config.mjs",
    "*.config.ts", "*.config.mts", "*.config.cts", ".eslintrc*", ".babelrc*", ".prettierrc*",
    ".mocharc*", "gulpfile.*", "gruntfile.*", "setup.py", "setup.cfg", "pyproject.toml", "tox.ini",
    "noxfile.py", "pytest.ini", ".pytest.ini", ".coveragerc", ".pylintrc", "pylintrc", "mypy.ini",
    ".mypy.ini", "dodo.py", "pip.conf", ".condarc", "condarc", "build.rs", "cargo.toml",
    "rust-toolchain", "rust-toolchain.toml", ".bazelrc", ".buckconfig", "pom.xml", "build.gradle*",
    "settings.gradle*", "gradle.properties", "gradlew*", "mvnw*", "mix.exs", "flake.nix",
    "shell.nix", "default.nix", ".python-version", ".ruby-version", ".node-version", ".nvmrc",
    ".tool-versions", ".sdkmanrc", "mise.toml", ".mise*.toml",
    # hooks and continuous integration
    ".pre-commit-config.yaml", ".pre-commit-hooks.yaml", "lefthook.*", ".lefthook.*",
    ".lintstagedrc*", ".huskyrc*", ".gitlab-ci.yml", ".travis.yml", ".drone.yml", "jenkinsfile*",
    "azure-pipelines.y*ml", "bitbucket-pipelines.yml", "appveyor.yml", ".appveyor.yml",
    "dockerfile", "dockerfile.*", "*.dockerfile", "docker-compose*.y*ml", "compose*.y*ml",
    "vagrantfile", "procfile", "tiltfile",
)  # fmt: skip

SECRET_FOLDERS = frozenset(
    {
        ".ssh", ".gnupg", ".aws", ".azure", ".gcloud", ".kube", ".docker", ".oci", ".pki",
        ".password-store", ".mozilla", ".thunderbird", "keychains", "keyrings",
    }
)  # fmt: skip
SECRET_PAIRS = frozenset(
    {
        ("jupyter", "runtime"), (".config", "gcloud"), (".config", "gh"), (".config", "hub"),
        (".config", "rclone"), (".config", "google-chrome"), (".config", "chromium"),
        (".config", "github-copilot"), (".config", "op"), (".config", "doctl"), (".hg", "hgrc"),
    }
)  # fmt: skip
"""One folder directly in the other."""

SECRET_NAMES = (
    ".env", ".env.*", "*.env", ".envrc", "secrets.y*ml", "secrets.json", "secrets.toml",
    "secret.y*ml", "secret.json", "*.secret", "*.secrets", ".secrets*",
    # keys
    "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*_rsa", "*_dsa", "*_ecdsa", "*_ed25519",
    "*.pem", "*.key", "*.p8", "*.p12", "*.pfx", "*.pkcs12", "*.ppk", "*.jks", "*.jceks",
    "*.keystore", "*.kdb", "*.kdbx", "*.agekey", "*.gpg", "*.ovpn", "*.keychain", "*.keychain-db",
    # passwords and tokens of programs
    ".netrc", "_netrc", ".pypirc", ".npmrc", ".yarnrc", ".yarnrc.yml", "pip.conf", ".condarc",
    "nuget.config", ".git-credentials", ".htpasswd", "htpasswd", ".pgpass", ".my.cnf",
    ".mylogin.cnf", ".authinfo*", ".msmtprc", ".mbsyncrc", ".fetchmailrc", ".smbcredentials",
    ".vault-token", ".vault_pass*", ".vault-pass*", ".boto", ".s3cfg", ".passwd-s3fs",
    ".databrickscfg", ".dockercfg", ".dockerconfigjson", "kubeconfig", "*.kubeconfig",
    "kaggle.json", "auth.json", "token", ".token", "token.json", "tokens.json", "*.token",
    "credentials", "credentials.json", "credentials.toml", "credentials.y*ml*", "credentials.csv",
    "credentials.ini", "credentials.db", "credentials.xml", ".credentials*", "*-credentials.json",
    "*_credentials.json", "client_secret*.json", "service-account*.json", "service_account*.json",
    "oauth_creds*.json", "*.tfstate", "*.tfstate.*", "*.tfvars",
    # what was typed
    ".*_history", ".history", ".histfile", "fish_history", ".viminfo", ".lesshst",
    "history.sqlite",
    # browsers
    "cookies", "cookies.sqlite*", "cookies.txt", "login data*", "web data*", "logins.json",
    "key3.db", "key4.db", "signons.sqlite",
    # Jupyter
    "jupyter_cookie_secret", "notebook_cookie_secret", "jupyterhub_cookie_secret",
    "jupyterhub.sqlite", "jpserver-*.json", "jpserver-*.html", "nbserver-*.json",
    "nbserver-*.html", "kernel-*.json", "jupyter_server_config.json",
    "jupyter_notebook_config.json",
)  # fmt: skip

_NO_SECRET = frozenset(
    {".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults", "example.env",
     "sample.env"}
)  # fmt: skip
"""Kept in repositories to be read."""

_SECRET_IN_GIT = frozenset({"config", "config.worktree", "fetch_head", "credentials"})
"""In `.git`: addresses with passwords in them."""


def fold_name(name: str) -> str:
    """Give names that some disk takes for equal one form.

    Without case, in one Unicode form, without what is invisible, without blanks and dots at the
    end, and without the name of a stream after a colon.
    """
    if name.isascii():
        folded = name.lower()
    else:
        # Taken apart first and last, or signs that only then come together are missed.
        apart = unicodedata.normalize("NFD", _IGNORED.sub("", name)).casefold()
        folded = unicodedata.normalize("NFC", unicodedata.normalize("NFD", apart).casefold())
    return folded.partition(":")[0].rstrip(" .")


def find_protected(parts: Iterable[str]) -> str:
    """Return the part that makes a path protected, as it was given; empty if none does."""
    last = ""
    for last in parts:
        if fold_name(last) in PROTECTED_FOLDERS:
            return last
    return last if _PROTECTED.matches(last) else ""


def is_secret_name(name: str) -> bool:
    return _SECRET.matches(name) and fold_name(name) not in _NO_SECRET


def is_secret_path(parts: Sequence[str]) -> bool:
    """As `is_secret_name`, also by the folders above. `parts` may be absolute or relative."""
    if not parts:
        return False
    folded = [fold_name(part) for part in parts]
    if is_secret_name(parts[-1]) or not SECRET_FOLDERS.isdisjoint(folded):
        return True
    if ".git" in folded and folded[-1] in _SECRET_IN_GIT:
        return True
    return not SECRET_PAIRS.isdisjoint(pairwise(folded))


class _NameSet:
    """Globs over folded names; those without a sign are looked up, the others are one pattern."""

    def __init__(self, globs: Iterable[str]) -> None:
        globs = tuple(globs)
        self._plain = frozenset(glob for glob in globs if not any(sign in glob for sign in "*?["))
        self._pattern = re.compile("|".join(map(translate, set(globs) - self._plain)))

    def matches(self, name: str) -> bool:
        folded = fold_name(name)
        return folded in self._plain or self._pattern.match(folded) is not None


_IGNORED = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
"""Characters that take no room; some disks leave them out when they compare names."""
_PROTECTED = _NameSet(PROTECTED_NAMES)
_SECRET = _NameSet(SECRET_NAMES)
