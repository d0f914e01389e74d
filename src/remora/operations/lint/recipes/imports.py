"""Removes names of `typing` that other fixes leave unused."""

import ast
from collections.abc import Collection, Sequence, Set
from contextlib import suppress

from remora.code.edit.edits import Edit, apply_edits
from remora.code.edit.parsed_text import ParsedText
from remora.code.syntax.hidden_uses import used_words
from remora.code.syntax.source import parse_text
from remora.operations.lint.recipes.apply import Proposal
from remora.tools.host.ruff.finding import Finding

UNUSED_NAMES = frozenset(("UP035", "F401"))
"""Rules that report such names."""
_TYPING = ("typing", "typing_extensions")


def without_unused(
    source: ParsedText, findings: Sequence[Finding], used_before: Collection[str]
) -> list[Proposal]:
    """UP035 and F401: remove names that the file used only before it was fixed."""
    found = [finding for finding in findings if finding["code"] in UNUSED_NAMES]
    if not found:
        return []
    used = used_words(source.tree)
    wanted = frozenset(used_before) - used
    proposals = [
        Proposal(finding, edits)
        for finding in found
        for node in _imports(source.tree)
        if node.lineno <= finding["line"] <= (node.end_lineno or 0)
        and (edits := _without_names(source, node, wanted))
    ]
    meaning = _dump_without(source.text, used) if proposals else None
    if meaning is None:
        return []
    every = {proposal.edits for proposal in proposals}  # findings of one import have the same
    kept = {
        edits for edits in every if _dump_without(apply_edits(source.text, edits), used) == meaning
    }
    return [proposal for proposal in proposals if proposal.edits in kept]


def _dump_without(text: str, used: Collection[str]) -> str | None:
    """Return the syntax tree without unused names of types as a text, or None if there is none."""
    tree = parse_text(text)
    if isinstance(tree, str):
        return None
    for node in _imports(tree):
        node.names = [name for name in node.names if name.asname or name.name in used]
        if not node.names:
            tree.body.remove(node)
    with suppress(RecursionError):
        return ast.dump(tree)
    return None


def _imports(tree: ast.Module) -> list[ast.ImportFrom]:
    """Return the imports at module level from modules of types."""
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return [node for node in imports if node.module in _TYPING and node.level == 0]


def _without_names(source: ParsedText, node: ast.ImportFrom, names: Set[str]) -> tuple[Edit, ...]:
    """Return the edits that remove names from an import, or an empty tuple."""
    unused = [alias for alias in node.names if alias.asname is None and alias.name in names]
    left = [alias for alias in node.names if alias not in unused]
    start, stop = source.start(node), source.end(node)
    if not unused:
        return ()
    if not left:
        end = source.start_of_line((node.end_lineno or 0) + 1)
        is_alone = node.col_offset == 0 and not source.text[stop:end].strip()
        return (Edit(start, end, ""),) if is_alone else ()
    if node.lineno == node.end_lineno and "(" not in source.text[start:stop]:
        spelled = ", ".join(map(ast.unparse, left))
        return (Edit(start, stop, f"from {node.module} import {spelled}"),)
    numbers = [alias.lineno for alias in unused]
    texts = [source.lines[number - 1].strip().removesuffix(",") for number in numbers]
    if texts != [alias.name for alias in unused]:
        return ()
    return tuple(
        Edit(source.start_of_line(number), source.start_of_line(number + 1), "")
        for number in numbers
    )
