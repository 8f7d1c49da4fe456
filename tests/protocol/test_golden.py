"""The golden records: read here and by the TypeScript client's tests.

A line is only ever added, never changed: an old record must stay readable for ever.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shard_jupyter.errors import CommandError
from shard_jupyter.protocol.agent_commands import Command
from shard_jupyter.protocol.decode_command import COMMANDS, decode_command
from shard_jupyter.protocol.decode_event import EVENTS, decode_server_record
from shard_jupyter.protocol.envelope import Reply
from shard_jupyter.protocol.framing import FrameDecoder, decode_record, encode_record
from shard_jupyter.protocol.schema_export import export_schema
from shard_jupyter.types.events import Event
from shard_jupyter.types.wire_model import Unknown

pytestmark = pytest.mark.proves("A02", "B03")

SCHEMA = export_schema()
GOLDEN = Path(__file__).parent / "golden"
LINES = [
    pytest.param(line, id=f"{path.stem}-{number}")
    for path in sorted(GOLDEN.glob("*.jsonl"))
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], start=1)
]


def read(line: bytes) -> tuple[dict[str, Any], Command | Event | Reply | Unknown]:
    record = decode_record(line)
    if record["type"] in COMMANDS:
        return record, decode_command(record)
    return record, decode_server_record(record)


def holds(whole: object, part: object) -> bool:
    """Whether everything in `part` is in `whole`, which may have more fields."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and holds(whole[key], value) for key, value in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return len(whole) == len(part) and all(map(holds, whole, part))
    return type(whole) is type(part) and whole == part


def test_every_type_has_a_golden_file_of_one_to_three_records() -> None:
    counts = {path.stem: path.read_bytes().count(b"\n") for path in GOLDEN.iterdir()}
    assert counts.keys() == {*COMMANDS, *EVENTS, "reply"}
    assert set(counts.values()) <= {1, 2, 3}


def test_the_first_record_of_a_file_is_written_exactly_as_it_stands() -> None:
    for path in sorted(GOLDEN.iterdir()):
        first, *_ = path.read_bytes().split(b"\n")
        assert encode_record(read(first)[1]) == first + b"\n", path.stem


@pytest.mark.parametrize("line", LINES)
def test_record_is_of_the_type_of_its_file(line: bytes, request: pytest.FixtureRequest) -> None:
    record, model = read(line)
    assert request.node.callspec.id == f"{record['type']}-{request.node.callspec.id[-1]}"
    assert not isinstance(model, Unknown)


@pytest.mark.parametrize("line", LINES)
def test_record_survives_reading_and_writing(line: bytes) -> None:
    record, model = read(line)
    written = encode_record(model)
    (again,) = FrameDecoder().feed(written)
    assert isinstance(again, dict)
    assert holds(again, record), "nothing of it is lost"
    assert read(written[:-1])[1] == model, "and it means the same"


@pytest.mark.parametrize(
    "line", [line for line in LINES if b'"type":"reply"' not in line.values[0]]
)
def test_unknown_field_is_ignored_in_a_command_and_kept_in_an_event(line: bytes) -> None:
    record, model = read(line)
    _, newer = read(encode_record({**record, "from_a_newer_peer": {"x": [1]}})[:-1])
    written = decode_record(encode_record(newer))
    if isinstance(model, Command):
        assert newer == model
        assert "from_a_newer_peer" not in written
    else:
        assert written["from_a_newer_peer"] == {"x": [1]}


@pytest.mark.parametrize("line", LINES)
def test_client_may_not_say_what_only_a_server_says(line: bytes) -> None:
    record, model = read(line)
    if isinstance(model, Command):
        return
    with pytest.raises(CommandError) as caught:
        decode_command({**record, "id": "c7"})
    assert (caught.value.code, caught.value.command_id) == ("direction", "c7")


@pytest.mark.parametrize("line", LINES)
def test_record_fits_the_exported_schema(line: bytes) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    record, model = read(line)
    # Against the type itself: the union ends in `Unknown`, which every object fits.
    own = {**SCHEMA, "$ref": f"#/$defs/{type(model).__name__}"}
    del own["anyOf"]
    if isinstance(model, Command):
        jsonschema.Draft202012Validator(own).validate(record)
    jsonschema.Draft202012Validator(own).validate(decode_record(encode_record(model)))
    jsonschema.Draft202012Validator(SCHEMA).validate(record)
