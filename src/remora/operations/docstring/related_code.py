"""Code and docstrings that show a writer what a node is for: neighbours, callees and calls."""

import ast
from collections.abc import Iterator, Sequence
from inspect import cleandoc
from itertools import islice
from typing import Any

from remora.code.callgraph.module_lookup import ModuleLookup
from remora.code.docstrings.documented_node import DocumentedNode
from remora.code.syntax.definitions import Definition, find_definitions
from remora.code.syntax.effects import own_nodes, unqualified_name
from remora.code.syntax.signature import docstring_text
from remora.ids import escape_path, unescape_path
from remora.tools.tree import ToolTree

_NEIGHBOURS, _CALLEES, _CALLS = 2, 5, 5
_SHORT = 300
"""Characters of a docstring that is shown whole. All facts fit into a fifth of a packet."""
_LINE = 80
_MOST_LINES = 12
"""Lines of a call that are shown, including two before and two after it."""
_MAX_FILES = 2000


def neighbour_docstrings(found: DocumentedNode) -> dict[str, str]:
    """Return the docstrings of the nearest functions, or classes, of the file, by qualname."""
    here = found.node.lineno
    near = sorted(_neighbours(found), key=lambda other: abs(other.node.lineno - here))
    texts = ((other.qualname, cleandoc(docstring_text(other.node.body) or "")) for other in near)
    return dict(islice((pair for pair in texts if 0 < len(pair[1]) <= _SHORT), _NEIGHBOURS))


def neighbours_with_docstring(found: DocumentedNode) -> dict[str, str]:
    """Return a fact with how many public neighbours of the node have a docstring, or nothing.

    The key says what is counted, and the value is, for example, "2 of 15".
    """
    scope = found.qualname.rpartition(".")[0]
    near = [
        docstring_text(other.node.body)
        for other in _neighbours(found)
        if other.qualname.rpartition(".")[0] == scope and not other.node.name.startswith("_")
    ]
    kind = "classes" if isinstance(found.node, ast.ClassDef) else "functions"
    fact = f"public {kind} of {scope or 'the file'} with a docstring"
    return {fact: f"{sum(map(bool, near))} of {len(near)}"} if near else {}


def callee_docstrings(place: ToolTree, found: DocumentedNode) -> dict[str, str]:
    """Return the first lines of the docstrings of functions and classes that a node uses, by name.

    They are defined in its file, or imported by name from a file of the project.
    """
    names = _names_called(found)
    own = reversed(_definitions(found))
    known = {definition.qualname.rpartition(".")[2]: definition for definition in own}
    imported = _imported(place, found.path, found.source.tree) if {*names} - known.keys() else {}
    used = (known.get(name) or imported.get(name) for name in names)
    texts = ((callee.qualname, docstring_text(callee.node.body)) for callee in used if callee)
    lines = ((name, text.strip().split("\n")[0][:_LINE]) for name, text in texts if text)
    return dict(islice(lines, _CALLEES))


def _names_called(found: DocumentedNode) -> list[str]:
    calls = [node for node in own_nodes(found.node.body) if isinstance(node, ast.Call)]
    in_order = sorted(calls, key=lambda call: (call.lineno, call.col_offset))
    return list(dict.fromkeys(unqualified_name(call.func) for call in in_order))


def _definitions(found: DocumentedNode) -> list[Definition]:
    return find_definitions(found.source.tree, escape_path(found.path))


def _neighbours(found: DocumentedNode) -> list[Definition]:
    """Return the other functions of the file, or for a class the other classes."""
    is_class = isinstance(found.node, ast.ClassDef)
    return [
        other
        for other in _definitions(found)
        if other.key != found.key and isinstance(other.node, ast.ClassDef) == is_class
    ]


def _imported(place: ToolTree, path: str, tree: ast.Module) -> dict[str, Definition]:
    """Return the definitions that a file imports by name, by the names under which it uses them."""
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    modules = ModuleLookup(list(place.files.glob("**/*.py"))) if imports else ModuleLookup(())
    known: dict[str, Definition] = {}
    for node in imports:
        dotted = node.module or ""
        if node.level:
            module = modules.relative(path, node.level, dotted)
        else:
            module = modules.absolute(path, dotted)
        source = str(module[1]) if module is not None else ""
        other = place.syntax_tree(source) if source.endswith(".py") else None
        definitions = find_definitions(other, source) if other else ()
        made = {definition.qualname: definition for definition in definitions}
        for alias in node.names:
            if alias.name in made:
                known[alias.asname or alias.name] = made[alias.name]
    return known


def calls_of_name(place: ToolTree, name: str, callers: Sequence[str]) -> list[dict[str, Any]]:
    """Return some calls of a name, each with the lines around it.

    `callers` are links of the Hub to nodes that make such calls. Without any, all files are read.
    """
    return list(islice(_calls_of_name(place, name, callers), _CALLS))


def _calls_of_name(place: ToolTree, name: str, callers: Sequence[str]) -> Iterator[dict[str, Any]]:
    paths: dict[str, None] = dict.fromkeys(
        unescape_path(caller.removesuffix("?").rpartition(":")[0]) for caller in callers
    )
    for path in islice(paths or place.files.glob("**/*.py"), _MAX_FILES):
        place.left()
        text = place.text_or_empty(path)
        tree = place.syntax_tree(path) if name in text else None
        lines = text.splitlines()
        for caller, call in _calls(tree, path) if tree else ():
            if unqualified_name(call.func) == name:
                first, last = max(1, call.lineno - 2), (call.end_lineno or call.lineno) + 2
                code = "\n".join(lines[first - 1 : min(last, first - 1 + _MOST_LINES)])
                yield {"path": path, "line": call.lineno, "caller": caller, "code": code}


def _calls(tree: ast.Module, path: str) -> Iterator[tuple[str, ast.Call]]:
    """Yield calls with the name of the innermost function or class that contains them, or none."""
    inside = {
        id(node): definition.qualname
        for definition in find_definitions(tree, path)
        for node in ast.walk(definition.node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield inside.get(id(node), ""), node
