"""Imports of a file, and edits that add imports in the way in which the file imports already."""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from remora.code.edit.edits import Edit
from remora.code.edit.parsed_text import ParsedText
from remora.code.syntax.definitions import DefinitionNode, ImportNode
from remora.code.syntax.source import parse_text

CHECKING = "TYPE_CHECKING"
_FUTURE, _STANDARD, _OTHER, _OWN = range(4)
"""Groups of imports, in their order."""


class Imported(NamedTuple):
    """An imported name, as in `from module import name as bound`.

    If `name` is empty, the whole module is imported.
    """

    module: str
    name: str
    bound: str

    @property
    def is_renamed(self) -> bool:
        return self.bound != (self.name or self.module)

    def alias(self) -> str:
        what = self.name or self.module
        return f"{what} as {self.bound}" if self.is_renamed else what

    def statement(self) -> str:
        return (
            f"from {self.module} import {self.alias()}" if self.name else f"import {self.alias()}"
        )


class ImportStyle(NamedTuple):
    """The length of the longest line, and the packages whose imports come after those of others.

    If `one_per_line` is True, each name gets a statement.
    """

    width: int = 88
    own: frozenset[str] = frozenset()
    one_per_line: bool = False

    def group(self, module: str) -> int:
        package = module.partition(".")[0]
        if package == "__future__":
            return _FUTURE
        if package in sys.stdlib_module_names:
            return _STANDARD
        return _OWN if self.own and (package in self.own or not package) else _OTHER


def imported_names(tree: ast.Module) -> Iterator[Imported]:
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                yield Imported(_module(statement), alias.name, alias.asname or alias.name)
        elif isinstance(statement, ast.Import):
            for alias in statement.names:
                yield Imported(alias.name, "", alias.asname or alias.name)


def imports_anywhere(text: str) -> list[Imported]:
    """Return the imports of a file, also those within functions, or none if it does not parse."""
    tree = parse_text(text)
    nodes = ast.walk(tree) if isinstance(tree, ast.Module) else ()
    imports: list[ast.stmt] = [node for node in nodes if isinstance(node, ImportNode)]
    return list(imported_names(ast.Module(imports, [])))


def relative_module(package: Sequence[str], module: Sequence[str]) -> str:
    """Return the name of a module, as a module of `package` imports it relatively."""
    common = 0
    while common < min(len(package), len(module)) and package[common] == module[common]:
        common += 1
    return "." * (len(package) - common + 1) + ".".join(module[common:])


def import_edits(
    source: ParsedText,
    needed: Iterable[Imported],
    style: ImportStyle,
    lazy: Iterable[Imported] = (),
) -> list[Edit]:
    """Return the edits that add imports to a file, `lazy` ones in a `TYPE_CHECKING` block.

    A name is added to the import of its module, if there is one.
    """
    body = source.tree.body
    top = [
        statement
        for statement in _statements_before_definitions(body)
        if isinstance(statement, ImportNode)
    ]
    block, lazy = _checking_block(body), list(lazy)
    bound = {imported.bound for imported in imported_names(source.tree)}
    if lazy and block is None and CHECKING not in bound:
        needed = [*needed, Imported("typing", CHECKING, CHECKING)]
    edits, rest = _into_statements(source, top, needed, style)
    edits += _new_lines(source, top, rest, style)
    inside = (
        [statement for statement in block.body if isinstance(statement, ImportNode)]
        if block
        else []
    )
    lazy_edits, lazy_rest = _into_statements(source, inside, lazy, style)
    return [*edits, *lazy_edits, *_lazy_lines(source, top, block, lazy_rest, style)]


def is_type_checking(test: ast.expr) -> bool:
    """Return True for the condition `TYPE_CHECKING`."""
    match test:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name == CHECKING
    return False


def _statements_before_definitions(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements before the first function or class."""
    for node in body:
        if isinstance(node, DefinitionNode):
            return
        yield node


def _checking_block(body: Sequence[ast.stmt]) -> ast.If | None:
    blocks = (
        statement
        for statement in body
        if isinstance(statement, ast.If)
        and is_type_checking(statement.test)
        and statement.body[0].lineno > statement.lineno
    )
    return next(blocks, None)


def _into_statements(
    source: ParsedText,
    statements: Sequence[ast.stmt],
    wanted: Iterable[Imported],
    style: ImportStyle,
) -> tuple[list[Edit], list[Imported]]:
    """Add names to `from` imports of the same module. Return the edits and the other imports.

    Names with `as` are added only to imports that contain such names, as isort does.
    """
    by_module: dict[tuple[str, bool], ast.ImportFrom] = {}
    for statement in statements:
        if isinstance(statement, ast.ImportFrom) and statement.names[0].name != "*":
            for is_renamed in {alias.asname is not None for alias in statement.names}:
                by_module.setdefault((_module(statement), is_renamed), statement)
    rest: list[Imported] = []
    grouped: dict[ast.ImportFrom, list[str]] = defaultdict(list)
    for needed in sorted(wanted):
        node = (
            by_module.get((needed.module, needed.is_renamed))
            if needed.name and not style.one_per_line
            else None
        )
        if node is None:
            rest.append(needed)
        else:
            grouped[node].append(needed.alias())
    edits = [
        edit for node, names in grouped.items() for edit in _added_names(source, node, names, style)
    ]
    return edits, rest


def _added_names(
    source: ParsedText, node: ast.ImportFrom, names: list[str], style: ImportStyle
) -> Iterator[Edit]:
    line = source.lines[node.lineno - 1]
    known = [ast.unparse(alias) for alias in node.names]
    if node.lineno == node.end_lineno and "#" not in line and ";" not in line:
        start, end = source.start(node), source.end(node)
        text = source.text[start:end]
        wanted = _ordered(known, names)
        opening = "(" if "(" in text else ""
        made = _from_import(_module(node), wanted, style, _margin(source, node.lineno), opening)
        yield Edit(start, end, made)
        return
    is_split = len({alias.lineno for alias in node.names}) > 1
    indent = _margin(source, node.names[-1].lineno)
    for name in sorted(names, key=_sort_key):
        before = [n for n, other in enumerate(known) if _sort_key(other) < _sort_key(name)]
        if line.rstrip().endswith("\\"):
            before, is_split = [len(known) - 1], False
        near = node.names[before[-1] if before else 0]
        length = len(source.lines[near.lineno - 1].rstrip()) + len(name) + 2
        separator = f",\n{indent}" if is_split or length > style.width else ", "
        end = source.offset(near.end_lineno or 0, near.end_col_offset or 0)
        start = source.offset(near.lineno, near.col_offset)
        yield Edit(end, end, separator + name) if before else Edit(start, start, name + separator)


def _ordered(known: list[str], names: list[str]) -> list[str]:
    """Return all names, in the order in which the known ones are."""
    for key in (_sort_key, str.lower, None):
        if known == sorted(known, key=key):
            return sorted({*known, *names}, key=key)
    return [*known, *names]


def _from_import(
    module: str, names: list[str], style: ImportStyle, indent: str, opening: str = ""
) -> str:
    """Return an import, with one name per line if it does not fit on one line."""
    closing = ")" if opening else ""
    line = f"from {module} import {opening}{', '.join(names)}{closing}"
    if len(indent) + len(line) <= style.width:
        return line
    lines = "".join(f"{indent}    {name},\n" for name in names)
    return f"from {module} import (\n{lines}{indent})"


def _margin(source: ParsedText, line: int) -> str:
    """Return the white space at the start of a line."""
    text = source.lines[line - 1]
    return text[: len(text) - len(text.lstrip(" \t"))]


def _sort_key(name: str) -> tuple[int, str]:
    """Return a sort key that matches isort: constants first, then classes, then other names."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    return kind, name


def _import_lines(wanted: Iterable[Imported], style: ImportStyle, indent: str = "") -> list[str]:
    """Return lines that import names of one module or of several, each name with `as` alone."""
    wanted = list(wanted)
    lines: dict[tuple[str, str], list[str]] = defaultdict(list)
    for imported in wanted:
        if imported.name:
            is_alone = imported.is_renamed or style.one_per_line
            lines[imported.module, imported.bound if is_alone else ""].append(imported.alias())
    plain = sorted(
        f"{indent}import {imported.alias()}\n" for imported in wanted if not imported.name
    )
    return plain + [
        f"{indent}{_from_import(module, sorted(names, key=_sort_key), style, indent)}\n"
        for (module, _), names in sorted(lines.items())
    ]


def _new_lines(
    source: ParsedText, top: Sequence[ast.stmt], wanted: Sequence[Imported], style: ImportStyle
) -> Iterator[Edit]:
    """Add import lines in the block of their group, or as a block between the others."""
    alone = []
    for group in range(_OWN + 1):
        new = [imported for imported in wanted if style.group(imported.module) == group]
        same = [statement for statement in top if style.group(_module(statement)) == group]
        if new and same:
            keys = sorted({(imported.module, bool(imported.name)) for imported in new})
            for key in keys:
                names = [
                    imported for imported in new if (imported.module, bool(imported.name)) == key
                ]
                yield _insert_beside(source, same, names[0], "".join(_import_lines(names, style)))
        elif new and top:
            yield _insert_apart(source, top, "".join(_import_lines(new, style)), group, style)
        elif new:
            alone.append("".join(_import_lines(new, style)))
    if alone:
        yield _insert_after_docstring(source, "\n".join(alone))


def _insert_beside(source: ParsedText, same: Sequence[ast.stmt], new: Imported, text: str) -> Edit:
    """Add a line to the imports of the same group, in their order."""
    alike = [statement for statement in same if _is_from(statement) == bool(new.name)]
    among = same if _is_mixed(same) else alike
    before = [statement for statement in among if _module(statement).lower() < new.module.lower()]
    if before or (new.name and not among):
        return _insert_after(source, before[-1] if before else same[-1], text)
    return _insert_at(source, (among or same)[0].lineno, text)


def _is_mixed(same: Sequence[ast.stmt]) -> bool:
    """Return True if imports are sorted by module, whether they are `from` imports or not."""
    modules = [_module(statement).lower() for statement in same]
    forms = [_is_from(statement) for statement in same]
    return modules == sorted(modules) and forms != sorted(forms)


def _insert_apart(
    source: ParsedText, top: Sequence[ast.stmt], text: str, group: int, style: ImportStyle
) -> Edit:
    """Add lines as the first ones of their group."""
    later = [statement for statement in top if style.group(_module(statement)) > group]
    if later and len(later) == len(
        [statement for statement in top if statement.lineno >= later[0].lineno]
    ):
        return _insert_at(source, later[0].lineno, f"{text}\n")
    return _insert_after(source, top[-1], f"\n{text}")


def _insert_after_docstring(source: ParsedText, text: str) -> Edit:
    body = source.tree.body
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        return _insert_after(source, body[0], f"\n{text}")
    if not body:
        return _insert_at(source, len(source.lines) + 1, f"\n{text}" if source.lines else text)
    lines = [statement.lineno for statement in (body[0], *getattr(body[0], "decorator_list", []))]
    return _insert_at(source, min(lines), f"{text}\n\n")


def _lazy_lines(
    source: ParsedText,
    top: Sequence[ast.stmt],
    block: ast.If | None,
    wanted: Sequence[Imported],
    style: ImportStyle,
) -> Iterator[Edit]:
    if not wanted:
        return
    if block is not None:
        indent = _margin(source, block.body[0].lineno)
        yield _insert_after(source, block.body[-1], "".join(_import_lines(wanted, style, indent)))
        return
    text = f"\nif {CHECKING}:\n{''.join(_import_lines(wanted, style, '    '))}"
    yield _insert_after(source, top[-1], text) if top else _insert_after_docstring(source, text)


def _insert_after(source: ParsedText, node: ast.stmt, text: str) -> Edit:
    assert node.end_lineno is not None
    return _insert_at(source, node.end_lineno + 1, text)


def _insert_at(source: ParsedText, line: int, text: str) -> Edit:
    offset = source.start_of_line(line)
    newline = "" if offset == 0 or source.text[offset - 1] in "\r\n" else "\n"
    return Edit(offset, offset, newline + text)


def _module(node: ast.stmt) -> str:
    if isinstance(node, ast.ImportFrom):
        return "." * node.level + (node.module or "")
    return node.names[0].name if isinstance(node, ast.Import) else ""


def _is_from(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom)
