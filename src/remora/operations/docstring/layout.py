"""Layout of docstrings in Google, NumPy or reST style."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from remora.operations.docstring.parts import (
    Describable,
    DocstringFormat,
    DocstringTexts,
    Kind,
    Parameter,
)

_TITLES: Mapping[Kind, tuple[str, str]] = {
    "parameters": ("Args", "Parameters"),
    "returns": ("Returns", "Returns"),
    "yields": ("Yields", "Yields"),
    "raises": ("Raises", "Raises"),
}
_FIELDS: Mapping[Kind, str] = {
    "parameters": "param",
    "returns": "returns",
    "yields": "yields",
    "raises": "raises",
}


def docstring_lines(
    texts: DocstringTexts, describable: Describable, formatting: DocstringFormat, indent: str
) -> list[str]:
    """Return the lines between the quotes. The first line is not indented."""
    sections = list(_sections(texts, describable))
    body: list[str] = []
    for kind, entries in sections:
        together = formatting.style == "rest" and body
        body += [] if together else [""]
        body += section_lines(kind, entries, formatting, indent)
    return [texts.summary, *body]


Entry = tuple[Parameter, str]
"""A part and its description. The outcome's part has an empty name."""


def _sections(
    texts: DocstringTexts, describable: Describable
) -> Iterator[tuple[Kind, list[Entry]]]:
    """Yield the sections. A section is omitted if any of its descriptions is missing."""
    entries = [(each, texts.parameters.get(each.name, "")) for each in describable.parameters]
    if entries and all(text for _, text in entries):
        yield "parameters", entries
    if texts.outcome and describable.outcome != "nothing":
        yield (
            describable.outcome,
            [(Parameter("", annotation=describable.annotation), texts.outcome)],
        )
    raises = [
        (Parameter(each.name), texts.raises.get(each.name, "")) for each in describable.raises
    ]
    if raises and all(text for _, text in raises):
        yield "raises", raises


def section_lines(
    kind: Kind, entries: Sequence[Entry], formatting: DocstringFormat, indent: str
) -> Iterator[str]:
    """Yield the lines of a section, with its title. All lines are indented."""
    google, numpy = _TITLES[kind]
    if formatting.style == "rest":
        for entry in entries:
            yield from item_lines(kind, entry, formatting, indent)
        return
    if formatting.style == "numpy":
        yield from (indent + numpy, indent + "-" * len(numpy))
        inner = indent
    else:
        yield f"{indent}{google}:"
        inner = indent + formatting.step
    for entry in entries:
        yield from item_lines(kind, entry, formatting, inner)


def item_lines(kind: Kind, entry: Entry, formatting: DocstringFormat, margin: str) -> list[str]:
    """Return the lines of one section entry, indented by `margin`."""
    what, text = entry
    name = what.kind.replace("*", "\\*" if formatting.style == "rest" else "*") + what.name
    if formatting.style == "numpy":
        head = _numpy_head(kind, what, name)
        head = formatting.raise_name.format(head) if kind == "raises" else head
        wrapped = _wrapped(text, formatting.width, margin + formatting.step if head else margin)
        return [margin + head, *wrapped] if head else wrapped
    if formatting.style == "rest":
        field = formatting.raises if kind == "raises" else _FIELDS[kind]
        field = f":{field}{' ' + name if name else ''}:"
        return _wrapped(f"{field} {text}".rstrip(), formatting.width, margin, formatting.step)
    if kind == "raises":
        name = formatting.raise_name.format(name)
        if formatting.raise_below:
            return [margin + name, *_wrapped(text, formatting.width, margin + formatting.step)]
    return _wrapped(
        f"{name}: {text}".rstrip() if name else text, formatting.width, margin, formatting.step
    )


def _numpy_head(kind: Kind, what: Parameter, name: str) -> str:
    if kind in ("returns", "yields"):
        return what.annotation or ""
    if kind != "parameters":
        return name
    optional = ", optional" if what.default is not None and what.annotation else ""
    return f"{name} : {what.annotation}{optional}" if what.annotation else name


def _wrapped(text: str, width: int, first: str, deeper: str = "") -> list[str]:
    if not text:
        return []
    room = max(width, len(first.expandtabs()) + 32)
    return textwrap.wrap(
        text,
        room,
        initial_indent=first,
        subsequent_indent=first + deeper,
        break_long_words=False,
        break_on_hyphens=False,
        expand_tabs=False,
        replace_whitespace=False,
    )
