"""Formats fixed files as the project formats its code."""

from collections.abc import Sequence
from functools import cached_property

from remora.errors import HostError
from remora.tools.host.ruff.ruff_process import format_text, is_formatted
from remora.tools.host.style_config import black_options, width_of
from remora.tools.host.text_lines import Text
from remora.tools.tree import ToolTree

_OF_PARTS = ("--config", 'format.quote-style="preserve"')


class FileFormat:
    """Formats changed versions of a file as the file is formatted now.

    Ruff's formatter is tried with the project's ruff configuration, and then with its Black
    configuration. If neither leaves the file unchanged, its changed versions are not formatted, and
    only lose blank lines at the start that the file does not have.
    """

    def __init__(self, place: ToolTree, path: str, text: Text) -> None:
        self._place = place
        self._path = path
        self._text = text

    @cached_property
    def width(self) -> int:
        return width_of(self._place, self._path)

    @property
    def is_known(self) -> bool:
        """True if the file is formatted by a formatter."""
        return self._options is not None

    def formatted(self, body: str) -> bytes:
        """Return a changed version of the file in its format."""
        changed = self._text._replace(body=body).bytes()
        if body == self._text.body:
            return changed
        if self._options is not None:
            try:
                return format_text(self._place, self._path, changed, *self._options)
            except HostError:  # it does not parse
                return changed
        if self._text.body[:1] in ("\r", "\n"):
            return changed
        return self._text._replace(body=body.lstrip("\r\n")).bytes()

    def format_part(self, body: str) -> str | None:
        """Return code in the style of ruff, with its quotes, or None if it does not parse."""
        options = ["--line-length", str(self.width), *_OF_PARTS]
        try:
            return format_text(self._place, self._path, body.encode(), options).decode()
        except HostError:
            return None

    @cached_property
    def _options(self) -> tuple[Sequence[str] | None] | None:
        content = self._text.bytes()
        black = black_options(self._place, self._path)
        for options in (None, black) if black is not None else (None,):
            try:
                if is_formatted(self._place, self._path, content, options):
                    return (options,)
            except HostError:  # it does not parse
                return None
        return None
