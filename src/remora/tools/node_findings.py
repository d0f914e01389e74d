"""Host functions that return findings of ruff, of files or of a node."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from remora.code.edit.edits import Edit, overlap
from remora.code.edit.text_lines import (
    decode,
    lines_of,
)
from remora.code.syntax.extract import parse_module
from remora.code.syntax.nodes import Module, find_node, own_lines
from remora.errors import HostError
from remora.ids import MODULE, escape_path, node_key
from remora.text import clip
from remora.tools.host.ruff.finding import Finding, edits_of
from remora.tools.tree import ToolTree

_MESSAGE_LIMIT = 90
_SHOWN = 8


def ruff_check(
    place: ToolTree,
    paths: list[str],
    select: list[str] | None = None,
    unsafe: bool = False,
    preview: bool = False,
) -> list[Finding]:
    """Return the ruff findings in files and folders, sorted by path, line, column and code.

    Each finding has `code, message, path, line, column, end_line, end_column, fix`. Lines and
    columns start at 1, and columns are counted in characters. A syntax error has the code
    `invalid-syntax`. `fix` is null or has `applicability` (`safe`, `unsafe`, `display`), `message`
    and `edits`. Each edit has `line, column, end_line, end_column, content`. Unsafe fixes are
    included only if `unsafe` is True. `select` replaces the configured rules. If `preview` is True,
    rules and fixes are those of ruff's preview mode. Files that the configuration excludes have no
    findings.
    """
    return place.ruff.check(paths, select, unsafe=unsafe, preview=preview)


def node_findings(place: ToolTree, path: str, node: str) -> dict[str, Any]:
    """Return the findings on a node's lines, excluding the lines of nested nodes.

    `node` is a qualname, or `__module__` for the module. If the file does not parse, all findings
    belong to the module. Each finding has the fields that `ruff_check` returns, without edits. It
    also has `text`, which is a single line, and `fix_kind`, which is one of the following:

    - `safe`: the fix is safe
    - `overlap`: the fix is safe, but overlaps another safe fix of the node, so only one of them can
      be applied
    - `unsafe`: the fix is unsafe
    - `none`: there is no fix, or the fix changes lines outside the node

    The result also contains `counts` keyed by code, `texts` (the first few texts) and a `summary`.
    """
    content = place.read(path)
    own = _own_lines(path, content, node)
    found = [f for f in place.ruff.check_file(path) if own is None or f["line"] in own]
    return describe_findings(decode(path, content).body, found, own)


def describe_findings(
    body: str, found: Sequence[Finding], own: frozenset[int] | None = None
) -> dict[str, Any]:
    """Return findings as `node_findings` returns them.

    If `own` is given, fixes that change other lines count as `none`.
    """
    kinds = _kinds(body, found, own) if found else []
    described = [_described(finding, kind) for finding, kind in zip(found, kinds, strict=True)]
    counts = Counter(finding["code"] for finding in found)
    return {
        "findings": described,
        "texts": _first_texts([finding["text"] for finding in described]),
        "counts": dict(sorted(counts.items())),
        "summary": _summary(counts, kinds),
    }


def _own_lines(path: str, content: bytes, node: str) -> frozenset[int] | None:
    """Return the lines of a node, excluding the lines of nested nodes.

    Returns None if all lines of the file belong to the node.
    """
    module = parse_module(path, content)
    if not isinstance(module, Module):
        return None if node == MODULE else frozenset()
    key = node_key(escape_path(path), node)
    if find_node(module, key) is None:
        raise HostError(f"{path}: there is no {node}")
    return own_lines(module, key)


def _kinds(body: str, found: Sequence[Finding], own: frozenset[int] | None) -> list[str]:
    lines = lines_of(body)
    edits: list[tuple[Edit, ...]] = []
    kinds: list[str] = []
    for finding in found:
        kind = _fix_kind(finding, own)
        kinds.append(kind)
        edits.append(edits_of(body, finding["fix"], lines) if kind != "none" else ())
    safe = [index for index, kind in enumerate(kinds) if kind == "safe"]
    for one in safe:
        if any(one != other and overlap(edits[one], edits[other]) for other in safe):
            kinds[one] = "overlap"
    return kinds


def _fix_kind(finding: Finding, own: frozenset[int] | None) -> str:
    """Return the kind of a finding's fix. Overlaps with other fixes are ignored."""
    fix = finding["fix"]
    if fix is None or fix["applicability"] not in ("safe", "unsafe"):
        return "none"
    return str(fix["applicability"]) if own is None or fix_within(fix, own) else "none"


def fix_within(fix: dict[str, Any], own: frozenset[int]) -> bool:
    """Return True if a fix changes only the given lines."""
    return all(_within(edit, own) for edit in fix["edits"])


def _within(edit: dict[str, Any], own: frozenset[int]) -> bool:
    first, last = edit["line"], edit["end_line"]
    if edit["end_column"] == 1 and last > first:
        last -= 1  # it ends before that line's first character
    elif edit["column"] == 1 and (first, 1) == (last, edit["end_column"]):
        return first in own or first - 1 in own  # whole lines inserted between two lines
    return all(line in own for line in range(first, last + 1))


def _described(finding: Finding, kind: str) -> dict[str, Any]:
    message = clip(finding["message"], _MESSAGE_LIMIT)
    rest = {key: value for key, value in finding.items() if key != "fix"}
    return {
        **rest,
        "fix_kind": kind,
        "fix_message": finding["fix"]["message"] if finding["fix"] else "",
        "text": f"{finding['code']} line {finding['line']}: {message}",
    }


def _first_texts(texts: list[str]) -> list[str]:
    """Return the first few of `texts`, followed by a line such as `and 3 more`.

    The list is shortened because a packet cannot hold all findings of a file.
    """
    more = len(texts) - _SHOWN
    return texts if more <= 0 else [*texts[:_SHOWN], f"and {more} more"]


def _summary(counts: Counter[str], kinds: Sequence[str]) -> str:
    if not counts:
        return "no findings"
    total = counts.total()
    codes = [code if count == 1 else f"{code}*{count}" for code, count in sorted(counts.items())]
    shown = ", ".join(codes[:8]) + (", …" if len(codes) > 8 else "")
    fixable = sum(kind in ("safe", "overlap") for kind in kinds)
    return f"{total} finding{'s' * (total > 1)}: {shown}; {fixable} with a safe fix"
