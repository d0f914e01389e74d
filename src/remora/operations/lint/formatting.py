"""Formats fixed files as the project formats its code."""

from remora.errors import HostError
from remora.tools.host.ruff.ruff_process import format_text
from remora.tools.host.style_config import black_options
from remora.tools.tree import ToolTree


def format_as_before(place: ToolTree, path: str, before: bytes, after: bytes) -> bytes:
    """Return `after`, formatted with the formatter that leaves `before` unchanged.

    Ruff's formatter is tried with the project's ruff configuration, and then with its Black
    configuration. If neither leaves `before` unchanged, `after` is returned without blank lines at
    its start that `before` does not have.
    """
    if after == before:
        return after
    black = black_options(place, path)
    for options in (None, black) if black is not None else (None,):
        try:
            if format_text(place, path, before, options) == before:
                return format_text(place, path, after, options)
        except HostError:  # one of the versions does not parse
            break
    return after if before[:1] in b"\r\n" else after.lstrip(b"\r\n")
