"""Formatting of new tests as the project formats its code."""

import textwrap

from msgspec.structs import replace

from remora.errors import HostError
from remora.operations.test.cases.test_source import Draft
from remora.operations.test.test_location import InsertLocation
from remora.tools.host.ruff.ruff_process import format_text
from remora.tools.host.style_config import black_options
from remora.tools.tree import ToolTree


def formatted_draft(place: ToolTree, home: InsertLocation, draft: Draft) -> Draft:
    """Return the draft with its body formatted by ruff, with the project's settings.

    The quotes of the neighbouring tests are kept.
    """
    quotes = "single" if home.quote == "'" else "preserve"
    options = black_options(place, home.path)
    levels = 2 if home.owner else 1
    text = "".join(f"{' ' * 4 * level}if 1:\n" for level in range(levels))
    text += textwrap.indent("\n".join(draft.body), " " * 4 * levels) + "\n"
    if options is None and home.quote == "'":
        options = ["--config", f'format.quote-style="{quotes}"']
    try:
        done = format_text(place, home.path, text.encode(), options).decode()
    except HostError:  # it does not parse, which the checks report
        return draft
    body = textwrap.dedent("\n".join(done.splitlines()[levels:])).strip("\n")
    return replace(draft, body=body.splitlines()) if body else draft
