"""Number of missing annotations of each function that have a likely candidate."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from remora.code.syntax.nodes import Module, Node
from remora.errors import ConfigError, HostError
from remora.operations.base import Amount
from remora.operations.types.shared_inference import project_texts, session_for
from remora.operations.types.source.slots import SourceText, functions_of
from remora.tools.host.ruff.config_files import supports_python_2
from remora.tools.tree import ToolTree


def unannotated(tree: Path, modules: Sequence[Module], options: Mapping[str, Any]) -> Amount:
    """Return a function that counts the annotations of a node that are likely enough.

    The type checker may still refuse them. Functions of projects that support Python 2, which has
    no annotations, are left out with a reason. Raises ConfigError if the type checker fails.
    """
    place = ToolTree(tree, observed=options.get("observed"))
    if supports_python_2(place):
        return _left_out
    texts = project_texts(place)
    paths = [module.path for module in modules]
    try:
        found = session_for(place, texts).select(paths) if paths else []
    except HostError as error:
        raise ConfigError(error.message, hint="see `remora doctor`") from error
    numbers: dict[str, Counter[int]] = {}
    for path, slot in found:
        numbers.setdefault(path, Counter())[slot.number] += 1
    lines: dict[str, Counter[int]] = {}

    def amount(module: Module, node: Node) -> int:
        counts = numbers.get(module.path)
        if counts is None or node.node_type != "function":
            return 0
        if module.path not in lines:
            tree = SourceText(texts[module.path]).tree
            starts = [each.lineno for _, each, _ in functions_of(tree)]
            lines[module.path] = Counter({starts[number]: n for number, n in counts.items()})
        inside = range(node.line_start, node.line_end + 1)
        return sum(n for line, n in lines[module.path].items() if line in inside)

    return amount


def _left_out(_module: Module, node: Node) -> int | str:
    return "in a project that supports Python 2" if node.node_type == "function" else 0
