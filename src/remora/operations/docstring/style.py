"""The docstring style and format used in a file."""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from remora.code.syntax.definitions import DEFINITIONS
from remora.code.syntax.signature import docstring_text
from remora.code.syntax.source import Source
from remora.operations.docstring.parse import parse_docstring
from remora.operations.docstring.parts import DocstringFormat, Style

_RAISES_FIELD = re.compile(r"^\s*:(raises?|except(?:ion)?) ", re.MULTILINE)
_DOUBLE, _SINGLE = re.compile(r"``[^`]+``"), re.compile(r"(?<![`:])`[^`]+`(?!`)")


class StyleCounts:
    """Counts of docstring features, which can be added up over several files."""

    def __init__(self) -> None:
        self.styles: Counter[Style] = Counter()
        self.below: Counter[bool] = Counter()
        self.quotes: Counter[str] = Counter()
        self.ticks: Counter[str] = Counter()
        self.conditions: Counter[str] = Counter()
        self.periods: Counter[str] = Counter()
        self.raises: Counter[str] = Counter()

    def see(self, source: Source) -> None:
        for literal, text in _docstrings(source):
            parsed = parse_docstring(text)
            if parsed.style is not None:
                self.styles[parsed.style] += 1
            self.raises.update(_RAISES_FIELD.findall(text))
            for each in (e for s in parsed.sections if s.kind == "raises" for e in s.items):
                if each.text:
                    self.conditions["if" if each.text[0].islower() else "If"] += 1
                    self.periods["." if each.text.endswith(".") else ""] += 1
            if "\n" in text.strip():
                self.below[not text.split("\n", 1)[0].strip()] += 1
            self.quotes["'''" if literal.lstrip("rRuU").startswith("'''") else '"""'] += 1
            self.ticks["``"] += len(_DOUBLE.findall(text))
            self.ticks["`"] += len(_SINGLE.findall(text))

    def add(self, other: "StyleCounts") -> None:
        self.styles += other.styles
        self.below += other.below
        self.quotes += other.quotes
        self.ticks += other.ticks
        self.conditions += other.conditions
        self.periods += other.periods
        self.raises += other.raises


def docstring_format(
    seen: Iterable[StyleCounts], *, style: Style | None, width: int
) -> DocstringFormat:
    """Return the docstring format to use.

    `width` is used as given, and so is `style` unless it is None. Every other property is taken
    from the first entry of `seen` that determines it.
    """
    habits = list(seen)
    chosen = style or _most([each.styles for each in habits]) or "google"
    return DocstringFormat(
        style=chosen,
        width=width,
        below=bool(_most([each.below for each in habits])),
        quotes=_most([each.quotes for each in habits]) or '"""',
        raises=_most([each.raises for each in habits]) or "raises",
        condition=_most([each.conditions for each in habits]) or "If",
        period=_first([each.periods for each in habits], "."),
        tick=_most([each.ticks for each in habits]) or ("``" if chosen == "rest" else "`"),
    )


def _most(counts: Iterable[Counter[Any]]) -> Any:
    """Return the most frequent value of the first non-empty counter."""
    for counter in counts:
        best = counter.most_common(1)
        if best and best[0][1]:
            return best[0][0]
    return None


def _first(counts: Iterable[Counter[str]], default: str) -> str:
    """Return the most frequent value of the first non-empty counter, which may be empty text."""
    return next((each.most_common(1)[0][0] for each in counts if each), default)


def _docstrings(source: Source) -> Iterator[tuple[str, str]]:
    for node in ast.walk(source.tree):
        if isinstance(node, (*DEFINITIONS, ast.Module)):
            text = docstring_text(node.body)
            if text:
                first = node.body[0]
                start = source.offset(first.lineno, first.col_offset)
                yield source.utf8[start : start + 5].decode("utf-8", "replace"), text
