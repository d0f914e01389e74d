"""Settings of isort with which it sorts imports as ruff does."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from configparser import ConfigParser
from configparser import Error as ConfigParserError

from remora.tools.tree import ToolTree

_SAME_ORDER = {
    *("profile", "skip", "skip_glob", "skip_gitignore", "extend_skip", "extend_skip_glob"),
    *("force_single_line", "line_length", "src_paths", "filter_files", "atomic"),
}
"""Settings of isort with which it sorts as ruff does, if the profile is Black's."""
_ISORT_AS_BLACK = re.compile(r"\bisort\b(?=.*--profile[=,'\" ]+black)", re.DOTALL)


def sorts_as_ruff(place: ToolTree) -> bool:
    """Return True if a project uses isort with settings that give the order of ruff."""
    settings = [*_isort_settings(place)]
    if settings:
        return all(map(_is_same_order, settings))
    return any(
        _ISORT_AS_BLACK.search(place.text_or_empty(name))
        for name in (".pre-commit-config.yaml", "tox.ini")
    )


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
