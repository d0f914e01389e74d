"""The docstring style and format used in a file."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from remora.code.syntax.definitions import DEFINITIONS
from remora.code.syntax.docstring_sections import Style, parse_docstring
from remora.code.syntax.signature import docstring_text
from remora.code.syntax.source import Source
from remora.judges.docstrings.parts import DocstringFormat
from remora.operations.docstring.verb_forms import mood_of


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
    habits = [each.counts for each in seen]

    def most(feature: str, default: Any) -> Any:
        return _most([each[feature] for each in habits]) or default

    return DocstringFormat(
        style=style or most("style", "google"),
        width=width,
        below=most("below", default=False),
        quotes=most("quotes", '"""'),
        mood=most("mood", "imperative"),
    )


def _most(counts: Iterable[Counter[Any]]) -> Any:
    """Return the most frequent value of the first non-empty counter."""
    for counter in counts:
        best = counter.most_common(1)
        if best and best[0][1]:
            return best[0][0]
    return None


def _docstrings(source: Source) -> Iterator[tuple[str, str]]:
    for node in ast.walk(source.tree):
        if isinstance(node, (*DEFINITIONS, ast.Module)):
            text = docstring_text(node.body)
            if text:
                first = node.body[0]
                start = source.offset(first.lineno, first.col_offset)
                yield source.utf8[start : start + 5].decode("utf-8", "replace"), text
