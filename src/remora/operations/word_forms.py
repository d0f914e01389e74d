"""Stems and singular forms of English words in names and docstrings."""

import re
from functools import cache

_ENDINGS = ("ings", "ing", "ies", "ied", "ed", "es", "s", "e", "y")
_DERIVED = ("ations", "ation", "ers", "ors", "er", "or")
_LEAST = 3
"""Characters of the shortest stem."""


@cache
def stem(word: str, *, derived: bool = False) -> str:
    """Return a word without its ending, so that "decodes" and "decoding" are the same word.

    With `derived`, "decoder" is the same word, too.
    """
    for ending in (*_DERIVED, *_ENDINGS) if derived else _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST:
            break
    else:
        return word
    if word.endswith("ss"):
        return word
    short = word[: -len(ending)]
    if short[-1] in "ey" and len(short) > _LEAST:  # "copying" and "copy", "seeing" and "see"
        return short[:-1]
    is_doubled = short[-1] == short[-2] and short[-1] not in "ls"
    return short[:-1] if is_doubled else short


def singular(word: str) -> str | None:
    """Return the singular of a regular plural in lower case, or None if it is not sure."""
    if not re.fullmatch(r"[a-z]{3,}[^s]s", word) or word.endswith(("us", "is", "ies", "ves")):
        return None
    return word[:-2] if re.search(r"(?:x|ch|sh|ss)es$", word) else word[:-1]
