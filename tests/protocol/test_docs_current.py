from __future__ import annotations

import re
from pathlib import Path

import pytest

from shard_jupyter.protocol.decode_command import COMMANDS
from shard_jupyter.protocol.decode_event import EVENTS
from shard_jupyter.protocol.envelope import (
    MAX_BROWSER_BYTES,
    MAX_DEPTH,
    MAX_STREAM_BYTES,
    MAX_VALUES,
    MAX_WEBSOCKET_BYTES,
)
from shard_jupyter.protocol.schema_export import export_schema
from shard_jupyter.protocol.type_tables import BEGIN
from tests.protocol.regenerate import PAGE, expected_files

pytestmark = pytest.mark.proves("A02")

FILES = expected_files()
SCHEMA = export_schema()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_generated_file_is_current(path: Path) -> None:
    assert path.read_bytes() == FILES[path], "run: python -m tests.protocol.regenerate"


def test_page_describes_every_type() -> None:
    page = PAGE.read_text(encoding="utf-8")
    described = re.findall(r"^#### `([a-z_.]+)`", page, re.MULTILINE)
    assert sorted(described) == sorted([*COMMANDS, *EVENTS])


def test_limits_on_the_page_are_those_of_the_code() -> None:
    text, _ = PAGE.read_text(encoding="utf-8").split(BEGIN)
    mib = 1024 * 1024
    stated = (MAX_STREAM_BYTES // mib, MAX_WEBSOCKET_BYTES // mib, MAX_BROWSER_BYTES // mib)
    assert stated == (16, 4, 1)
    for limit in ("16 MiB", "4 MiB", "1 MiB", f"| {MAX_DEPTH} |", f"| {MAX_VALUES:,} |"):
        assert limit in text, limit


class TestSchema:
    def test_same_models_give_the_same_document(self) -> None:
        assert export_schema() == SCHEMA
        assert list(SCHEMA["$defs"]) == sorted(SCHEMA["$defs"])

    def test_every_reference_is_defined_and_no_generated_title_is_left(self) -> None:
        text = FILES[next(path for path in FILES if path.suffix == ".json")].decode()
        used = set(re.findall(r'"#/\$defs/([^"]+)"', text))
        assert used <= SCHEMA["$defs"].keys()
        assert '"title": "' not in text
        assert "-Input" not in text
        assert "-Output" not in text

    def test_what_a_server_writes_is_complete(self) -> None:
        for event in EVENTS.values():
            definition = SCHEMA["$defs"][event.__name__]
            assert set(definition["required"]) == set(definition["properties"]), event

    def test_what_a_client_writes_needs_version_type_and_id(self) -> None:
        for command in COMMANDS.values():
            assert {"v", "type", "id"} <= set(SCHEMA["$defs"][command.__name__]["required"])

    def test_open_unions_take_what_is_not_known(self) -> None:
        for group in ("Event", "Entry", "Descriptor"):
            assert SCHEMA["$defs"][group]["anyOf"][-1] == {"$ref": "#/$defs/Unknown"}
        assert {"$ref": "#/$defs/Unknown"} not in SCHEMA["$defs"]["Command"]["oneOf"]
