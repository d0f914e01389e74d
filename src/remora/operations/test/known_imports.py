"""Rewrites cases to use the imports of their test file."""

import ast
from collections.abc import Mapping

from msgspec.structs import replace

from remora.code.edit.import_edits import Imported, imported_names
from remora.operations.test.cases.case import Case
from remora.operations.test.inputs.call_input import bound_names
from remora.python_text import parse


class _Renamed(ast.NodeTransformer):
    """Replaces names with others, such as `f` with `mod.f`, and attributes of modules by names."""

    def __init__(self, names: Mapping[str, str], inlined: frozenset[str] = frozenset()) -> None:
        self._names = names
        self._inlined = inlined
        self.used: set[str] = set()

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Name(self._names.get(node.id, node.id), node.ctx)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id in self._inlined:
            self.used.add(node.attr)
            return ast.Name(node.attr, node.ctx)
        self.generic_visit(node)
        return node

    def text(self, code: str) -> str:
        body = parse(code).body  # a text alone in a module would be written as a docstring
        nodes = [one.value if isinstance(one, ast.Expr) else one for one in body]
        return "\n".join(ast.unparse(self.visit(one)) for one in nodes)

    def case(self, case: Case) -> Case:
        return replace(
            case,
            call=self.text(case.call),
            setup=tuple(map(self.text, case.setup)),
            value=self.text(case.value),
            claims=tuple((self.text(left), self.text(text)) for left, text in case.claims),
        )


def _variables(case: Case) -> set[str]:
    return {name for text in case.setup for one in parse(text).body for name in bound_names(one)}


def with_alias(case: Case, alias: str, known: Mapping[str, Imported], module: str) -> Case:
    """Return the case with names of a module as attributes of `alias`, as in `mi.chunked(...)`."""
    own = {n for n, one in known.items() if one.module == module and one.name == n}
    names = {name: f"{alias}.{name}" for name in own - _variables(case)}
    return replace(_Renamed(names).case(case), raises=names.get(case.raises, case.raises))


def with_known_imports(case: Case, tree: ast.Module | None) -> Case:
    """Return the case with the names under which the test file `tree` imports the same things.

    Attributes of a module become names if the file imports only names from it. The case stays as it
    is if one of its variables has such a name.
    """
    if tree is None:
        return case
    own = {_dotted(one): one.bound for one in imported_names(tree) if "." not in one.bound}
    sources = {one.module for one in imported_names(tree) if one.name}
    needed = [one for text in case.imports for one in imported_names(parse(text))]
    plain = [one for one in needed if "." not in one.bound]
    names = {one.bound: own[_dotted(one)] for one in plain if _dotted(one) in own}
    inlined = {
        one.bound: _dotted(one)
        for one in plain
        if one.bound not in names and _dotted(one) in sources
    }
    names = {bound: known for bound, known in names.items() if bound != known}
    if not names and not inlined:
        return case
    change = _Renamed(names, frozenset(inlined))
    changed = change.case(case)
    if _variables(case) & {*change.used, *names.values()} or len(inlined) > 1:
        return case
    kept = [one.statement() for one in needed if one.bound not in {*names, *inlined}]
    added = [
        f"from {module} import {name}"
        for module in inlined.values()
        for name in sorted(change.used)
    ]
    return replace(changed, imports=(*kept, *added))


def _dotted(one: Imported) -> str:
    """Return what is imported, such as `paho.mqtt.client` for `from paho.mqtt import client`."""
    return f"{one.module}.{one.name}" if one.name else one.module
