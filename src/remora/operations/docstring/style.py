"""The docstring style and format used in a file."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from remora.code.syntax.definitions import DEFINITIONS
from remora.code.syntax.docstring_sections import Item, ParsedDocstring, Style, parse_docstring
from remora.code.syntax.signature import docstring_text
from remora.code.syntax.source import Source
from remora.operations.docstring.layout import EXAMPLES
from remora.operations.docstring.parts import DocstringFormat

_ENOUGH = 3
"""Entries in a file that show a habit."""
_RAISES_FIELD = re.compile(r"^\s*:(raises?|except(?:ion)?) ", re.MULTILINE)
_ROLE = re.compile(r"\s*(:[a-z:]+:`~?|`{0,2})[\w.]+(`{0,2})(.*)")
_DOUBLE, _SINGLE = re.compile(r"``[^`]+``"), re.compile(r"`[^`]+`(?!_)")
_INTERPRETED = re.compile(r":[a-z:]+:`[^`]*`")
"""Text with a role, such as `:class:` before the backticks."""


class ExceptionForm(NamedTuple):
    """How an entry for an exception is written: its name, and where its description is."""

    name: str = "{}"
    below: bool = False


def exception_form(parsed: ParsedDocstring, item: Item) -> ExceptionForm:
    """Return the form of an entry in a list of exceptions. Fields in reST have only one form."""
    line = parsed.lines[item.first]
    role = _ROLE.fullmatch(line)
    if parsed.style == "rest" or role is None:
        return ExceptionForm()
    below = parsed.style == "google" and item.last > item.first and not role[3].strip(" :")
    return ExceptionForm(f"{role[1]}{{}}{role[2]}", below)


class StyleCounts:
    """Counts of docstring features, which can be added up over several files.

    The features are `style`, `below`, `quotes`, `tick`, `condition`, `period`, `raises`, `raise_form`
    and `raises_last`.
    """

    def __init__(self) -> None:
        self.counts: dict[str, Counter[Any]] = defaultdict(Counter)

    def see(self, source: Source) -> None:
        counts = self.counts
        for literal, text in _docstrings(source):
            parsed = parse_docstring(text)
            if parsed.style is not None:
                counts["style"][parsed.style] += 1
            counts["raises"].update(_RAISES_FIELD.findall(text))
            self._see_exceptions(parsed)
            if "\n" in text.strip():
                counts["below"][not text.split("\n", 1)[0].strip()] += 1
            counts["quotes"]["'''" if literal.lstrip("rRuU").startswith("'''") else '"""'] += 1
            counts["tick"]["``"] += len(_DOUBLE.findall(text))
            plain = _INTERPRETED.sub("", _DOUBLE.sub("", text))
            counts["tick"]["`"] += len(_SINGLE.findall(plain))

    def _see_exceptions(self, parsed: ParsedDocstring) -> None:
        examples = next((n for n, each in enumerate(parsed.lines) if EXAMPLES.match(each)), None)
        for section in parsed.sections:
            if section.kind != "raises":
                continue
            if examples is not None:
                self.counts["raises_last"][section.first > examples] += 1
            for each in section.items:
                if each.text:
                    self.counts["condition"]["if" if each.text[0].islower() else "If"] += 1
                    self.counts["period"]["." if each.text.endswith(".") else ""] += 1
                self.counts["raise_form"][exception_form(parsed, each)] += 1

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

    def clear(feature: str, default: Any) -> Any:
        return _clear([each[feature] for each in habits], default)

    form = clear("raise_form", ExceptionForm())
    chosen = style or most("style", "google")
    return DocstringFormat(
        style=chosen,
        width=width,
        below=most("below", default=False),
        quotes=most("quotes", '"""'),
        raises=most("raises", "raises"),
        condition=clear("condition", "If"),
        period=clear("period", "."),
        raise_name=form.name,
        raise_below=form.below,
        raises_last=clear("raises_last", default=False),
        tick=most("tick", "``" if chosen == "rest" else "`"),
    )


def _most(counts: Iterable[Counter[Any]]) -> Any:
    """Return the most frequent value of the first non-empty counter."""
    for counter in counts:
        best = counter.most_common(1)
        if best and best[0][1]:
            return best[0][0]
    return None


def _clear(counts: Sequence[Counter[Any]], default: Any) -> Any:
    """Return the most frequent value of the first counter with enough of them, or of all."""
    every = sum(counts, Counter())
    clear = next((each for each in counts if each.total() >= _ENOUGH), every)
    return clear.most_common(1)[0][0] if clear else default


def _docstrings(source: Source) -> Iterator[tuple[str, str]]:
    for node in ast.walk(source.tree):
        if isinstance(node, (*DEFINITIONS, ast.Module)):
            text = docstring_text(node.body)
            if text:
                first = node.body[0]
                start = source.offset(first.lineno, first.col_offset)
                yield source.utf8[start : start + 5].decode("utf-8", "replace"), text
