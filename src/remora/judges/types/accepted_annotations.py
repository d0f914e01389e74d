"""Finds the annotations among several that add no diagnostic, with few runs of a type checker."""

import re
from collections.abc import Callable, Iterable

from remora.judges.types.project_index import Function, ProjectIndex, is_builtin
from remora.judges.types.slots import Slot
from remora.judges.types.terms import canonical, names_of
from remora.tools.host.declared_type_checker import Diagnostic
from remora.tools.host.module_names import module_name

_WORD = re.compile(r"\w+")
_EXPECTED = re.compile(r"[Ee]xpected `([^`]+)`")

Key = tuple[str, Slot]
_PATIENT_RUNS = 14
Terms = dict[Key, str]
"""The canonical type of each slot, with the path of its file."""


def settle(
    chosen: Terms,
    base: Terms,
    index: ProjectIndex,
    added_by: Callable[[Terms], list[Diagnostic]],
    *,
    by_function: bool,
) -> Terms:
    """Return the annotations of `chosen` that add no diagnostic together, given those of `base`.

    `added_by` returns the diagnostics that some annotations add. All annotations are tried at once.
    If they add diagnostics, an annotation that alone can be the cause of one is left out, and those
    that may be the cause are tried apart from the others. After several runs, all that may be the
    cause are left out.

    With `by_function`, a diagnostic in the body of a function that had no annotation removes all
    annotations of that function, because mypy checks its body only now.
    """
    accepted: Terms = {}
    waiting = [chosen]
    runs = 0
    while waiting:
        group = waiting.pop()
        added = added_by(base | accepted | group) if group else []
        runs += 1
        unchecked = _of_unchecked(group, added, index) if by_function else set()
        if unchecked:
            waiting.append({key: term for key, term in group.items() if key not in unchecked})
            continue
        if not added:
            accepted |= group
        elif len(group) > 1:
            parts = _parts(group, added, index)
            waiting += parts if runs < _PATIENT_RUNS else parts[1:]
    return accepted


def _of_unchecked(group: Terms, added: Iterable[Diagnostic], index: ProjectIndex) -> set[Key]:
    """Return the annotations of functions with diagnostics in their bodies, and with no others."""
    found: set[tuple[str, int]] = set()
    for diagnostic in added:
        around = {
            slot.number
            for path, slot in group
            if path == diagnostic.path
            and _is_inside(diagnostic.line, index.files[path].functions[slot.number])
        }
        innermost = max(around, default=None)
        if innermost is not None and _is_in_body(
            diagnostic.line, index.files[diagnostic.path].functions[innermost]
        ):
            found.add((diagnostic.path, innermost))
    return {
        (path, slot)
        for path, slot in group
        if (path, slot.number) in found
        and not any(index.files[path].functions[slot.number].terms())
    }


def _is_inside(line: int, function: Function) -> bool:
    return function.node.lineno <= line <= (function.node.end_lineno or function.node.lineno)


def _is_in_body(line: int, function: Function) -> bool:
    return _is_inside(line, function) and line >= function.node.body[0].lineno


def independent_groups(paths: Iterable[str], index: ProjectIndex) -> list[list[str]]:
    """Divide files into groups in which no file imports another."""
    groups: list[list[str]] = []
    for path in sorted(paths):
        free = (
            group for group in groups if not any(_imports(path, other, index) for other in group)
        )
        chosen = next(free, [])
        if not chosen:
            groups.append(chosen)
        chosen.append(path)
    return groups


def _imports(path: str, other: str, index: ProjectIndex) -> bool:
    """Return True if one of two files may import the other."""
    return any(
        module_name(imported).rpartition(".")[2] in index.files[importer].imported_words
        for imported, importer in ((path, other), (other, path))
    )


def _parts(group: Terms, added: Iterable[Diagnostic], index: ProjectIndex) -> list[Terms]:
    """Return the annotations to try again in parts. The last part is free of suspects."""
    causes = [_suspects(group, diagnostic, index) for diagnostic in added]
    certain = {next(iter(keys)) for keys in causes if len(keys) == 1}
    possible = {key for keys in causes if not keys & certain for key in keys}
    rest = {key: term for key, term in group.items() if key not in certain | possible}
    if certain or (possible and rest):
        return [{key: group[key] for key in group if key in possible}, rest]
    items = list(group.items())
    half = len(items) // 2
    return [dict(items[:half]), dict(items[half:])]


def _suspects(group: Terms, found: Diagnostic, index: ProjectIndex) -> set[Key]:
    """Return the annotations that a diagnostic may be due to.

    These are annotations of functions around it or named by it, and of those only the ones that it
    names, if there are any. Without any, they are those of the same file.

    A line of a signature has the names of all its parameters. There, only the message counts, which
    may also name a class of a type. It is the same where the line is not known.
    """
    line = _line_of_code(found, index)
    words = set(_WORD.findall(f"{line} {found.message}"))
    around = {key for key in group if _is_near(key, found, words, index)}
    expected = {canonical(text) for text in _EXPECTED.findall(found.message)}
    classes = set() if line else {word for word in words if not is_builtin(word)}
    named = {
        key
        for key in around
        if key[1].name in words
        or group[key] in expected
        or not classes.isdisjoint(names_of(group[key]))
    }
    return named or around or {key for key in group if key[0] == found.path}


def _line_of_code(found: Diagnostic, index: ProjectIndex) -> str:
    """Return the line of a diagnostic.

    It is an empty string if the line is not known, such as one of a file that does not parse, or if
    it is part of a signature.
    """
    file = index.files.get(found.path)
    if file is None or not 0 < found.line <= len(file.source.lines):
        return ""
    is_signature = any(
        _is_inside(found.line, function) and not _is_in_body(found.line, function)
        for function in file.functions
    )
    return "" if is_signature else file.source.lines[found.line - 1]


def _is_near(key: Key, found: Diagnostic, words: set[str], index: ProjectIndex) -> bool:
    path, slot = key
    function = index.files[path].functions[slot.number]
    if path == found.path and _is_inside(found.line, function):
        return True
    owner = function.owner.name.rpartition(".")[2] if function.owner else ""
    return function.name in words or (function.name == "__init__" and owner in words)
