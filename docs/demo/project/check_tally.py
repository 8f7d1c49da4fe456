"""What the package must do. Run it: python3 -B check_tally.py"""

import sys

from tally.report import show_top
from tally.words import count_words

TEXT = "The cat saw the dog.\nThe dog ran."


def check(what, found, wanted):
    passed = found == wanted
    print(f"ok    {what}" if passed else f"FAIL  {what}: {found!r}, not {wanted!r}")
    return passed


counts = count_words(TEXT)
results = [
    check("case does not matter", counts["the"], 3),
    check("stops and line ends are no part of a word", counts["dog"], 2),
    check("the most frequent words come first", show_top(counts, 2), "3 the\n2 dog"),
]
sys.exit(not all(results))
