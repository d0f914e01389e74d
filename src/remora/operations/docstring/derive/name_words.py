"""The words in a name, and how English puts them: articles, plurals, lists."""

# ruff: noqa: SIM905 - a text of words is easier to read than a list of quoted ones

import re
from collections.abc import Iterable, Sequence

_WORD = re.compile(r"[A-Z]+s?(?![a-z])|[A-Z]?[a-z]+\d*|[A-Z]+|\d+")
ACRONYMS = frozenset(
    "api ascii ast cli cpu css csv db dns ftp gpu gui html http https id ids io ip json os pid "
    "rpc sql ssh ssl tcp tls toml udp ui uri url urls utf uuid xml yaml".split()
)
_MASS = frozenset(
    "access code content data feedback hardware help history information input json metadata "
    "money output progress software stock syntax text time traffic usage work xml yaml".split()
)
_NOT_PLURAL = ("ss", "us", "is", "as", "os")
_PLURALS = frozenset(("children", "indices", "matrices", "people", "vertices"))
_SPELLED = {"ids": "IDs", "urls": "URLs"}


def words_of(name: str) -> list[str]:
    """`parse_HTTPHeader2` → parse, HTTP, header2; abbreviations that everybody knows in capitals."""
    found = _WORD.findall(name.replace("_", " "))
    return [_cased(word) for word in found]


def _cased(word: str) -> str:
    low = word.lower()
    if low in ACRONYMS:
        return _SPELLED.get(low, low.upper())
    return word if word.isupper() and len(word) > 1 else low


def phrase(words: Iterable[str]) -> str:
    """The words with spaces between them."""
    return " ".join(words)


def sentence(text: str) -> str:
    """With a capital at its beginning and a full stop at its end."""
    text = text.strip()
    if not text:
        return ""
    text = text[0].upper() + text[1:]
    return text if text[-1] in ".!?" else f"{text}."


def is_plural(words: Sequence[str]) -> bool:
    """Whether the last word is most likely a plural."""
    last = words[-1]
    if last.lower() in _PLURALS or last in _SPELLED.values():
        return True
    return (
        last.islower() and last.endswith("s") and not last.endswith(_NOT_PLURAL) and len(last) > 3
    )


def with_a(words: Sequence[str]) -> str:
    """`a key`, `an HTTP header`; plurals, and what is not counted, as they are."""
    if not words or is_plural(words) or words[-1].lower() in _MASS:
        return phrase(words)
    first = words[0]
    vowel = first[0] in "FHILMNORSX" if first.isupper() and first != "ID" else False
    if first.islower() or first in ("ID", "API", "IP", "AST", "OS", "ASCII"):
        vowel = first[0].lower() in "aeiou" and not first.startswith(("uni", "use", "usa", "one"))
    return f"{'an' if vowel else 'a'} {phrase(words)}"


def with_the(words: Sequence[str]) -> str:
    """`the key`."""
    return f"the {phrase(words)}"


def listed(names: Sequence[str], last: str = "and") -> str:
    """`a, b and c`."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {last} {names[-1]}"
