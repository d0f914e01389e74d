"""Findings that a change adds, and which of them no safe fix removes."""

import re
from collections import Counter
from typing import Any

from remora.code.syntax.extract import parse_module
from remora.code.syntax.nodes import Module, find_node, own_lines
from remora.ids import escape_path, node_key
from remora.tools.host.ruff.node_findings import fix_within
from remora.tools.host.ruff.ruff_process import Finding, check_text
from remora.tools.tree import ToolTree

_NUMBER = re.compile(r"\d+")


def new_findings(before: list[Finding], after: list[Finding]) -> list[Finding]:
    """Return the findings in `after` that are not in `before`.

    Because line numbers shift, findings are compared by code and by message without numbers.
    """
    known = Counter(map(_comparison_key, before))
    extra: list[Finding] = []
    for finding in after:
        if known[_comparison_key(finding)] > 0:
            known[_comparison_key(finding)] -= 1
        else:
            extra.append(finding)
    return extra


def lasting_new_finding(
    place: ToolTree, path: str, node: str, before: list[Finding], content: bytes
) -> str | None:
    """Describe a finding that `content` would add and no safe fix on the node's lines removes.

    Returns None if there is no such finding. For example, an import left unsorted is sorted by the
    next fix, but an import left unused on another node's lines stays.
    """
    extra = new_findings(before, check_text(place, path, content))
    if not extra:
        return None
    module = parse_module(path, content)
    if not isinstance(module, Module):
        return module.detail
    key = node_key(escape_path(path), node)
    own = own_lines(module, key) if find_node(module, key) is not None else frozenset()
    for finding in extra:
        if not (_is_safe(finding["fix"]) and fix_within(finding["fix"], own)):
            return f"it would add {finding['code']} in line {finding['line']}"
    return None


def _comparison_key(finding: Finding) -> tuple[str, str]:
    return str(finding.get("code")), _NUMBER.sub("N", str(finding.get("message")))


def _is_safe(fix: dict[str, Any] | None) -> bool:
    return fix is not None and fix["applicability"] == "safe"
