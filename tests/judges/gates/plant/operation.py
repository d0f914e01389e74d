"""An operation that makes the changes of `plants.json`, to see what gates say of them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from remora.code.syntax.nodes import Module, Node
from remora.operations.base import Amount, Need, Operation, Parts
from remora.tools.host_functions import HostFunction
from remora.tools.tree import ToolTree

PLANTS = "plants.json"


def make_planted_changes(place: ToolTree, path: str) -> str:
    """Replace each old text of a file by its new text."""
    content = place.read(path).decode()
    for old, new in _plants(place)[path]:
        assert old in content
        content = content.replace(old, new)
    place.write(path, content.encode())
    return path


def _plants(place: ToolTree) -> dict[str, list[list[str]]]:
    found: dict[str, list[list[str]]] = json.loads(place.read(PLANTS))
    return found


def planted(place: ToolTree, modules: Sequence[Module], options: Mapping[str, Any]) -> Amount:
    """Return 1 for a module with planted changes."""
    paths = _plants(place).keys()

    def amount(module: Module, node: Node) -> int:
        return int(module.path in paths and node.node_type == "module")

    return amount


OPERATION = Operation(
    name="plant",
    folder=Path(__file__).parent,
    load=lambda: Parts(
        needs={"planted": Need(prepare=planted)},
        host_functions=(HostFunction(function=make_planted_changes),),
    ),
)
