"""Each descriptor as Markdown."""

from __future__ import annotations

import pytest
from inline_snapshot import snapshot

from shard_jupyter.surfaces.render_static.markdown import render_all_markdown
from shard_jupyter.types.render_descriptors import (
    KvDescriptor,
    KvPair,
    RenderDescriptor,
    StatusDescriptor,
    TextDescriptor,
    TreeDescriptor,
    TreeNode,
)
from shard_jupyter.types.wire_model import Unknown
from tests.unit.surfaces.render_static.test_plain import DIFF, NEWER_KINDS, TREE

pytestmark = pytest.mark.proves("A08")

KINDS: tuple[RenderDescriptor, ...] = (
    TextDescriptor(text="if a < b:\n\n    go()\n", language="py"),
    KvDescriptor(pairs=(KvPair(k="Runs in", v="/work"), KvPair(k="Undo", v="no\nnever"))),
    DIFF,
    TREE,
    StatusDescriptor(label="saved in `a.py`", tone="success"),
    StatusDescriptor(label="costs $5\nor more", tone="warn"),
    Unknown(tag="chart", raw={"kind": "chart", "fallback": "3 bars"}),
    Unknown(tag="chart", raw={"kind": "chart"}),
)


def test_every_kind_reads_well() -> None:
    assert render_all_markdown([*KINDS, *NEWER_KINDS]) == snapshot("""\
```py
if a < b:

    go()
```

- Runs in: `/work`
- Undo: `no` ⏎ `never`

`src/a.py` +1 -1

```diff
@@ -1,2 +1,2 @@
 keep
-old
+new
\\ No newline at end of file
```

(4 more lines)

- `src`
  - `a.py` 12 lines

Done: saved in `a.py`

Warning: costs \\$5  \n\
or more

```
3 bars
```

```
(chart)
```

**Bold** and `code`.

- item

| city | people |
| --- | --- |
| Oslo | 709037 |
| Bergen |  |

(7 more rows)

Image: a plot (image/png, 640 × 480, 5.1 kB)

Release · 1 of 2 done

- [x] Test
- [ ] Tag

Denied by you · “not yet”: Run git push?

61.0k in · 4.4k out · \\$0.28

Bytes 1234567 of 2000000.5\
""")


def test_a_tree_without_end_is_cut() -> None:
    node = TreeNode(label="end")
    for number in range(100):
        node = TreeNode(label=str(number), children=(node,))
    shown = render_all_markdown([TreeDescriptor(root=node)])
    assert "…" in shown
    assert "end" not in shown
