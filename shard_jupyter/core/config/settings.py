"""What can be configured. One frozen model; the string below a field is its documentation.

The page docs/reference/config.md is made from this file. A key that nothing reads has no place
here, and a secret has none either: keys of model providers come from the environment alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from shard_jupyter.contracts.process_runner import SandboxSetting
from shard_jupyter.contracts.provider import ProviderSettings
from shard_jupyter.core.config.known_providers import LOCAL, find_provider, provider_prefix
from shard_jupyter.core.limits.pricing import FREE, Price
from shard_jupyter.types.decisions import CommandPattern, Rule


def _check_url(value: str) -> str:
    """Accept an absolute http(s) address. What is wrong is said without repeating the value."""
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or any(character.isspace() for character in value):
        raise ValueError("should be an http:// or https:// address")
    return value


def _check_path(value: str) -> str:
    if not value.startswith(("/", "~/")) or "\0" in value:
        raise ValueError("should be an absolute path, or begin with ~/")
    return value


BaseUrl = Annotated[str, AfterValidator(_check_url)]
OwnPath = Annotated[str, AfterValidator(_check_path)]
# Capitals only: a key pasted here by mistake is then nearly always refused, and never shown.
VariableName = Annotated[str, Field(pattern=r"^[A-Z_][A-Z0-9_]{0,63}$")]


class Section(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True
    )


class ProviderSection(Section):
    """How one provider is reached."""

    base_url: BaseUrl | None = None
    """Address of the server; null means the vendor's own. OPENAI_BASE_URL sets it for `openai`
    and `openai-responses`, ANTHROPIC_BASE_URL for `anthropic`."""
    api_key_env: VariableName | None = None
    """Name of the environment variable that holds the key, instead of the usual one."""
    timeout_seconds: float = Field(default=600.0, gt=0)
    """Silence on the wire after which a connection counts as cut."""
    context_window: int | None = Field(default=None, ge=1)
    """Size of the context window in tokens, where the server does not tell."""


class ConfiguredCommand(CommandPattern):
    """A command pattern from a file: a misspelt field would widen the rule, so it is refused."""

    model_config = ConfigDict(extra="forbid")


class ConfiguredRule(Rule):
    """A rule from a file. `source` is what the file is, whatever the file says of itself."""

    model_config = ConfigDict(extra="forbid")

    command: ConfiguredCommand | None = None


class PermissionsSection(Section):
    rules: tuple[ConfiguredRule, ...] = ()
    """Rules, such as `{"effect": "allow", "tool": "bash", "command": {"program": "git", "args":
    ["status"]}}`. Those of several files are added up; a deny rule of any of them holds."""


class RetrySection(Section):
    max_attempts: int = Field(default=5, ge=1)
    """How often one model call is tried in all, before the turn fails."""
    max_wait_seconds: float = Field(default=60.0, ge=0)
    """Longest wait between two tries. A server that asks for more ends the turn, with the time at
    which it may go on."""


class LimitsSection(Section):
    max_rounds: int = Field(default=200, ge=1)
    """Model calls in one turn, at most."""
    max_output_tokens: int | None = Field(default=None, ge=1)
    """Tokens in one answer, at most; null: the provider's own limit."""


class ToolsSection(Section):
    bash_timeout_seconds: float = Field(default=120.0, gt=0)
    """Time that a shell command gets when the model asks for none."""
    output_limit_bytes: int = Field(default=32_768, ge=1024)
    """How much text of one tool call goes to the model, at most."""


class LocalModelsSection(Section):
    """Models on this machine."""

    folders: tuple[OwnPath, ...] = ()
    """Folders of your own in which GGUF files lie, absolute or with `~/`. They are only read."""
    engine: Literal["auto", "xllamacpp", "llama-cpp-python", "llama-server"] = "auto"
    """What runs the model. `auto`: whichever of these is there."""
    server_path: OwnPath | None = None
    """A `llama-server` of your own, absolute or with `~/`; null: SHARD_LLAMA_SERVER, if it is
    set. PATH is never searched."""
    context_tokens: int | None = Field(default=None, ge=2048)
    """Context of a model, at most; null: as much as it was trained with and fits the memory."""


class Settings(Section):
    """Everything that can be configured."""

    model: str | None = Field(default=None, json_schema_extra={"environment": "SHARD_MODEL"})
    """Routing id of the model to use, `provider:model`, such as `openai:gpt-5`."""
    mode: str = "build"
    """Mode in which an agent starts."""
    network: Literal["on", "local"] = Field(
        default="on", json_schema_extra={"environment": "SHARD_NETWORK"}
    )
    """`local`: only models on this machine may be asked."""
    sandbox: SandboxSetting = Field(
        default="auto", json_schema_extra={"environment": "SHARD_SANDBOX"}
    )
    """Whether shell commands are locked in by the system: no network, no keys, no writing outside
    the workspace. `auto`: by bubblewrap or Landlock, whichever works here; what is missing is said.
    `required`: no command runs without. `off`: never."""
    durability: Literal["full", "normal"] = "full"
    """`full`: on disk before it is acted on. `normal`: handed to the system, faster, may lose the
    last moments in a power cut."""
    headless_policy: Literal["deny", "rules", "queue"] = "rules"
    """What becomes of a request when nobody is there to ask and `--ask` is not given. `deny`: it is
    denied. `rules`: allow rules decide, the rest is denied. `queue`: it waits for someone to
    come, as long as `ask_timeout_seconds` says."""
    ask_timeout_seconds: float = Field(default=60.0, gt=0)
    """Seconds an unanswered request waits; then it is denied."""
    providers: dict[str, ProviderSection] = Field(
        default_factory=dict, json_schema_extra={"name": "prefix"}
    )
    """By the prefix of routing ids."""
    local_models: LocalModelsSection = LocalModelsSection()
    prices: dict[str, Price] = Field(default_factory=dict, json_schema_extra={"name": "model_id"})
    """By routing id."""
    permissions: PermissionsSection = PermissionsSection()
    retry: RetrySection = RetrySection()
    limits: LimitsSection = LimitsSection()
    tools: ToolsSection = ToolsSection()
    usage_log: bool = True
    """Keep a line for each model call (model, tokens, cost; no text, no path) in
    `usage.jsonl` of the state folder."""

    def provider_settings(self, prefix: str, environ: Mapping[str, str]) -> ProviderSettings:
        """Gather what a provider needs. The result holds a key: never print or log it.

        Where `api_key_env` is set, only that variable is read, so that a key never goes to an
        address it was not meant for.
        """
        section = self.providers.get(prefix, ProviderSection())
        variable = self.key_variable(prefix)
        key = environ.get(variable, "").strip() if variable else ""
        return ProviderSettings(
            base_url=section.base_url,
            api_key=key or None,
            timeout_seconds=section.timeout_seconds,
            context_window=section.context_window,
        )

    def find_price(self, model_id: str) -> Price | None:
        """Return what is set for the model; one on this machine costs nothing where nothing is."""
        price = self.prices.get(model_id)
        return FREE if price is None and provider_prefix(model_id) == LOCAL else price

    def key_variable(self, prefix: str) -> str | None:
        """Name of the environment variable that holds the key of `prefix`."""
        section = self.providers.get(prefix)
        if section is not None and section.api_key_env:
            return section.api_key_env
        known = find_provider(prefix)
        return known.key_variable if known else None
