"""Access to the files of a tree, within a time limit."""

import ast
import math
import re
import time
from collections.abc import Iterator
from configparser import ConfigParser
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from remora.code.pytest_model.pytest_settings import (
    SETTINGS_FILES,
    PytestSettings,
    parse_ini,
    parse_toml,
    pytest_settings,
)
from remora.code.syntax.source import Source, read_source
from remora.errors import HostError
from remora.files.reserved_names import reserved
from remora.threads import raise_if_cancelled
from remora.workspaces.rooted_files import RootedFiles

TEXT_LIMIT = 1024 * 1024
NO_SUBPROCESS = "none"
_PRINTABLE, _DELETE = 0x20, 0x7F


class FileTree:
    """Files of a tree, with a time limit and an isolation level."""

    def __init__(self, tree: Path) -> None:
        self.tree = tree
        self.files = RootedFiles(tree)
        self.isolation = NO_SUBPROCESS
        """The weakest isolation level of any subprocess so far."""
        self._seconds = self._ends = math.inf

    @cached_property
    def seen(self) -> Path:
        """The path of the tree inside subprocesses."""
        return self.tree.resolve()

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Limit the block to `seconds`. Long-running work must call `left` to enforce the limit.

        Within another block, the earlier limit counts.
        """
        outer = self._seconds, self._ends
        ends = time.monotonic() + seconds
        if ends < self._ends:
            self._seconds, self._ends = seconds, ends
        try:
            yield
        finally:
            self._seconds, self._ends = outer

    def left(self) -> float:
        """Return the number of seconds left. Raises HostError if the time limit has passed.

        Raises Cancelled if the work of this thread is cancelled.
        """
        raise_if_cancelled()
        left = self._ends - time.monotonic()
        if left <= 0:
            raise HostError(f"not finished within {self._seconds:g} seconds")
        return left

    def note_isolation(self, level: str) -> None:
        """Record the isolation level of a subprocess. `L0` is the weakest level."""
        self.isolation = level if self.isolation == NO_SUBPROCESS else min(self.isolation, level)

    def read(self, path: str) -> bytes:
        """Return the content of a file. Raises HostError if the file cannot be read or is larger
        than TEXT_LIMIT.
        """
        return self.files.read_bytes(path, limit=TEXT_LIMIT)

    def contents(self, *patterns: str) -> Iterator[tuple[str, bytes]]:
        """Yield the path and content of each file that matches one of some globs.

        Files that cannot be read, such as large ones, are left out.
        """
        for pattern in patterns:
            for path in self.files.glob(pattern, look=self.left):
                with suppress(HostError):
                    yield path, self.read(path)

    def syntax_tree(self, path: str) -> ast.Module | None:
        """Return the syntax tree of a Python file, or None if it cannot be read."""
        try:
            source = read_source(path, self.read(path))
        except HostError:  # deleted or too large
            return None
        return source.tree if isinstance(source, Source) else None

    def toml(self, path: str) -> dict[str, Any]:
        """Return the document in a TOML file, which is empty if it cannot be read."""
        return parse_toml(self.text_or_empty(path))

    def ini(self, path: str) -> ConfigParser:
        """Return the options in an INI file. There are none if it cannot be read."""
        return parse_ini(self.text_or_empty(path))

    def pytest_settings(self) -> PytestSettings:
        return pytest_settings(tuple(map(self.text_or_empty, SETTINGS_FILES)))

    def text_or_empty(self, path: str, limit: int = TEXT_LIMIT) -> str:
        """Return a file's text, or an empty string if it cannot be read or is larger than `limit`."""
        try:
            if not self.files.exists(path):
                return ""
            return self.files.read_bytes(path, limit=limit).decode("utf-8-sig", "replace")
        except HostError:
            return ""

    def write(self, path: str, content: bytes) -> None:
        self._refuse_reserved(path, content)
        self.files.write_bytes(path, content)

    def create(self, path: str, content: bytes) -> None:
        """Write a new file. Raises HostError if the file already exists or cannot be written."""
        self._refuse_reserved(path, content)
        if any(0 < ord(letter) < _PRINTABLE or ord(letter) == _DELETE for letter in path):
            raise HostError(f"{path!r}: a new file's name must not contain control characters")
        if re.match(r"[./]*-", path):
            raise HostError(f"{path!r}: begins with `-`, which commands would read as an option")
        self.files.create(path, content)

    def _refuse_reserved(self, path: str, content: bytes) -> None:
        """Raise HostError if tools must not write the file, or if it would be too large."""
        kind = reserved(path)
        if kind == "records":
            raise HostError(f"{path}: tools must not change version control data or recordings")
        if kind == "settings":
            raise HostError(f"{path}: tools must not change the configuration of agents")
        if len(content) > TEXT_LIMIT:
            raise HostError(f"{path}: would become larger than {TEXT_LIMIT} bytes")
