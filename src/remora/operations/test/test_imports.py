"""Imports of a test file, and insertion of new imports in sorted order."""

import ast
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from remora.code.syntax.source import parse_text
from remora.tools.host.text_lines import split_lines

_THIRD_PARTY = frozenset({"hypothesis"})
"""Third-party packages, which are grouped with pytest."""
_ONE_INSIDE = 3
"""Number of lines of an import whose names are on one line between the parentheses."""
_STANDARD = sys.stdlib_module_names


class Imported(NamedTuple):
    """An imported name, as in `from module import name as bound`.

    If `name` is empty, the whole module is imported.
    """

    module: str
    name: str
    bound: str

    def statement(self) -> str:
        what = self.name or self.module
        alias = what if what == self.bound else f"{what} as {self.bound}"
        return f"from {self.module} import {alias}" if self.name else f"import {alias}"


def imported_names(tree: ast.Module) -> Iterator[Imported]:
    for one in tree.body:
        if isinstance(one, ast.ImportFrom):
            module = "." * one.level + (one.module or "")
            for alias in one.names:
                yield Imported(module, alias.name, alias.asname or alias.name)
        elif isinstance(one, ast.Import):
            for alias in one.names:
                yield Imported(alias.name, "", alias.asname or alias.name)


def top_level_names(tree: ast.Module) -> set[str]:
    found = {one.bound.partition(".")[0] for one in imported_names(tree)}
    for one in tree.body:
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(one.name)
        elif isinstance(one, ast.Assign | ast.AnnAssign):
            found |= {part.id for part in ast.walk(one) if isinstance(part, ast.Name)}
    return found


def with_import(text: str, wanted: Imported, width: int) -> str:
    """Add an import to the source of a test file and return the new source.

    If there is already an import from the same module, the name is added to it. Otherwise, a new
    import is inserted among the existing imports. Plain `import` statements are inserted before
    `from` imports.
    """
    tree = parse_text(text)
    assert isinstance(tree, ast.Module)
    lines, module = split_lines(text), wanted.module if wanted.name else ""
    found = [one for one in _import_section(tree) if isinstance(one, ast.Import | ast.ImportFrom)]
    new = wanted.statement()
    if not _extend_import(lines, found, wanted, width):
        plain = [one for one in found if isinstance(one, ast.Import)]
        if not found:
            docstring = tree.body[:1] if ast.get_docstring(tree) is not None else []
            at = docstring[0].end_lineno or 0 if docstring else 0
            lines[at:at] = ["", new] if at else [new]
        elif module in _THIRD_PARTY:
            _insert_third_party(lines, found, new)
        elif not module and not plain:
            future = [o for o in found if _module_of(o) == "__future__"]
            at = future[-1].end_lineno or 0 if future else found[0].lineno - 1
            lines[at:at] = ["", new] if future else [new, ""]
        else:
            at = _insertion_line(found, plain, new, module)
            apart = module and all(_is_third_party(one) for one in found)
            lines[at:at] = ["", new] if apart else [new]
    return "\n".join(lines) + "\n"


def _extend_import(
    lines: list[str], found: Sequence[ast.stmt], wanted: Imported, width: int
) -> bool:
    """Add the name to an existing import of its module. Return False if that is not possible."""
    for one in found:
        if not isinstance(one, ast.ImportFrom) or not wanted.name:
            continue
        first, last = one.lineno - 1, one.end_lineno or one.lineno
        old = lines[first:last]
        names = [ast.unparse(alias) for alias in one.names]
        if (
            _module_of(one) != wanted.module
            or any("#" in line or ";" in line for line in old)
            or names == ["*"]
        ):
            continue
        name = wanted.statement().partition(" import ")[2]
        head = f"from {wanted.module} import "
        if name in names:
            return True
        longer = [*names, name] if old[0].endswith("\\") else _with_name(names, name)
        lines[first:last] = _written_import(head, longer, old, width)
        return True
    return False


def _with_name(names: list[str], name: str) -> list[str]:
    """Return the names with another one, in the order in which they are."""
    for key in (_isort_key, str.lower, None):
        if names == sorted(names, key=key):
            return sorted({*names, name}, key=key)
    return [*names, name]


def _written_import(head: str, names: list[str], old: list[str], width: int) -> list[str]:
    """Return the lines of an import, wrapped like the `old` lines.

    With backslashes, the last name is appended, and other lines do not change.
    """
    joined = ", ".join(names)
    if len(old) == 1:
        text = f"{head}({joined})" if "(" in old[0] else head + joined
        return [text] if len(text) <= width else _one_per_line(head, names)
    if old[0].endswith("\\"):
        longer = f"{old[-1]}, {names[-1]}"
        parts = [longer] if len(longer) <= width else [f"{old[-1]}, \\", f"    {names[-1]}"]
        return [*old[:-1], *parts]
    if not old[0].endswith("("):
        indent = " " * (len(head) + 1)
        return textwrap.wrap(f"{head}({joined})", width, subsequent_indent=indent)
    if len(old) == _ONE_INSIDE and len(joined) + 5 <= width and "," in old[1].rstrip(", "):
        return [f"{head}(", f"    {joined},", ")"]
    return _one_per_line(head, names)


def _one_per_line(head: str, names: list[str]) -> list[str]:
    return [f"{head}(", *(f"    {each}," for each in names), ")"]


def _insert_third_party(lines: list[str], found: Sequence[ast.stmt], new: str) -> None:
    """Insert the import after other third-party imports, or before the last block of imports."""
    others = [one for one in found if _is_third_party(one)]
    if others:
        at = others[-1].end_lineno or 0
        lines[at:at] = [new]
        return
    last = found[-1]
    if (_module_of(last) or _text(last).removeprefix("import ")).partition(".")[0] in _STANDARD:
        at = last.end_lineno or 0
        lines[at:at] = ["", new]
        return
    at = last.lineno - 1
    while at and lines[at - 1].strip():
        at -= 1
    lines[at:at] = [new, ""]


def _insertion_line(
    found: Sequence[ast.stmt], plain: Sequence[ast.stmt], new: str, module: str
) -> int:
    """Return the index of the line before which the new import is inserted."""
    package = module.partition(".")[0]
    group = [o for o in found if package and _module_of(o).partition(".")[0] == package]
    others = [o for o in found if _module_of(o) != "__future__"] or found
    after = _preceding_import(group or others, new) if module else None
    if group and after is None:
        return group[0].lineno - 1
    last = found[-1]
    if after is None and module and isinstance(last, ast.ImportFrom) and _text(last) > new:
        return last.lineno - 1
    return (after or (found if module else plain)[-1]).end_lineno or 0


def _module_of(one: ast.stmt) -> str:
    return "." * one.level + (one.module or "") if isinstance(one, ast.ImportFrom) else ""


def _is_third_party(one: ast.stmt) -> bool:
    if isinstance(one, ast.Import):
        return True
    return _module_of(one) in _THIRD_PARTY


def _preceding_import(found: Sequence[ast.stmt], new: str) -> ast.stmt | None:
    return next(
        (o for o in reversed(found) if isinstance(o, ast.ImportFrom) and _text(o) < new), None
    )


def _text(one: ast.stmt) -> str:
    return ast.unparse(one)


def _import_section(tree: ast.Module) -> Iterator[ast.stmt]:
    for one in tree.body:
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return
        yield one


def _isort_key(name: str) -> tuple[int, str]:
    """Return a sort key that matches isort: constants first, then classes, then other names."""
    rank = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    return rank, name
