"""Format of new tests, which is that of the project."""

import textwrap

from remora.code.edit.text_lines import split_lines
from remora.errors import HostError
from remora.operations.test.insert_location import InsertLocation
from remora.tools.host.style_config import black_options, formatter_width, width_of
from remora.tools.tree import ToolTree

_USUAL_INDENT = "    "
_UNFORMATTED = b"a  =  1\n"
"""A line that a formatter changes, if it formats the file."""


def formatted_lines(place: ToolTree, home: InsertLocation, body: str, *, levels: int) -> str:
    """Return statements as ruff formats them in a test file, indented by some levels there."""
    text = "".join(f"{' ' * 4 * level}if 1:\n" for level in range(levels))
    text += textwrap.indent(body, " " * 4 * levels) + "\n"
    done = formatted_file(place, home, text.encode()).decode()
    return textwrap.dedent("\n".join(split_lines(done)[levels:])).strip("\n")


def formatted_file(place: ToolTree, home: InsertLocation, content: bytes) -> bytes:
    """Return the content of a test file formatted like a draft.

    Without a formatter, and in a file that the project excludes from formatting, only the width of
    the lines is the project's.
    """
    own = ["--line-length", str(width_of(place, home.path))]
    is_unusual = home.quote == "'" or home.indent != _USUAL_INDENT
    if home.quote == "'":
        own += ["--config", 'format.quote-style="single"']
    if home.indent != _USUAL_INDENT:
        spaces = f"indent-width={len(home.indent)}"
        style = 'format.indent-style="tab"' if home.indent == "\t" else spaces
        own += ["--config", style]
    options = black_options(place, home.path)
    if options is None and (is_unusual or formatter_width(place, home.path) is None):
        options = own
    try:
        if (
            options is None
            and place.ruff.format_text(home.path, _UNFORMATTED, None) == _UNFORMATTED
        ):
            options = own
        return place.ruff.format_text(home.path, content, options)
    except HostError:  # it does not parse, which the checks report
        return content
