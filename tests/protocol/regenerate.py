"""Write what is generated from the models: `python -m tests.protocol.regenerate`."""

from __future__ import annotations

import json
from pathlib import Path

from shard_jupyter.protocol.schema_export import export_schema
from shard_jupyter.protocol.type_tables import replace_generated

DOCS = Path(__file__).parent.parent.parent / "docs"
SCHEMA = DOCS / "reference" / "protocol.schema.json"
PAGE = DOCS / "protocol.md"


def expected_files() -> dict[Path, bytes]:
    """What each file should hold, from the models and, for the page, its hand-written part."""
    schema = json.dumps(export_schema(), indent=1, ensure_ascii=False) + "\n"
    page = replace_generated(PAGE.read_text(encoding="utf-8"))
    return {SCHEMA: schema.encode(), PAGE: page.encode()}


if __name__ == "__main__":
    for path, content in expected_files().items():
        path.write_bytes(content)
