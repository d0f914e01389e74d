"""The host function that lists the findings of a file, or of some nodes of a file."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from remora.code.edit.edits import overlapping
from remora.code.edit.text_lines import decode, lines_of
from remora.code.extract import parse_module
from remora.code.syntax.nodes import Module, lines_of_nodes
from remora.errors import HostError
from remora.ids import escape_path, node_key
from remora.judges.lint.left_alone import kept_findings
from remora.text import clip_words
from remora.tools.host.ruff.finding import Finding, Place, edits_of, place_of
from remora.tools.tree import ToolTree

_MESSAGE_LIMIT = 90
_SHOWN = 8


def file_findings(place: ToolTree, path: str, nodes: list[str]) -> dict[str, Any]:
    """Return the findings on the lines of several nodes of a file.

    `nodes` contains qualnames. If it is empty, the findings of the whole file are returned. Each
    finding has the fields that `ruff_check` returns, without edits. It also has `text`, which is a
    single line, `kept`, the reason why fixes leave it alone, which is empty if they do not, and
    `fix_kind`, which is one of the following:

    - `safe`: the fix is safe
    - `overlap`: the fix is safe, but overlaps another safe fix, so only one of them can be applied
    - `unsafe`: the fix is unsafe
    - `none`: there is no fix

    The result also contains `counts` keyed by code, `texts` (the first few texts) and a `summary`.
    """
    content = place.read(path)
    with place.ruff.one_process():
        every = place.ruff.check_text(path, content)
        kept = kept_findings(place, path, content, every)
    found = findings_on_nodes(path, content, every, nodes)
    return describe_findings(decode(path, content).body, found, kept)


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


def describe_findings(
    body: str, found: Sequence[Finding], kept: Mapping[Place, str]
) -> dict[str, Any]:
    """Return findings as `file_findings` returns them."""
    kinds = _kinds(body, found) if found else []
    described = [
        {**_described(finding, kind), "kept": kept.get(place_of(finding), "")}
        for finding, kind in zip(found, kinds, strict=True)
    ]
    counts = Counter(finding["code"] for finding in found)
    return {
        "findings": described,
        "texts": _first_texts([finding["text"] for finding in described]),
        "counts": dict(sorted(counts.items())),
        "summary": _summary(counts, kinds),
    }


def _kinds(body: str, found: Sequence[Finding]) -> list[str]:
    lines = lines_of(body)
    fixes = [finding["fix"] or {} for finding in found]
    kinds = [str(fix.get("applicability", "none")) for fix in fixes]
    kinds = [kind if kind in ("safe", "unsafe") else "none" for kind in kinds]
    safe = {n: edits_of(body, fixes[n], lines) for n, kind in enumerate(kinds) if kind == "safe"}
    overlaps = overlapping(safe.values())
    return [
        "overlap" if frozenset(safe.get(n, ())) in overlaps else kind
        for n, kind in enumerate(kinds)
    ]


def _described(finding: Finding, kind: str) -> dict[str, Any]:
    message = clip_words(finding["message"], _MESSAGE_LIMIT)
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
