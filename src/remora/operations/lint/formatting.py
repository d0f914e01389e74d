"""Formats fixed files as the project formats its code."""

from collections.abc import Callable, Sequence

from remora.errors import HostError
from remora.tools.host.ruff.ruff_process import format_text
from remora.tools.host.style_config import black_options
from remora.tools.host.text_lines import Text
from remora.tools.tree import ToolTree


def formatter(place: ToolTree, path: str, text: Text) -> Callable[[str], bytes]:
    """Return a function that formats a changed version of a file as the file is formatted now.

    Ruff's formatter is tried with the project's ruff configuration, and then with its Black
    configuration. If neither leaves the file unchanged, its changed versions are not formatted, and
    only lose blank lines at the start that the file does not have.
    """
    content = text.bytes()
    options = _fitting_options(place, path, content)

    def formatted(body: str) -> bytes:
        changed = text._replace(body=body).bytes()
        if changed == content:
            return content
        if options is not None:
            try:
                return format_text(place, path, changed, *options)
            except HostError:  # it does not parse
                return changed
        starts_blank = text.body[:1] in ("\r", "\n")
        return changed if starts_blank else text._replace(body=body.lstrip("\r\n")).bytes()

    return formatted


def _fitting_options(
    place: ToolTree, path: str, content: bytes
) -> tuple[Sequence[str] | None] | None:
    black = black_options(place, path)
    for options in (None, black) if black is not None else (None,):
        try:
            if format_text(place, path, content, options) == content:
                return (options,)
        except HostError:  # it does not parse
            return None
    return None
