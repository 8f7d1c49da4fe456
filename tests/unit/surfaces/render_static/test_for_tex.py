r"""What nbconvert makes a PDF from: no text becomes a command of TeX, and none gets lost.

nbconvert gives our Markdown to pandoc, which passes `\input{...}` on as it is.
"""

from __future__ import annotations

import re
import shutil

import pytest
from nbconvert.filters.markdown import markdown2latex

from shard_jupyter.surfaces.render_static.markdown import render_markdown
from shard_jupyter.surfaces.render_static.prose.safe_markdown import make_safe_markdown
from tests.unit.surfaces.render_static.hostile import every_kind

pytestmark = pytest.mark.proves("A08", "J3.38")
READS_A_FILE = r"\input{/etc/passwd}"
TRICKS = (
    READS_A_FILE,
    f"${READS_A_FILE}$",
    f"$$\n{READS_A_FILE}\n$$",
    f"$$a$$ {READS_A_FILE} $$b$$",
    rf"\begin{{verbatim}}{READS_A_FILE}\end{{verbatim}}",
    rf"\({READS_A_FILE}\) \[{READS_A_FILE}\] \\{READS_A_FILE}",
    f"`{READS_A_FILE}`{{=latex}}",
    f"\\`{READS_A_FILE}\\`{{=latex}}",
    f"~~~ {{=latex}}\n{READS_A_FILE}\n~~~",
    f"x^{READS_A_FILE}^ y~{READS_A_FILE}~ ^[{READS_A_FILE}]",
    f"[a]{{.b}}{READS_A_FILE}",
    f"::: x\n{READS_A_FILE}\n:::",
    f"| {READS_A_FILE}\n| b",
    f"| a |\n|---|\n| {READS_A_FILE} |",
    f"---\nheader-includes: {READS_A_FILE}\n---",
    f"a\n\n---\nb: @x {READS_A_FILE}\n---\n",
    r"\immediate\write18{id}",
    r"$\immediate\write18{id}$",
    r"$\csname input\endcsname{/etc/passwd}$",
    r"$\def\x{1}$",
)
COMMAND = re.compile(r"\\(?:input|immediate|write18|csname|def\\x)\b")
VERBATIM = re.compile(r"\\begin\{verbatim\}.*?\\end\{verbatim\}", re.DOTALL)


@pytest.mark.parametrize(
    ("prose", "written"),
    [
        (r"\input{x}", r"&#92;input{x}"),
        ("`x`{=latex}", r"`x`\{=latex}"),
        ("x^2^ y~2~ ~~gone~~", r"x\^2\^ y\~2\~ ~~gone~~"),
        ("---\na: @b\n---", "***\na: @b\n---"),
        (r"$\frac{a}{b}$ and $\sum_i x_i$", r"$\frac{a}{b}$ and $\sum_i x_i$"),
        (r"$\left( x \right)$", r"$\left( x \right)$"),
        (r"$\input{x}$", r"\$&#92;input{x}\$"),
        ("a\n---", "a\n---"),
    ],
)
def test_commands_are_text_and_math_stays(prose: str, written: str) -> None:
    assert make_safe_markdown(prose) == written


@pytest.mark.skipif(shutil.which("pandoc") is None, reason="nbconvert needs pandoc for this")
@pytest.mark.parametrize("trick", TRICKS)
def test_no_command_reaches_tex_and_no_text_is_lost(trick: str) -> None:
    for descriptor in every_kind(trick):
        tex = markdown2latex(render_markdown(descriptor) + "\n\nthe end")
        assert tex.rstrip().endswith("the end"), tex
        found = COMMAND.search(VERBATIM.sub("", tex))
        assert found is None or tex[: found.start()].endswith("textbackslash"), tex
        assert ("passwd" in tex) == ("passwd" in render_markdown(descriptor))
