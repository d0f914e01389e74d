"""Number of lint findings in each node, from a single ruff run over all planned files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from remora.code.syntax.nodes import Module, Node, node_at_line
from remora.errors import ConfigError, HostError
from remora.operations.base import Amount
from remora.operations.lint.recipes.catalog import recipes_for
from remora.tools.host.ruff.ruff_process import Finding, lint_findings


def all_findings(tree: Path, modules: Sequence[Module], _options: Mapping[str, Any]) -> Amount:
    """Return a function that counts the findings on the lines that belong to a node itself.

    Raises ConfigError if ruff fails, which is usually caused by the project's ruff settings.
    """
    return _counts(_findings(tree, modules))


def fixable_findings(tree: Path, modules: Sequence[Module], options: Mapping[str, Any]) -> Amount:
    """Return a function that counts a node's findings that can be fixed.

    A finding can be fixed if there is a recipe, or if ruff has a fix, also in preview mode. Unsafe
    fixes count only if the option `unsafe_fixes` is set. Raises ConfigError if ruff fails.
    """
    unsafe = bool(options.get("unsafe_fixes"))
    recipes = recipes_for(unsafe=unsafe)
    allowed = ("safe", "unsafe") if unsafe else ("safe",)

    def has_fix(finding: Finding) -> bool:
        fix = finding["fix"]
        return fix is not None and fix["applicability"] in allowed

    fixable: list[Finding] = []
    others: list[Finding] = []
    for finding in _findings(tree, modules):
        is_fixable = finding["code"] in recipes or has_fix(finding)
        (fixable if is_fixable else others).append(finding)
    rules = sorted({each["code"] for each in others if each["code"].isalnum()})
    if rules:
        places = {(each["path"], each["code"], each["line"], each["column"]) for each in others}
        fixable += [
            each
            for each in _findings(tree, modules, rules)
            if has_fix(each)
            and (each["path"], each["code"], each["line"], each["column"]) in places
        ]
    return _counts(fixable)


def _findings(tree: Path, modules: Sequence[Module], preview: Sequence[str] = ()) -> list[Finding]:
    paths = [module.path for module in modules]
    try:
        return lint_findings(tree, paths, preview) if paths else []
    except HostError as error:  # most likely caused by the project's ruff settings
        hint = "correct the project's ruff settings"
        raise ConfigError(error.message, hint=hint) from error


def _counts(found: Sequence[Finding]) -> Amount:
    lines: dict[str, list[int]] = {}
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
