"""General checks of a submission, which do not belong to a particular operation."""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping

from remora.code.extract import parse_module
from remora.code.syntax.nodes import Module, Node, find_node, lines_of_nodes, own_lines
from remora.code.syntax.signature import start_line
from remora.code.syntax.source import Source, compile_error, shared_source
from remora.ids import NodeKey
from remora.judges.lint.new_findings import new_findings
from remora.judges.submission import Check, Submission
from remora.judges.tests.changed_code import changes_tested
from remora.tools.host.ruff.newer_syntax import why_unreadable


def broken_code(submission: Submission) -> tuple[str, str]:
    """Return the name of the check that finds code broken by the changes, and why, or empty texts.

    Every Python file must compile, and no name may become undefined or be defined twice. This does
    not depend on the rules that are selected, nor on the checks of an agent.
    """
    for path, (before, after) in submission.files.items():
        if after is None or before == after or not path.endswith((".py", ".pyi")):
            continue
        old, new = (shared_source(path, side or b"") for side in (before, after))
        error = compile_error(new)
        if error and not compile_error(old):
            return "parses", f"{path}: {why_unreadable(after) or error}"
        if isinstance(old, Source) and isinstance(new, Source):
            is_same = [*_parts(old, new.raw)] == [*_parts(new, old.raw)]
            wrong = [] if is_same else submission.names(path, new.utf8)
            extra = wrong and new_findings(submission.names(path, old.utf8), wrong)
            if extra:
                return "defined_names", f"{path}:{extra[0]['line']}: {extra[0]['message']}"
    return "", ""


def _parts(source: Source, other: bytes) -> Iterator[object]:
    """Yield what decides which names a version defines, to compare it with an `other` version.

    Layout, comments and the order of imports in a row do not. Most fixes of ruff change only these.
    """
    row = Counter[object]()
    for part in source.tree.body:
        if isinstance(part, ast.Import | ast.ImportFrom):
            origin = getattr(part, "module", "."), getattr(part, "level", 0)
            row.update((*origin, ast.dump(name)) for name in part.names)
            continue
        text = source.raw_lines(start_line(part, source), part.end_lineno or 0)
        yield from (row, text if text in other else ast.dump(part))
        row = Counter()
    yield row


def parse_errors(files: Mapping[str, bytes | None]) -> str:
    """Return the error of the first Python file that does not parse, or an empty string."""
    for path, content in files.items():
        if path.endswith((".py", ".pyi")) and content is not None:
            error = why_unreadable(content)
            if error:
                return f"{path}: {error}"
    return ""


def all_parse(submission: Submission) -> str:
    """Check that every changed Python file parses."""
    return parse_errors({path: after for path, (_, after) in submission.files.items()})


def no_new_findings(submission: Submission) -> str:
    """Check that the changes add no lint findings to any Python file."""
    for path, (before, _) in submission.files.items():
        if path.endswith((".py", ".pyi")):
            known = submission.findings_before(path) if before is not None else []
            extra = new_findings(known, submission.findings_after(path))
            if extra:
                return f"{path}: new finding {extra[0]['code']} {extra[0]['message']}"
    return ""


def own_lines_only(submission: Submission) -> str:
    """Check that all lines outside the node are unchanged and in the same order."""
    path, key = submission.path, submission.node_id
    for changed, (before, after) in submission.files.items():
        if changed != path:
            return f"{changed} is not the target's file"
        known = known_keys(path, before)
        kept = _other_lines(path, key, after, known)
        if kept is None:
            return f"{path} has no {submission.node_name} any more"
        if kept != _other_lines(path, key, before, known):
            return f"{path}: lines outside {submission.node_name} changed"
    return ""


def known_keys(path: str, before: bytes | None) -> frozenset[NodeKey]:
    """Return the keys of the nodes that the file contained before the change.

    Any other function, such as one that a fix made from a lambda, belongs to its enclosing node.
    """
    module = parse_module(path, before) if before is not None else None
    return frozenset(n.key for n in module.nodes) if isinstance(module, Module) else frozenset()


def lines_worked_on(
    submission: Submission, source: bytes | None, known: frozenset[NodeKey]
) -> frozenset[int] | None:
    """Return the lines of a file's version that the job works on.

    Returns None if the file does not parse or no longer contains the job's node.
    """
    module = parse_module(submission.path, source) if source is not None else None
    if not isinstance(module, Module) or find_node(module, submission.node_id) is None:
        return None
    nodes = (submission.node_id,) if submission.nodes is None else submission.nodes
    return lines_of_nodes(module, nodes, known)


def _other_lines(
    path: str, key: str, source: bytes | None, known: frozenset[NodeKey]
) -> list[bytes] | None:
    """Return the lines outside the node, ignoring blank lines that are not inside another node.

    If a fix deletes the last lines of a node, the blank line before them is no longer inside the
    node. The fix must not be rejected for this reason.
    """
    module = parse_module(path, source) if source is not None else None
    if source is None or not isinstance(module, Module):
        return None
    node = find_node(module, key)
    if node is None:
        return None
    own, exact = own_lines(module, node.key, known), _lines_of_others(module, node)
    lines = source.splitlines(keepends=True)
    return [
        line
        for number, line in enumerate(lines, 1)
        if number not in own and (number in exact or line.strip())
    ]


def _lines_of_others(module: Module, node: Node) -> set[int]:
    """Return the lines of all nodes that do not enclose `node`."""
    return {
        line
        for other in module.nodes
        if other.line_start > node.line_start or other.line_end < node.line_end
        for line in range(other.line_start, other.line_end + 1)
    }


CHECKS: Mapping[str, Check] = {
    "parses": all_parse,
    "no_new_findings": no_new_findings,
    "own_lines_only": own_lines_only,
    "changes_tested": changes_tested,
}
"""Checks by their name in `agent.yaml`."""
