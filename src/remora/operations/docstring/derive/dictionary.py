"""Whether a name's words are such as people use where they write prose."""

# ruff: noqa: SIM905 - a text of words is easier to read than a list of quoted ones

from collections.abc import Sequence

from remora.operations.docstring.derive.corpus import Evidence
from remora.operations.docstring.derive.name_words import ACRONYMS
from remora.operations.docstring.derive.verbs import WORDS, is_verb

_NO_PHRASE = frozenset("are can has have if is maybe no not or should that was when".split())
_IN_FRONT = ("del", "get", "is", "iter", "pop", "read", "set", "write")
_LONGEST_NAME = 5
LITTLE_WORDS = frozenset(
    "a an and are as at by can each for from given has have in into is it not of on or return "
    "should the there these this to was whether with without yield".split()
)
"""Words that hold a sentence together and say nothing by themselves."""


def _is_run_together(word: str) -> bool:
    """`readline` and `iteritems`: two words without a space, which is how code alone has them."""
    low = word.lower()
    ends = [low.removeprefix(verb) for verb in _IN_FRONT if low.startswith(verb)]
    return any(end in WORDS or end.removesuffix("s") in WORDS for end in ends)


def is_english(words: Sequence[str], evidence: Evidence) -> bool:
    """Whether a sentence can be made of the words: people use them where they write prose."""
    files = (evidence.own, *evidence.near)
    odd = any(word in _NO_PHRASE for word in words[1:]) or words[:1] == ["maybe"]
    shouted = any(word.isupper() and word.lower() not in ACRONYMS for word in words)
    if odd or shouted or len(words) > _LONGEST_NAME:
        return False
    return all(
        word.lower() in WORDS
        or word.lower().removesuffix("s") in WORDS
        or word.lower() in ACRONYMS
        or is_verb(word.lower(), alone=False, gives=False)
        or (any(word.lower() in each.prose for each in files) and not _is_run_together(word))
        or word.lower() in LITTLE_WORDS
        for word in words
    )
