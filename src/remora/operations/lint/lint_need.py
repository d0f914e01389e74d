"""Number of lint findings in each node, from a single ruff run over all planned files."""

from collections.abc import Sequence
from pathlib import Path

from remora.code.syntax.nodes import Module, Node, node_at_line
from remora.errors import ConfigError, HostError
from remora.operations.base import Amount
from remora.tools.host.ruff.ruff_process import lint_findings


def findings_by_node(tree: Path, modules: Sequence[Module]) -> Amount:
    """Return a function that counts the findings on the lines that belong to a node itself.

    Raises ConfigError if ruff fails, which is usually caused by the project's ruff settings.
    """
    lines: dict[str, list[int]] = {}
    try:
        found = lint_findings(tree, [module.path for module in modules]) if modules else []
    except HostError as error:  # most likely caused by the project's ruff settings
        hint = "correct the project's ruff settings"
        raise ConfigError(error.message, hint=hint) from error
    for finding in found:
        lines.setdefault(finding["path"], []).append(int(finding["line"]))
    counts: dict[str, dict[str, int]] = {}

    def amount(module: Module, node: Node) -> int:
        if module.path not in counts:
            counts[module.path] = _by_owner(module, lines.get(module.path, []))
        return counts[module.path].get(node.key, 0)

    return amount


def _by_owner(module: Module, lines: Sequence[int]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for line in lines:
        key = node_at_line(module, line)
        counts[key] = counts.get(key, 0) + 1
    return counts
