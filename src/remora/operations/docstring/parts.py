"""Data types for docstrings: the parts to describe, their descriptions, and parsed docstrings."""

from typing import Literal

import msgspec

Style = Literal["google", "numpy", "rest"]
STYLES: tuple[Style, ...] = ("google", "numpy", "rest")
Kind = Literal["parameters", "returns", "yields", "raises", "attributes"]


class Parameter(msgspec.Struct, frozen=True):
    """A parameter as it is written in the code. `kind` is its prefix: `""`, `"*"` or `"**"`."""

    name: str
    kind: Literal["", "*", "**"] = ""
    annotation: str | None = None
    default: str | None = None


class Raise(msgspec.Struct, frozen=True):
    """An exception raised in a function body. `name` is spelled as in the code.

    `reason` is a single line or empty.
    """

    name: str
    reason: str = ""


class Describable(msgspec.Struct, frozen=True, kw_only=True):
    """Parts that a function's docstring may describe, in source order.

    `parameters` does not include `self`, `cls` or private parameters. `annotation` is the return
    type.
    """

    parameters: tuple[Parameter, ...] = ()
    raises: tuple[Raise, ...] = ()
    outcome: Literal["nothing", "returns", "yields"] = "nothing"
    annotation: str | None = None


class Item(msgspec.Struct, frozen=True):
    """An entry of a section.

    `first` and `last` are its first and last line, counted from 0. `text` describes `names`.
    """

    names: tuple[str, ...]
    first: int
    last: int
    text: str = ""


class Section(msgspec.Struct, frozen=True):
    """A section of a docstring.

    The section, including its title, extends from line `first` to line `last`, counted from 0.
    """

    kind: Kind
    first: int
    last: int
    items: tuple[Item, ...] = ()


class ParsedDocstring(msgspec.Struct, frozen=True):
    """The lines of a docstring, its summary (the first non-blank line) and its known sections."""

    lines: tuple[str, ...]
    summary: str
    style: Style | None
    sections: tuple[Section, ...] = ()


class DocstringFormat(msgspec.Struct, frozen=True, kw_only=True):
    """Docstring conventions of a file: style, line width, quotes, and backticks for code.

    If `below` is true, multi-line text starts on the line below the opening quotes. `condition` is
    how a description of an exception begins, `period` is how it ends, and `raises` is the name of
    its field in reST. `raise_name` is how its name is written elsewhere, such as `:class:`{}``. If
    `raise_below` is true, the description is below the name. If `raises_last` is true, the list of
    exceptions comes after the examples. `step` is the indentation of an entry's description.
    """

    style: Style = "google"
    width: int = 88
    below: bool = False
    quotes: str = '"""'
    tick: str = "`"
    condition: str = "If"
    period: str = "."
    raises: str = "raises"
    raise_name: str = "{}"
    raise_below: bool = False
    raises_last: bool = False
    step: str = "    "


class DocstringTexts(msgspec.Struct, frozen=True, kw_only=True):
    """The descriptions in a docstring. A part with an empty description is omitted."""

    summary: str = ""
    parameters: dict[str, str] = {}
    outcome: str = ""
    raises: dict[str, str] = {}
