"""The host function that lists the findings of a file, or of some nodes of a file."""

from collections.abc import Sequence
from typing import Any

from remora.code.edit.text_lines import decode
from remora.code.syntax.extract import parse_module
from remora.code.syntax.nodes import Module, lines_of_nodes
from remora.errors import HostError
from remora.ids import escape_path, node_key
from remora.operations.lint.fixable_findings import place_of
from remora.operations.lint.left_alone import kept_findings
from remora.tools.host.ruff.finding import Finding
from remora.tools.node_findings import describe_findings
from remora.tools.tree import ToolTree


def file_findings(place: ToolTree, path: str, nodes: list[str]) -> dict[str, Any]:
    """Return the findings on the lines of several nodes of a file.

    `nodes` contains qualnames. If it is empty, the findings of the whole file are returned. The
    result has the same keys as the result of `node_findings`. Each finding also has `kept`, the reason
    why fixes leave it alone, which is empty if they do not.
    """
    content = place.read(path)
    body = decode(path, content).body
    every = place.ruff.check_text(path, content)
    found = findings_on_nodes(path, content, every, nodes)
    described = describe_findings(body, found)
    kept = kept_findings(place, path, body, every)
    for each in described["findings"]:
        each["kept"] = kept.get(place_of(each), "")
    return described


def findings_on_nodes(
    path: str, content: bytes, findings: list[Finding], nodes: Sequence[str]
) -> list[Finding]:
    """Return the findings on the lines of some nodes of a file, or all if no nodes are given."""
    if not nodes:
        return findings
    module = parse_module(path, content)
    if not isinstance(module, Module):
        raise HostError(f"{path}: {module.detail}")
    own = lines_of_nodes(module, [node_key(escape_path(path), node) for node in nodes])
    return [finding for finding in findings if finding["line"] in own]
