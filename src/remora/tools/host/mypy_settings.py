"""The settings of mypy in a project's configuration files."""

import configparser
import tomllib
from collections.abc import Mapping

MYPY_FILES = ("mypy.ini", ".mypy.ini", "pyproject.toml", "setup.cfg")


def mypy_settings(settings: Mapping[str, bytes]) -> Mapping[str, object] | None:
    """Return the global settings of mypy, or None if there are none."""
    tool = tool_settings(settings).get("mypy")
    if isinstance(tool, dict):
        return tool
    for name in MYPY_FILES:
        parser = configparser.ConfigParser(interpolation=None, strict=False)
        try:
            parser.read_string(settings.get(name, b"").decode("utf-8"))
        except (configparser.Error, UnicodeDecodeError):
            continue
        if parser.has_section("mypy"):
            return dict(parser["mypy"])
    return None


def tool_settings(settings: Mapping[str, bytes]) -> Mapping[str, object]:
    """Return the table `tool` of `pyproject.toml`."""
    try:
        document = tomllib.loads(settings.get("pyproject.toml", b"").decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return {}
    tool = document.get("tool")
    return tool if isinstance(tool, dict) else {}
