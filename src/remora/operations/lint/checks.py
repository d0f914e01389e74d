"""Checks that a lint change removes findings, by whole fixes."""

import ast
from collections.abc import Iterator
from typing import Any

from remora.code.edit.comments import silences_more
from remora.code.edit.text_lines import split_lines
from remora.code.extract import parse_module
from remora.code.syntax.definitions import DEFINITIONS
from remora.code.syntax.nodes import Module, node_at_line
from remora.code.syntax.source import shared_tree
from remora.judges.checks import known_keys, lines_worked_on
from remora.judges.submission import Submission


def fewer_findings(submission: Submission) -> str:
    """Check that the nodes that the job works on have fewer findings than before.

    New comments that silence a linter are not allowed.
    """
    path = submission.path
    contents = submission.files.get(path)
    if contents is None:
        return f"{path} was not changed"
    known = known_keys(path, contents[0])
    own = [lines_worked_on(submission, source, known) for source in contents]
    if own[1] is None:
        return f"{path} has no {submission.node_name} any more"
    if silences_more(*((source or b"").decode("latin-1") for source in contents)):
        return f"{path}: a comment silences findings instead of fixing them"
    before = _count(submission.findings_before(path), own[0] or frozenset())
    after = _count(submission.findings_after(path), own[1])
    return "" if after < before else f"{before} findings before, {after} after"


def whole_fixes(submission: Submission) -> str:
    """Check that no fix was applied in part.

    If a finding is still there, its function does not have the lines that its fix would add.
    """
    for path, sources in submission.files.items():
        before, after = ((source or b"").decode("utf-8", "replace") for source in sources)
        module = parse_module(path, after.encode())
        if not isinstance(module, Module):
            continue
        for finding in submission.findings_after(path):
            key = node_at_line(module, finding["line"])
            spans = [(node.line_start, node.line_end) for node in module.nodes if node.key == key]
            for added in _added_lines(finding):
                if after.count(added) > before.count(added) and any(
                    added in "".join(split_lines(after, keepends=True)[first - 1 : last])
                    for first, last in spans
                ):
                    return f"{path}:{finding['line']}: only a part of the fix of {finding['code']}"
    return ""


def keeps_definitions(submission: Submission) -> str:
    """Check that names that modules and classes define are still there.

    One may go if a finding with a fix is on its lines, or if a finding is about the name itself.
    """
    for path, sources in submission.files.items():
        before, after = (
            dict(_definitions(shared_tree((raw or b"").decode("utf-8", "replace"))))
            for raw in sources
        )
        findings = submission.findings_before(path)
        about = {(finding["line"], finding["column"]) for finding in findings}
        fixed = {finding["line"] for finding in findings if finding.get("fix")}
        for name in before.keys() - after.keys():
            node = before[name]
            lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            if (node.lineno, node.col_offset + 1) not in about and fixed.isdisjoint(lines):
                return f"{path}:{node.lineno}: {name} is not defined any more"
    return ""


def _definitions(part: ast.AST | str, scope: str = "") -> Iterator[tuple[str, ast.stmt | ast.expr]]:
    """Yield the dotted names that a module and its classes define, with what defines each."""
    for child in ast.iter_child_nodes(part) if isinstance(part, ast.AST) else ():
        if isinstance(child, DEFINITIONS):
            yield f"{scope}{child.name}", child
            if isinstance(child, ast.ClassDef):
                yield from _definitions(child, f"{scope}{child.name}.")
        elif isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            yield f"{scope}{child.id}", child
        elif not isinstance(child, ast.Lambda | ast.comprehension):
            yield from _definitions(child, scope)


def _added_lines(finding: dict[str, Any]) -> list[str]:
    """Return the whole lines that a fix of several edits adds."""
    edits = finding["fix"]["edits"] if finding.get("fix") else []
    return [
        edit["content"]
        for edit in edits
        if len(edits) > 1 and edit["column"] == 1 and edit["content"].endswith("\n")
    ]


def _count(findings: list[dict[str, Any]], lines: frozenset[int]) -> int:
    return sum(finding.get("line") in lines for finding in findings)
