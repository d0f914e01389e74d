"""Order and lines of a project's imports, by its settings of isort and its files."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice

from remora.tools.file_tree import FileTree

_MOST_FILES = 40
_LEAST = 3
_NAMING = (
    ".pre-commit-config.yaml", "pyproject.toml", ".isort.cfg", "setup.cfg", "tox.ini", "Makefile"
)  # fmt: skip
_FORCED = re.compile(
    r"--force-single-line\b|^\s*force_single_line\s*=\s*true", re.IGNORECASE | re.MULTILINE
)
_ONE_NAME = re.compile(r"^from (\S+) import \w+(?: as \w+)?[ \t]*(?:#.*)?$", re.MULTILINE)
_SOME_NAMES = re.compile(r"^from \S+ import (?:\(|\w+(?: as \w+)?,)", re.MULTILINE)


def tool_settings(place: FileTree, tool: str) -> Iterator[Mapping[str, object]]:
    """Yield the settings of isort or flake8 in each file that has some."""
    tools = place.toml("pyproject.toml").get("tool")
    found = tools.get(tool) if isinstance(tools, dict) else None
    if isinstance(found, dict):
        yield found
    for name in (f".{tool}", f".{tool}.cfg", "setup.cfg", "tox.ini"):
        parser = place.ini(name)
        yield from (
            dict(parser[section])
            for section in ("settings", tool, f"tool:{tool}")
            if parser.has_section(section) and (section != "settings" or name.startswith("."))
        )


def imports_one_per_line(place: FileTree) -> bool:
    """Return True if a project imports several names of a module in as many lines.

    Isort's settings and arguments say so, or the first files, of which few may import several names
    in a line.
    """
    if any(_FORCED.search(place.text_or_empty(name)) for name in _NAMING):
        return True
    repeated = together = 0
    for _, content in islice(place.contents("**/*.py"), _MOST_FILES):
        body = content.decode("utf-8-sig", "replace")
        alone = Counter(_ONE_NAME.findall(body))
        repeated += sum(number > 1 for number in alone.values())
        together += len(_SOME_NAMES.findall(body))
    return repeated >= _LEAST and repeated > 4 * together
