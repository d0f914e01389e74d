"""The docstring style and format used in a file, and the mood of the verbs that begin summaries."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import msgspec

from remora.code.docstrings.docstring_sections import Style, parse_docstring
from remora.code.syntax.definitions import DEFINITIONS
from remora.code.syntax.signature import docstring_text
from remora.code.syntax.source import Source

Mood = Literal["imperative", "indicative"]
STYLES: tuple[Style, ...] = ("google", "numpy", "rest")

_VERBS = frozenset(
    (
        "accept", "add", "analyze", "append", "apply", "attempt", "build", "calculate", "cancel",
        "check", "clean", "clear", "close", "collect", "compare", "compile", "compute", "configure",
        "connect", "construct", "convert", "create", "decode", "delete", "detect", "determine",
        "disable", "download", "emit", "enable", "encode", "ensure", "execute", "expand", "extend",
        "extract", "fetch", "find", "generate", "get", "handle", "initialize", "insert", "install",
        "iterate", "join", "load", "make", "merge", "move", "normalize", "open", "override",
        "parse", "perform", "prepare", "print", "produce", "provide", "push", "raise", "read",
        "receive", "register", "remove", "render", "replace", "reset", "resolve", "restore",
        "retrieve", "return", "run", "save", "select", "send", "serialize", "set", "show", "split",
        "start", "stop", "store", "strip", "take", "transform", "try", "update", "validate",
        "verify", "wait", "wrap", "write", "yield",
    )
)  # fmt: skip
"""Verbs that begin summaries in both forms in installed packages, and are not nouns."""
_HISSING = re.compile(r"(?:s|x|z|ch|sh|[^aeiou]o)$")
_AND = re.compile(r"((?:,|,? and) )(\w+)")
_Y = re.compile(r"(?<![aeiou])y$")
_FORMS = {_Y.sub("ie", verb) + ("es" if _HISSING.search(verb) else "s"): verb for verb in _VERBS}
_OTHERS = {verb: form for form, verb in _FORMS.items()}


class DocstringFormat(msgspec.Struct, frozen=True, kw_only=True):
    """Docstring conventions of a file."""

    style: Style = "google"
    """The form of sections."""
    width: int = 88
    """The length of the longest line."""
    below: bool = False
    """True if a text of several lines starts on the line below the opening quotes."""
    quotes: str = '"""'
    """The quotes."""
    mood: Mood = "imperative"
    """The mood of a function's first verb."""


class StyleCounts:
    """Counts of docstring features, which can be added up over several files.

    The features are `style`, `below`, `quotes` and `mood`.
    """

    def __init__(self) -> None:
        self.counts: dict[str, Counter[Any]] = defaultdict(Counter)

    def see(self, source: Source) -> None:
        counts = self.counts
        for literal, text in _docstrings(source):
            parsed = parse_docstring(text)
            if parsed.style is not None:
                counts["style"][parsed.style] += 1
            if "\n" in text.strip():
                counts["below"][not text.split("\n", 1)[0].strip()] += 1
            if mood := mood_of(text.strip()):
                counts["mood"][mood] += 1
            counts["quotes"]["'''" if literal.lstrip("rRuU").startswith("'''") else '"""'] += 1

    def add(self, other: "StyleCounts") -> None:
        for feature, counts in other.counts.items():
            self.counts[feature] += counts


def docstring_format(
    seen: Iterable[StyleCounts], *, style: Style | None, width: int
) -> DocstringFormat:
    """Return the docstring format to use.

    `width` is used as given, and so is `style` unless it is None. Every other property is taken
    from the first entry of `seen` that determines it.
    """
    habits = [counts.counts for counts in seen]

    def most(feature: str, default: Any) -> Any:
        counts = next((habit[feature] for habit in habits if habit[feature]), Counter([default]))
        return counts.most_common(1)[0][0]

    return DocstringFormat(
        style=style or most("style", "google"),
        width=width,
        below=most("below", default=False),
        quotes=most("quotes", '"""'),
        mood=most("mood", "imperative"),
    )


def _docstrings(source: Source) -> Iterator[tuple[str, str]]:
    for node in ast.walk(source.tree):
        if isinstance(node, (*DEFINITIONS, ast.Module)):
            text = docstring_text(node.body)
            if text:
                first = node.body[0]
                start = source.offset(first.lineno, first.col_offset)
                yield source.utf8[start : start + 5].decode("utf-8", "replace"), text


def mood_of(text: str) -> Mood | None:
    """Return the mood of the verb with which a text begins, or None if it is not known."""
    word = text.partition(" ")[0].lower()
    return "indicative" if word in _FORMS else "imperative" if word in _VERBS else None


def in_mood(text: str, mood: Mood) -> str:
    """Return a text whose first word, and verbs after "," or "and", have the form of `mood`."""
    forms = _FORMS if mood == "imperative" else _OTHERS
    word, space, rest = text.partition(" ")
    known = forms.get(word.lower(), word)
    others = _AND.sub(lambda verb: verb[1] + forms.get(verb[2], verb[2]), space + rest)
    return known.capitalize() + others if mood_of(text) else text
