"""Formatting of new tests as the project formats its code."""

import textwrap

from msgspec.structs import replace

from remora.code.edit.text_lines import split_lines
from remora.errors import HostError
from remora.operations.test.cases.drafts import Draft
from remora.operations.test.insert_location import InsertLocation
from remora.tools.host.style_config import black_options, width_of
from remora.tools.tree import ToolTree

_USUAL = 4
_UNFORMATTED = b"a  =  1\n"


def formatted_draft(place: ToolTree, home: InsertLocation, draft: Draft) -> Draft:
    """Return the draft with its body formatted by ruff, with the project's settings.

    Single quotes of the neighbouring tests are kept if Black is not configured.
    """
    levels = 2 if home.owner else 1
    text = "".join(f"{' ' * 4 * level}if 1:\n" for level in range(levels))
    text += textwrap.indent("\n".join(draft.body), " " * 4 * levels) + "\n"
    done = formatted_file(place, home, text.encode()).decode()
    body = textwrap.dedent("\n".join(split_lines(done)[levels:])).strip("\n")
    return replace(draft, body=split_lines(body)) if body else draft


def formatted_file(place: ToolTree, home: InsertLocation, content: bytes) -> bytes:
    """Return the content of a test file formatted like a draft.

    In a file that the project excludes from formatting, only the width of the lines is the
    project's.
    """
    own = ["--line-length", str(width_of(place, home.path))]
    if home.indent != _USUAL:
        own += ["--config", f"indent-width={home.indent}"]
    options = black_options(place, home.path)
    if options is None and home.quote == "'":
        options = [*own, "--config", 'format.quote-style="single"']
    if options is None and home.indent != _USUAL:
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
