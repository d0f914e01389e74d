"""Files that need a newer Python than the one that runs Remora."""

import re
import stat
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from remora.code.syntax.source import parse_error
from remora.errors import HostError
from remora.rmtree import temporary_folder
from remora.tools.file_tree import TEXT_LIMIT, FileTree
from remora.tools.host.ruff.ruff import Ruff

_ADDED = re.compile(r"\(syntax was added in Python 3\.(\d+)\)")
"""How ruff ends the message about syntax that the target version does not have."""
_TEXT = "text.py"
"""The file that ruff reads a text from."""


def why_unreadable(source: bytes) -> str:
    """Return the error of a text that does not parse, or an empty string.

    For syntax that a newer Python has, it says which one.
    """
    if not (error := parse_error(source)):
        return ""
    with temporary_folder("syntax-") as folder:
        (folder / _TEXT).write_bytes(source)
        return newer_syntax(folder, [_TEXT]).get(_TEXT, error)


def newer_syntax(
    tree: Path, paths: Sequence[str], minor: int = sys.version_info.minor
) -> dict[str, str]:
    """Return for files that Python 3.`minor` cannot parse, but a newer one can, why and what to do.

    Files that no version can parse are left out, and so is what is not a regular file or is larger
    than TEXT_LIMIT, because ruff reads files whole.
    """
    paths = [path for path in paths if _is_small_file(tree / path)]
    needed = dict[str, tuple[int, int]]()
    broken = set[str]()
    with suppress(HostError):  # the reasons of the parser remain
        for finding in Ruff(FileTree(tree)).syntax_errors(paths, minor) if paths else ():
            path, added = finding["path"], _ADDED.search(finding["message"])
            if added is None:
                broken.add(path)
            elif int(added[1]) > needed.get(path, (0, 0))[0]:
                needed[path] = int(added[1]), finding["line"]
    return {
        path: f"line {line}: syntax of Python 3.{newest}, but Remora runs on 3.{minor}; reinstall it "
        f"with Python 3.{newest} or newer"
        for path, (newest, line) in needed.items()
        if path not in broken
    }


def _is_small_file(path: Path) -> bool:
    try:
        status = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size <= TEXT_LIMIT
