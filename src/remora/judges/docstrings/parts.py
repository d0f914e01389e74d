"""Data types for docstrings: the parts to describe, their descriptions, and the format."""

from typing import Literal

import msgspec

from remora.code.syntax.docstring_sections import Style

Mood = Literal["imperative", "indicative"]
STYLES: tuple[Style, ...] = ("google", "numpy", "rest")


class Parameter(msgspec.Struct, frozen=True):
    """A parameter as it is written in the code. `kind` is its prefix: `""`, `"*"` or `"**"`."""

    name: str
    kind: Literal["", "*", "**"] = ""
    annotation: str | None = None
    default: str | None = None


class Describable(msgspec.Struct, frozen=True, kw_only=True):
    """Parts that a function's docstring may describe, in source order.

    `parameters` does not include `self`, `cls` or private parameters. `raises` contains the names of
    exceptions, spelled as in the code. `annotation` is the return type.
    """

    parameters: tuple[Parameter, ...] = ()
    raises: tuple[str, ...] = ()
    outcome: Literal["nothing", "returns", "yields"] = "nothing"
    annotation: str | None = None


class DocstringFormat(msgspec.Struct, frozen=True, kw_only=True):
    """Docstring conventions of a file: style, line width, quotes and mood.

    If `below` is true, multi-line text starts on the line below the opening quotes. `step`
    is the indentation of an entry's description. `mood` is that of a function's first verb.
    """

    style: Style = "google"
    width: int = 88
    below: bool = False
    quotes: str = '"""'
    step: str = "    "
    mood: Mood = "imperative"
