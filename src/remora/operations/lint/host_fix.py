"""Host functions that list and fix the findings of a file, or of some nodes of a file."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from remora.code.syntax.extract import parse_module
from remora.code.syntax.nodes import Module, lines_of_nodes
from remora.errors import HostError
from remora.ids import escape_path, node_key
from remora.operations.lint.formatting import format_as_before
from remora.tools.host.ruff.fixes import apply_fixes_together
from remora.tools.host.ruff.new_findings import new_findings
from remora.tools.host.ruff.node_findings import describe_findings
from remora.tools.host.ruff.ruff_process import Finding, check_text, fix_text
from remora.tools.host.text_lines import decode
from remora.tools.tree import ToolTree

_MAX_PASSES = 20
_MAX_TRIES = 8


def file_findings(place: ToolTree, path: str, nodes: list[str]) -> dict[str, Any]:
    """Return the findings on the lines of several nodes of a file.

    `nodes` contains qualnames. If it is empty, the findings of the whole file are returned. The
    result has the same keys as the result of `node_findings`.
    """
    content = place.read(path)
    found = _on_nodes(path, content, check_text(place, path, content), nodes)
    return describe_findings(decode(path, content).body, found)


def fix_findings(
    place: ToolTree, path: str, nodes: list[str], unsafe: bool = False
) -> dict[str, Any]:
    """Fix all findings of a file that have a fix, or only the findings on the lines of `nodes`.

    The whole file is fixed as `ruff check --fix` fixes it. For nodes, fixes may also change other
    lines of the file, for example to add an import. Unsafe fixes are applied only if `unsafe` is
    True. Fixes that would add findings are left out. If the file was formatted before, it is
    formatted again.

    Returns the counts of the fixed findings by code in `fixed`, and the result of `file_findings`
    for the new content in `left`.
    """
    content = place.read(path)
    before = check_text(place, path, content)
    if nodes:
        fixed = _fix_nodes(place, path, content, nodes, unsafe=unsafe)
    else:
        fixed = _fix_file(place, path, content, before, unsafe=unsafe)
    after = check_text(place, path, fixed)
    if fixed != content:
        place.write(path, fixed)
    gone = Counter(finding["code"] for finding in _on_nodes(path, content, before, nodes))
    left = _on_nodes(path, fixed, after, nodes)
    gone.subtract(finding["code"] for finding in left)
    return {
        "fixed": {code: number for code, number in sorted(gone.items()) if number > 0},
        "left": describe_findings(decode(path, fixed).body, left),
    }


def _on_nodes(
    path: str, content: bytes, findings: list[Finding], nodes: Sequence[str]
) -> list[Finding]:
    if not nodes:
        return findings
    own = _lines(path, content, nodes)
    return [finding for finding in findings if finding["line"] in own]


def _lines(path: str, content: bytes, nodes: Sequence[str]) -> frozenset[int]:
    module = parse_module(path, content)
    if not isinstance(module, Module):
        raise HostError(f"{path}: {module.detail}")
    return lines_of_nodes(module, [node_key(escape_path(path), node) for node in nodes])


def _fix_file(
    place: ToolTree, path: str, content: bytes, before: list[Finding], *, unsafe: bool
) -> bytes:
    """Fix the whole file. If fixes add findings, leave out the rules that cause them."""
    unfixable: tuple[str, ...] = ()
    for _ in range(_MAX_TRIES):
        fixed = _tidied(place, path, content, unsafe=unsafe, unfixable=unfixable)
        after = check_text(place, path, fixed)
        if not new_findings(before, after):
            return fixed
        cause = _cause(place, path, content, before, after, unsafe=unsafe, unfixable=unfixable)
        if cause is None:
            break
        unfixable += (cause,)
    return content


def _tidied(
    place: ToolTree, path: str, content: bytes, *, unsafe: bool, unfixable: Sequence[str] = ()
) -> bytes:
    fixed = fix_text(place, path, content, unsafe=unsafe, unfixable=unfixable)
    return format_as_before(place, path, content, fixed)


def _cause(
    place: ToolTree,
    path: str,
    content: bytes,
    before: list[Finding],
    after: list[Finding],
    *,
    unsafe: bool,
    unfixable: tuple[str, ...],
) -> str | None:
    """Return the fixed rule without whose fixes the fewest findings are new, or None."""
    fixed = Counter(finding["code"] for finding in before)
    fixed.subtract(finding["code"] for finding in after)
    least, best = len(new_findings(before, after)), None
    for code in sorted(code for code, number in fixed.items() if number > 0):
        tried = _tidied(place, path, content, unsafe=unsafe, unfixable=(*unfixable, code))
        extra = len(new_findings(before, check_text(place, path, tried)))
        if extra < least:
            least, best = extra, code
    return best


def _fix_nodes(
    place: ToolTree, path: str, content: bytes, nodes: Sequence[str], *, unsafe: bool
) -> bytes:
    """Fix the findings of some nodes, and the findings that these fixes add anywhere."""
    before = check_text(place, path, content)
    fixed = content
    for _ in range(_MAX_PASSES):
        present = check_text(place, path, fixed)
        added = [id(finding) for finding in new_findings(before, present)]
        own = _lines(path, fixed, nodes)
        wanted = [each for each in present if each["line"] in own or id(each) in added]
        text = apply_fixes_together(decode(path, fixed), wanted, unsafe=unsafe)
        if text == fixed:
            break
        fixed = text
    return format_as_before(place, path, content, fixed)
