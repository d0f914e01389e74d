"""Remembers how texts were parsed: most runs are of the same few agents."""

import functools
from collections.abc import Callable, Iterable
from copy import deepcopy
from pathlib import Path
from types import ModuleType

from remora.config import yaml_positions
from remora.config.yaml_positions import ParsedYaml
from remora.errors import ScriptError
from remora.pym import script
from remora.pym.declarations import parse_declarations
from remora.pym.script_problems import find_problems


def parse_each_text_once(
    replace: Callable[[ModuleType, str, object], None] = setattr, right: Iterable[Path] = ()
) -> None:
    """Have this process parse a text only once. `replace` is called like `setattr`."""
    parsed = functools.lru_cache(maxsize=256)(yaml_positions.read_yaml)
    checked = functools.lru_cache(maxsize=256)(find_problems)

    def read_yaml(source: bytes, name: str) -> ParsedYaml:
        found = parsed(source, name)
        return found._replace(value=deepcopy(found.value))

    replace(yaml_positions, "read_yaml", read_yaml)
    declared = functools.lru_cache(maxsize=256)(parse_declarations)
    replace(script, "parse_declarations", declared)
    sound = {declared(path.read_text("utf-8"), path.name).runs for path in right}

    def problems(label: str, runs: str, checks: str) -> list[ScriptError]:
        return [] if runs in sound else [*checked(label, runs, checks)]

    replace(script, "find_problems", problems)
