from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.core.tools.search.glob_pattern import GlobPattern, expand_braces

pytestmark = pytest.mark.proves("A05")


@pytest.mark.parametrize(
    ("glob", "matching", "other"),
    [
        ("*.py", ["a.py", "src/deep/a.py"], ["a.pyc", "a.py/b"]),
        ("src/*.py", ["src/a.py"], ["src/x/a.py", "a.py", "x/src/a.py"]),
        ("src/**/*.py", ["src/a.py", "src/x/y/a.py"], ["a.py"]),
        ("**/test_*.py", ["test_a.py", "x/y/test_b.py"], ["x/test_c.txt"]),
        ("src/**", ["src/a", "src/x/y"], ["srcs/a"]),
        ("*.{ts,tsx}", ["a.ts", "b/c.tsx"], ["a.js"]),
        ("{src,lib}/*", ["src/a", "lib/b"], ["bin/c"]),
        ("?.txt", ["a.txt"], ["ab.txt"]),
        ("[ab].txt", ["a.txt"], ["c.txt"]),
        ("[!ab].txt", ["c.txt"], ["a.txt"]),
        ("./x", [], ["x"]),
        ("Makefile", ["Makefile", "a/Makefile"], ["makefile"]),
        ("a+b(1).txt", ["a+b(1).txt"], ["aab1.txt"]),
    ],
)
def test_glob_matches(glob, matching, other):
    pattern = GlobPattern(glob)
    assert [path for path in matching + other if pattern.matches(path)] == matching


def test_hostile_glob_takes_no_time():
    started = time.monotonic()
    pattern = GlobPattern("*a" * 30 + "/" + "**/" * 30 + "b")
    assert not pattern.matches("a" * 200 + "/" + "x/" * 60 + "c")
    assert time.monotonic() - started < 2


def test_braces_never_explode():
    assert len(expand_braces("{a,b}" * 20)) <= 64
    assert expand_braces("a{b,c}d{e,f}") == ["abde", "abdf", "acde", "acdf"]


@given(
    st.text(alphabet="a*?[]{},/!.", min_size=1, max_size=15), st.text(alphabet="ab/.", max_size=12)
)
def test_any_glob_can_be_asked(glob, path):
    GlobPattern(glob).matches(path)
