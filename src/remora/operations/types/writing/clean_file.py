"""The text of an annotated file in the project's format, without new findings of ruff."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from remora.code.edit.edits import Edit, apply_edits, overlap
from remora.errors import HostError
from remora.operations.types.checker.judge import Terms
from remora.operations.types.source.slots import RETURN, Slot, SourceText, parameters_of
from remora.operations.types.writing.wrapped_signatures import wrap_signatures
from remora.tools.host.ruff.finding import Finding, edits_of, new_findings, new_lines, suspects
from remora.tools.host.style_config import wrapping_width
from remora.tools.tree import ToolTree

_TRIES = 4
_FIXED = frozenset(
    ("F401", "PIE790", "TC001", "TC002", "TC003", "UP006", "UP007", "UP037", "UP045")
)
"""Rules about the notation of types and their imports, and about `pass` beside these."""
_NOTATION = frozenset(("UP006", "UP007", "UP037", "UP045"))
_WORD = re.compile(r"\w+")


def without_findings(
    place: ToolTree, path: str, before: str, write: Callable[[Terms], str], chosen: Terms
) -> str:
    """Return the file with those annotations of `chosen` that add no finding of ruff.

    `write` returns the text of the file with annotations. If ruff fails, all are written.
    """
    known = None
    with suppress(HostError):
        known = place.ruff.check_text(path, before.encode())
    kept = dict(chosen)
    for _ in range(_TRIES):
        if not kept:
            return before
        after = write(kept)
        if known is None:
            return _formatted(place, path, before, after)
        after = _formatted(place, path, before, _fixed(place, path, (before, after), known, kept))
        added = _added(place, path, (before, after), known)
        if any(each["code"] == "I001" for each in added):
            after = place.ruff.with_sorted_imports(path, after.encode()).decode()
            added = _added(place, path, (before, after), known)
        if not added:
            return after
        causes = set(_causes(SourceText(after), kept, added))
        kept = {key: term for key, term in kept.items() if key not in causes} if causes else {}
    return before


def _fixed(
    place: ToolTree, path: str, texts: tuple[str, str], known: list[Finding], kept: Terms
) -> str:
    """Return the new text with fixes, and with those of findings that the fixes add."""
    before, after = texts
    for _ in range(_TRIES):
        added = _added(place, path, (before, after), known)
        fixed = _once_fixed(place, path, (before, after), known, added, kept)
        if fixed == after:
            break
        after = fixed
    return after


def _once_fixed(
    place: ToolTree,
    path: str,
    texts: tuple[str, str],
    known: Iterable[Finding],
    added: Iterable[Finding],
    kept: Terms,
) -> str:
    """Return the new text with fixes of findings about how types are written and imported.

    What was there before stays: only new annotations are rewritten, and only imports on new lines,
    unless the old text has no such finding.
    """
    before, after = texts
    wanted = [each for each in added if each["code"] in _FIXED and each["fix"]]
    about_imports = {each["code"] for each in wanted} - _NOTATION
    fresh = about_imports - {each["code"] for each in known}
    if fresh:
        content = place.ruff.fix_text(
            path, after.encode(), fixable=sorted(fresh), unsafe=True
        ).content
        return content.decode()
    new, own = new_lines(before, after), _own_annotations(SourceText(after), kept)
    edits: list[Edit] = []
    for each in wanted:
        found = edits_of(after, each["fix"])
        start = found[0].start if found else -1
        is_own = any(first <= start < last for first, last in own)
        if (is_own or (each["code"] in about_imports and each["line"] in new)) and not overlap(
            found, edits
        ):
            edits += found
    return apply_edits(after, edits)


def _own_annotations(source: SourceText, kept: Terms) -> list[tuple[int, int]]:
    """Return the start and the end of each annotation that was added."""
    names: dict[int, set[str]] = {}
    for _, slot in kept:
        names.setdefault(slot.number, set()).add(slot.name)
    found = []
    for number, wanted in names.items():
        _, node, owner = source.functions[number]
        every = [(arg.arg, arg.annotation) for arg, _, _ in parameters_of(node, owner)]
        for name, annotation in [*every, (RETURN, node.returns)]:
            if name in wanted and annotation is not None:
                found.append((source.start(annotation), source.end(annotation)))
    return found


def _added(
    place: ToolTree, path: str, texts: tuple[str, str], known: list[Finding]
) -> list[Finding]:
    before, after = texts
    found = place.ruff.check_text(path, after.encode())
    return suspects(before, after, new_findings(known, found), found)


def _causes(
    source: SourceText, kept: Terms, added: Iterable[Finding]
) -> Iterator[tuple[str, Slot]]:
    """Yield the annotations on the lines of findings, and those with a name that they import."""
    for finding in added:
        line = source.lines[min(finding["line"], len(source.lines)) - 1]
        is_import = (
            line.lstrip().startswith(("from ", "import ")) or line.strip(" ,\r\n").isidentifier()
        )
        words = set(_WORD.findall(line)) if is_import else set()
        for key in kept:
            _, node, _ = source.functions[key[1].number]
            header = range(node.lineno, node.body[0].lineno + 1)
            if finding["line"] in header or words & _names(node):
                yield key


def _names(node: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """Return the words of the annotations of a function."""
    every = [*ast.walk(node.args), *([node.returns] if node.returns else [])]
    annotations = [each.annotation for each in every if isinstance(each, ast.arg)]
    texts = [ast.unparse(each) for each in (*annotations, node.returns) if each is not None]
    return {word for text in texts for word in _WORD.findall(text)}


def _formatted(place: ToolTree, path: str, before: str, after: str) -> str:
    """Format a changed file if it was formatted before, or else wrap long signatures."""
    content = before.encode()
    try:
        if place.ruff.format_text(path, content) == content:
            return place.ruff.format_text(path, after.encode()).decode()
    except HostError:
        pass
    return wrap_signatures(before, after, wrapping_width(place, path, before))
