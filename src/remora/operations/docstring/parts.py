"""The records of a docstring's parts: what code has to say, and where a text says it."""

from typing import Literal

import msgspec

Style = Literal["google", "numpy", "rest"]
STYLES: tuple[Style, ...] = ("google", "numpy", "rest")
Kind = Literal["parameters", "returns", "yields", "raises", "attributes"]


class Parameter(msgspec.Struct, frozen=True):
    """A parameter, as it is written; `kind` is its mark in the signature: `""`, `"*"`, `"**"`."""

    name: str
    kind: Literal["", "*", "**"] = ""
    annotation: str | None = None
    default: str | None = None


class Raise(msgspec.Struct, frozen=True):
    """An exception that comes out of a body, by its written name; `reason` is one line, or empty."""

    name: str
    reason: str = ""


class Describable(msgspec.Struct, frozen=True, kw_only=True):
    """What the docstring of a node may describe, in the order of the source.

    Parameters without `self`, `cls` and private ones. `outcome`: what comes out of a call, with its
    `annotation`; `attributes` are a class's annotated ones.
    """

    parameters: tuple[Parameter, ...] = ()
    raises: tuple[Raise, ...] = ()
    outcome: Literal["nothing", "returns", "yields"] = "nothing"
    annotation: str | None = None
    attributes: tuple[Parameter, ...] = ()


class Item(msgspec.Struct, frozen=True):
    """One entry of a section: lines `first` to `last` (from 0) and what they say of `names`."""

    names: tuple[str, ...]
    first: int
    last: int
    text: str = ""


class Section(msgspec.Struct, frozen=True):
    """Lines `first` to `last`, title included; `margin` is its items' indentation."""

    kind: Kind
    first: int
    last: int
    margin: int
    items: tuple[Item, ...] = ()


class ParsedDocstring(msgspec.Struct, frozen=True):
    """A docstring's lines, its first line with something on it, and the sections that are known."""

    lines: tuple[str, ...]
    summary: str
    style: Style | None
    sections: tuple[Section, ...] = ()


class DocstringFormat(msgspec.Struct, frozen=True, kw_only=True):
    """How docstrings are written here: the width of a line, where a text of several lines begins
    (`below` the quotes or behind them), which quotes, and how code is marked."""

    style: Style = "google"
    width: int = 88
    below: bool = False
    quotes: str = '"""'
    tick: str = "`"


class DocstringTexts(msgspec.Struct, frozen=True, kw_only=True):
    """What a docstring is to say. An empty text leaves its part out; `renames` are parameters that
    the docstring knows by an older name."""

    summary: str = ""
    parameters: dict[str, str] = {}
    attributes: dict[str, str] = {}
    outcome: str = ""
    raises: dict[str, str] = {}
    renames: dict[str, str] = {}
