"""Import sorters other than ruff's, whose order of imports ruff's rule I001 would change."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from configparser import ConfigParser
from configparser import Error as ConfigParserError

from remora.tools.host.ruff.import_lines import imports_one_per_line
from remora.tools.tree import ToolTree

_SAME_ORDER = {
    *("profile", "skip", "skip_glob", "skip_gitignore", "extend_skip", "extend_skip_glob"),
    *("force_single_line", "line_length", "src_paths", "filter_files", "atomic"),
}
"""Settings of isort with which it sorts as ruff does, if the profile is Black's."""
_OTHER = re.compile(r"reorder[-_]python[-_]imports|\b(?:usort|zimports)\b")
_ISORT = re.compile(r"\bisort\b")
_BLACK_PROFILE = re.compile(r"--profile[=,'\" ]+black")
_ONE_NAME = re.compile(r"^from (\S+) import \w+(?: as \w+)?[ \t]*$", re.MULTILINE)
_SOME_NAMES = re.compile(r"^from (\S+) import (?:\(|\w+(?: as \w+)?,)", re.MULTILINE)
_LEAST = 3


def has_other_order(place: ToolTree, body: str) -> bool:
    """Return True if a project or a file sorts its imports in another way than ruff."""
    settings = [*_isort_settings(place)]
    if settings:
        return not all(map(_is_same_order, settings))
    named = "\n".join(place.text_or_empty(name) for name in (".pre-commit-config.yaml", "tox.ini"))
    if _OTHER.search(named) or (_ISORT.search(named) and not _BLACK_PROFILE.search(named)):
        return True
    if imports_one_per_line(place):  # ruff is told so
        return False
    alone = Counter(_ONE_NAME.findall(body))
    together = set(_SOME_NAMES.findall(body))
    return any(number >= _LEAST and name not in together for name, number in alone.items())


def _is_same_order(settings: Mapping[str, object]) -> bool:
    return settings.get("profile") == "black" and settings.keys() <= _SAME_ORDER


def _isort_settings(place: ToolTree) -> Iterator[Mapping[str, object]]:
    """Yield the settings of isort in each file that has some."""
    try:
        tool = tomllib.loads(place.text_or_empty("pyproject.toml")).get("tool")
        found = tool.get("isort") if isinstance(tool, dict) else None
        if isinstance(found, dict):
            yield found
    except (tomllib.TOMLDecodeError, RecursionError):
        pass  # ruff reports the error
    for name in (".isort.cfg", "setup.cfg", "tox.ini"):
        parser = ConfigParser(interpolation=None, strict=False)
        try:
            parser.read_string(place.text_or_empty(name))
        except ConfigParserError:
            continue
        yield from (
            dict(parser[section])
            for section in ("settings", "isort", "tool:isort")
            if parser.has_section(section) and (section != "settings" or name == ".isort.cfg")
        )
