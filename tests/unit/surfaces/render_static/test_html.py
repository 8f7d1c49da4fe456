"""Each descriptor as HTML."""

from __future__ import annotations

import pytest
from inline_snapshot import snapshot

from shard_jupyter.surfaces.render_static.html import render_all_html
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
    assert render_all_html([*KINDS, *NEWER_KINDS]) == snapshot("""\
<pre><code>if a &lt; b:&#10;
    go()</code></pre>
<ul>
<li>Runs in: <code>/work</code></li>
<li>Undo:
<pre><code>no
never</code></pre>
</li>
</ul>
<p><code>src/a.py</code> +1 -1</p>
<pre><code>@@ -1,2 +1,2 @@
 keep
-old
+new
\\ No newline at end of file</code></pre>
<p>(4 more lines)</p>
<ul>
<li><code>src</code>
<ul>
<li><code>a.py</code> 12 lines</li>
</ul>
</li>
</ul>
<p>Done: saved in <code>a.py</code></p>
<p>Warning: costs <span>$</span>5<br>
or more</p>
<pre><code>3 bars</code></pre>
<pre><code>(chart)</code></pre>
<p><strong>Bold</strong> and <code>code</code>.</p>
<ul>
<li>item</li>
</ul>
<table>
<thead>
<tr><th>city</th><th>people</th></tr>
</thead>
<tbody>
<tr><td>Oslo</td><td>709037</td></tr>
<tr><td>Bergen</td><td></td></tr>
</tbody>
</table>
<p>(7 more rows)</p>
<p>Image: a plot (image/png, 640 × 480, 5.1 kB)</p>
<p>Release · 1 of 2 done</p>
<ul>
<li>☑ Test</li>
<li>☐ Tag</li>
</ul>
<p>Denied by you · “not yet”: Run git push?</p>
<p>61.0k in · 4.4k out · <span>$</span>0.28</p>
<p>Bytes 1234567 of 2000000.5</p>
""")


def test_a_tree_without_end_is_cut() -> None:
    node = TreeNode(label="end")
    for number in range(100):
        node = TreeNode(label=str(number), children=(node,))
    shown = render_all_html([TreeDescriptor(root=node)])
    assert "…" in shown
    assert "end" not in shown
