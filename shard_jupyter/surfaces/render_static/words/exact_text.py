"""Show what is asked to be allowed so that no two texts look alike (UI §5.6). Pure.

Stricter than `make_visible`, which is for reading. Marked with their numbers are here as well:
letters and signs that pass for others, spaces of any other width, accents that are written apart,
and whatever has no shape that everybody knows. The marks themselves cannot be written: a text that
looks like one is marked. So the text can be told from what is shown.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from shard_jupyter.surfaces.render_static.visible_text import make_visible, mark

LINE_END = "⏎"
TAB = "⇥   "
_OWN_SIGNS = frozenset("⟨⏎⇥")
_TWIN_LETTERS = re.compile(
    "["
    "\u0131\u0237\u0251\u0261\u0269\u0280\u029f\u0391\u0392\u0395-\u0397\u0399\u039a"
    "\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03b1\u03b3\u03b9\u03bd\u03bf\u03c1"
    "\u03c4\u03c5\u03c7\u03dc\u03f2\u03f3\u03f9\u0401\u0405-\u0408\u0410\u0412\u0415\u0417"
    "\u0419\u041a\u041c-\u0423\u0425\u042c\u0430\u0435\u0437\u0439\u043a\u043e-\u0441\u0443"
    "\u0445\u044c\u0451\u0455-\u0458\u0474\u0475\u04ae\u04af\u04ba\u04bb\u04c0\u04cf\u0501"
    "\u051b-\u051d\u053c\u054f\u0555\u0561\u0566\u0570\u0578\u057d\u0581\u0584\u0585"
    "\u0660\u0661\u06f0\u06f1\u07ca\u0966\u09e6\u0a66\u0ae6\u0b66\u0be6\u0c66\u0ce6\u0ce7"
    "\u0d66\u0e50\u0ed0\u1040\u13a0-\u13a2\u13a4\u13a5\u13a9-\u13ac\u13b3\u13b7\u13bb\u13bd"
    "\u13c0\u13c2\u13c3\u13ce\u13cf\u13d2\u13d4\u13d5\u13d9\u13da\u13de\u13df\u13e2"
    "\u13e6\u13e7\u13e9\u13ee\u13ef\u16b7\u16d5\u1d00\u1d04\u1d0f\u1d20-\u1d22\u2c80-\u2caf"
    "\u2d4f\u2d51\u2d54\u2d55\ua4d0-\ua4fd\ua731"
    "]"
)
"""Letters and digits of other scripts that have the shape of a Latin letter or of a digit."""
_TWIN_SIGNS = re.compile(
    "["
    "\u00a6\u00ab\u00b4\u00b7\u00bb\u01c0\u01c3\u02b9-\u02bd\u02c2\u02c3\u02c8\u02ca\u02cb"
    "\u02cd\u02d7\u02dc\u02f8\u037e\u055a\u055d\u0589\u05c3\u05f3\u05f4\u066d\u0701\u0702"
    "\u2010-\u2015\u2017-\u201f\u2024\u2025\u2027\u2032\u2033\u2035\u2036\u2039\u203a\u203c"
    "\u203f\u2043\u2044\u204e\u2053\u2212\u2215-\u2217\u2223\u2225\u2236\u223c\u226a\u226b"
    "\u22c5\u2329\u232a\u23ae\u2420\u2422\u2423\u2502\u2503\u2571\u2572\u2731\u2758"
    "\u276e\u276f\u2796\u27cb\u2800\u2982\u29f5\u29f8\u29f9\u3008\u3009\u301c\ua4f8"
    "\ua789\ua78a\ua78c\ufe14\ufe4f\ufe52\ufe54-\ufe56\ufe58\ufe60\ufe61\ufe63-\ufe65\ufe69"
    "\uff01\uff04\uff06\uff0a\uff0d\uff0f\uff1a\uff1b\uff1d\uff1f\uff3c\uff3f\uff40\uff5c"
    "\uff5e"
    "]"
)
"""Quotes, dashes, slashes, dots, bars, colons, brackets and blanks that are none to a shell."""
_ACCENTS = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]")
"""They may stand over anything, and over a Latin letter where a letter with accent is another."""
_WORD = re.compile(r"\w+")
_ORDINARY = re.compile(r"[ -~]*\Z")


def show_exactly(text: str) -> str:
    """Write `text` with every character told; each of its line ends is `⏎` and a line end."""
    return "\n".join(exact_lines(text))


def exact_lines(text: str) -> list[str]:
    """Write `text` line by line; all but the last end in `⏎`, so that none is added unseen."""
    *lines, last = map(_show, text.split("\n"))
    if text.endswith(" "):  # no sign follows that would show it
        last = last[:-1] + mark(" ")
    return [*(f"{line}{LINE_END}" for line in lines), last]


def show_exactly_on_line(text: str) -> str:
    """Write `text` on one line: a name or a path among words of ours."""
    return "".join(exact_lines(text))


def _show(line: str) -> str:
    if _ORDINARY.match(line):
        return line
    twins = set(_twin_letters(line))
    return "".join(
        TAB if char == "\t" else mark(char) if at in twins or _is_odd(line, at) else char
        for at, char in enumerate(line)
    )


def _twin_letters(line: str) -> Iterator[int]:
    """Yield the places of letters that pass for Latin ones.

    A word of another script with a letter that has no Latin twin cannot be mistaken, and is left.
    """
    for word in _WORD.finditer(line):
        foreign = [char for char in word[0] if char > "\x7f"]
        is_mixed = any("a" <= char.lower() <= "z" for char in word[0])
        if foreign and (is_mixed or all(map(_TWIN_LETTERS.match, foreign))):
            for at, char in enumerate(word[0], word.start()):
                if _TWIN_LETTERS.match(char):
                    yield at


def _is_odd(line: str, at: int) -> bool:
    char = line[at]
    if char <= "\x7f":
        return char < " " or char == "\x7f"
    if char in _OWN_SIGNS or _TWIN_SIGNS.match(char) or make_visible(f"a{char}") != f"a{char}":
        return True
    category = unicodedata.category(char)
    if category in ("Mn", "Me"):
        return bool(_ACCENTS.match(char)) or at == 0 or line[at - 1] <= "\x7f"
    if category in ("Zs", "Co", "Cn", "Cc", "Cf", "Cs", "Zl", "Zp"):
        return True
    # Full width, mathematical and circled letters, ligatures, and signs that are there twice.
    plain = unicodedata.normalize("NFKC", char)
    return plain != char and (plain.isascii() or unicodedata.normalize("NFC", char) != char)
