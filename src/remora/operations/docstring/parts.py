"""Parts of a docstring: what to describe, the descriptions, and the parsed text."""

from typing import Literal

import msgspec

Style = Literal["google", "numpy", "rest"]
STYLES: tuple[Style, ...] = ("google", "numpy", "rest")
Kind = Literal["parameters", "returns", "yields", "raises", "attributes"]


class Parameter(msgspec.Struct, frozen=True):
    """A parameter as written; `kind` is its prefix in the signature: `""`, `"*"`, `"**"`."""

    name: str
    kind: Literal["", "*", "**"] = ""
    annotation: str | None = None
    default: str | None = None


class Raise(msgspec.Struct, frozen=True):
    """An exception raised by a body, with its name as written. `reason` is one line, or empty."""

    name: str
    reason: str = ""


class Describable(msgspec.Struct, frozen=True, kw_only=True):
    """Parts that a node's docstring may describe, in source order.

    `parameters` excludes `self`, `cls` and private parameters. `annotation` is the return type.
    `attributes` has the annotated attributes of a class.
    """

    parameters: tuple[Parameter, ...] = ()
    raises: tuple[Raise, ...] = ()
    outcome: Literal["nothing", "returns", "yields"] = "nothing"
    annotation: str | None = None
    attributes: tuple[Parameter, ...] = ()


class Item(msgspec.Struct, frozen=True):
    """One entry of a section: lines `first` to `last` (from 0) and their text about `names`."""

    names: tuple[str, ...]
    first: int
    last: int
    text: str = ""


class Section(msgspec.Struct, frozen=True):
    """Lines `first` to `last` (from 0), including the title. `margin` is the items' indentation."""

    kind: Kind
    first: int
    last: int
    margin: int
    items: tuple[Item, ...] = ()


class ParsedDocstring(msgspec.Struct, frozen=True):
    """A docstring's lines, its first non-blank line, and its known sections."""

    lines: tuple[str, ...]
    summary: str
    style: Style | None
    sections: tuple[Section, ...] = ()


class DocstringFormat(msgspec.Struct, frozen=True, kw_only=True):
    """Docstring conventions of a file: style, line width, quotes and code marks.

    With `below`, multi-line text starts on the line below the opening quotes.
    """

    style: Style = "google"
    width: int = 88
    below: bool = False
    quotes: str = '"""'
    tick: str = "`"


class DocstringTexts(msgspec.Struct, frozen=True, kw_only=True):
    """Texts of a docstring. A part with an empty text is left out.

    `renames` maps old parameter names to new ones.
    """

    summary: str = ""
    parameters: dict[str, str] = {}
    attributes: dict[str, str] = {}
    outcome: str = ""
    raises: dict[str, str] = {}
    renames: dict[str, str] = {}
