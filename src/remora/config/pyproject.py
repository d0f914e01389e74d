"""Project settings in the `[tool.remora]` table of pyproject.toml."""

from pathlib import Path
from typing import TYPE_CHECKING

from remora.errors import ConfigError
from remora.regular_file import open_regular

if TYPE_CHECKING:
    from remora.config.yaml_positions import ParsedYaml

NAME = "pyproject.toml"
_TABLE = b"tool.remora"
_MAX_SEARCHED = 1 << 20  # bytes; a larger file is not parsed for settings


def has_settings(root: Path) -> bool:
    """Return True if pyproject.toml seems to have a `[tool.remora]` table.

    This is a plain text search. The file is not parsed.
    """
    return _TABLE in _source(root).replace(b" ", b"").replace(b'"', b"")


def read_settings(root: Path) -> "ParsedYaml | None":
    """Return the `[tool.remora]` table, or None if it is missing.

    Raises ConfigError if the file is not valid TOML encoded as UTF-8.
    """
    import tomllib

    from remora.config.yaml_positions import KeyPath, ParsedYaml

    if not has_settings(root):
        return None
    path = root / NAME
    try:
        table = tomllib.loads(_source(root).decode()).get("tool", {}).get("remora")
    except ValueError as error:
        raise ConfigError(
            f"{path}: {error}", hint="the file must be valid TOML in UTF-8"
        ) from error
    if table is None:
        return None
    place = f"{path} [tool.remora]"
    places: dict[KeyPath, str] = {}

    def mark(value: object, where: KeyPath) -> None:
        places[where] = place
        inner = value.items() if isinstance(value, dict) else ()
        for key, below in [*inner, *(enumerate(value) if isinstance(value, list) else ())]:
            mark(below, (*where, key))

    mark(table, ())
    return ParsedYaml(table, places, places)


def _source(root: Path) -> bytes:
    path = root / NAME
    try:
        # an error would quote a file from outside the project
        with open_regular(path, within=root) as file:
            return file.read(_MAX_SEARCHED)
    except OSError:  # other tools report it, and it may have no settings for Remora
        return b""
