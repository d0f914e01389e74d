"""What a change concerns: calls that no longer fit, callers, overrides, texts and tests.

For `def total(prices)` that becomes `def total(prices, tax)`, these are the calls without `tax`, the
overrides of `total`, the pages that show a call of it, and the tests that run it.
"""

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache, partial
from typing import Any

import msgspec

from remora.code.edit.import_edits import imported_names
from remora.code.links import LISTS
from remora.code.pytest_model.pytest_file import is_of_tests, is_test_file, pytest_id
from remora.code.pytest_model.test_functions import tests_of
from remora.code.syntax.changed_behavior import ChangedNode, changed_nodes, constants_of
from remora.code.syntax.definitions import FunctionNode, assigned_values, find_definitions
from remora.code.syntax.signature import docstring_text, has_own_parameters, misfit
from remora.code.syntax.source import Source, read_source
from remora.hub.lookup.not_found import unknown_node
from remora.hub.query.node_queries import SEARCH_S, NodeQueries
from remora.ids import MODULE, display_name, node_key, split_node_key

ReadText = Callable[[str], bytes | None]
"""Returns the content of a file after the change, or None."""
_TEXTS = (".md", ".rst", ".txt", ".toml", ".cfg", ".ini", ".yml", ".yaml")
"""Suffixes of documentation and configuration."""
_NOTHING = ast.Module(body=[], type_ignores=[])
_MOST_TWINS = 6
"""Files with a method of one name (decision)."""
_MOST_PLACES = 3
"""Places of one name in texts."""
_TESTS_S = 10.0
"""Seconds for all tests, but at least those of one search for each node (decision)."""


class Concern(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A place that a change concerns."""

    place: str
    """`path:line`, with all lines of a caller: `path:4, 7`."""
    about: str
    """The changed definition, as `path:qualname`."""
    name: str = ""
    """The definition around the place, or the variable that is assigned there."""
    why: str = ""
    tier: str = ""


class Impact(msgspec.Struct, frozen=True, kw_only=True):
    """What a change concerns, in the order in which it matters."""

    changed: Sequence[ChangedNode]
    misfits: Sequence[Concern]
    tests: Sequence[str]
    """pytest IDs, nearest first."""
    callers: Sequence[Concern]
    overrides: Sequence[Concern]
    """Overrides, subclasses, and methods of the same name."""
    references: Sequence[Concern]
    texts: Sequence[Concern]
    """Docstrings, documentation and configuration."""
    incomplete: Sequence[str]
    """Files that could not be read, and may have more."""
    has_all_tests: bool
    """False if finding all of them took too long."""


class ImpactSearch:
    """Finds what changes concern in the states of the code before and after them."""

    def __init__(
        self,
        before: NodeQueries,
        after: NodeQueries,
        edits: Mapping[str, tuple[bytes | None, bytes | None]],
        read: ReadText,
    ) -> None:
        """`edits` maps the paths of changed Python files to their contents on both sides."""
        self._before, self._after, self._read = before, after, read
        trees = {path: (_parsed(old), _parsed(new)) for path, (old, new) in edits.items()}
        self._edits = {path: (a or _NOTHING, b or _NOTHING) for path, (a, b) in trees.items()}
        unread = {path for path, sides in edits.items() if sides == (None, None)}
        self._broken = unread.union(path for path, sides in trees.items() if None in sides)
        self._trees = {path: after for path, (_, after) in self._edits.items()}
        self._rows = lru_cache(maxsize=None)(self._find_rows)
        """Returns the users of a node after the change, and those that it had before."""
        self._has_all_tests = True

    def of_edits(self, texts: Iterable[str]) -> Impact:
        """Return what the edits concern. `texts` are the paths of the project's other files."""
        return self.of([*self._changed()], texts)

    def misfits(self) -> list[Concern]:
        """Return the calls that no longer fit what the edits change, and imports of what is gone."""
        found = list[Concern]()
        for node in self._changed():
            for row in self._rows(node):
                found += self._misfits(node, row, self._concern(node, row))
            found += self._imports(node) if node.how == "gone" else ()
        return [*dict.fromkeys(found)]

    def _changed(self) -> Iterator[ChangedNode]:
        for path, sides in self._edits.items():
            yield from changed_nodes(path, *sides) if path not in self._broken else ()

    def of(self, changed: Sequence[ChangedNode], texts: Iterable[str]) -> Impact:
        """Return what changed nodes concern."""
        lists = ("misfits", "callers", "overrides", "references")
        found: dict[str, list[Concern]] = {name: [] for name in lists}
        for node in changed:
            is_named, is_code = node.how == "named", node.how == "code"
            for row in self._rows(node):
                concern, name = self._concern(node, row), LISTS.get(row["kind"], "callers")
                found["misfits"] += (wrong := [*self._misfits(node, row, concern)])
                is_test = is_test_file(split_node_key(row["key"])[0])
                skips = {"overrides": is_code, "references": is_test and not is_named}
                found[name] += [] if wrong or skips.get(name, is_test) else [concern]
            found["misfits"] += self._imports(node) if node.how == "gone" else ()
            known = {concern.name for concern in found["overrides"]}
            found["overrides"] += (twin for twin in self._twins(node) if twin.name not in known)
        return Impact(
            changed=changed,
            **{name: [*dict.fromkeys(concerns)] for name, concerns in found.items()},
            tests=[*dict.fromkeys(self._tests(changed))],
            texts=[*self._docstrings(changed), *self._mentions(changed, texts)],
            incomplete=sorted(self._broken),
            has_all_tests=self._has_all_tests,
        )

    def _find_rows(self, node: ChangedNode) -> Sequence[Mapping[str, Any]]:
        found: dict[tuple[str, str], Mapping[str, Any]] = {}
        for side in (self._after, self._before):
            if node.how != "new":
                answer = self._users(side, node.key)
                self._broken.update(answer.get("incomplete", ()))
                for row in (*(answer["callers"] or ()), *(answer["references"] or ())):
                    use = {"kind": "call", **row, "is_now": side is self._after}
                    found.setdefault((use["key"], use["kind"]), use)
        return [*found.values()]

    def _users(self, side: NodeQueries, key: str) -> dict[str, Any]:
        """Return the users of a node, or the readers of a constant: by name in its own file."""
        if side.view.node(key) is not None:
            return side.callers(key)
        path, qualname = split_node_key(key)
        owner, _, name = qualname.rpartition(".")
        home, lines = node_key(path, owner or MODULE), dict[str, set[int]]()
        answer = {} if side.view.node(home) is None else side.callers(home)
        for row in (*answer.get("callers", ()), *answer.get("references", ())):
            naming = {*_lines_naming(self._tree(split_node_key(row["key"])[0]), name)}
            lines[row["key"]] = naming.intersection(row["lines"])
        definitions = find_definitions(self._tree(path), path)
        for line in _lines_naming(self._tree(path), name):
            around = (inner.key for inner in definitions if line in _span(inner.node))
            lines.setdefault([node_key(path), *around][-1], set()).add(line)
        found = [{"key": key, "lines": sorted(at)} for key, at in lines.items() if at]
        rows = [{"tier": "inferred", "kind": "reference", **row} for row in found]
        return {**answer, "callers": (), "references": rows}

    def line_of(self, key: str) -> int:
        """Return the line that assigns a constant. Raises NotFound if no line does."""
        path, qualname = split_node_key(key)
        if (value := constants_of(self._tree(path)).get(qualname)) is None:
            raise unknown_node(key, self._after.view.keys())
        return value.lineno

    def _misfits(
        self, node: ChangedNode, row: Mapping[str, Any], concern: Concern
    ) -> Iterator[Concern]:
        if node.how not in ("gone", "signature") or row["tier"] == "possible":
            return
        path, qualname = split_node_key(row["key"])
        lines = row["lines"] if row["is_now"] or path not in self._edits else None
        for call in self._calls(path, qualname, node, lines):
            why = self._why_not(node, row["key"], call)
            if why:
                yield msgspec.structs.replace(concern, place=f"{path}:{call.lineno}", why=why)

    def _why_not(self, node: ChangedNode, caller: str, call: ast.Call) -> str:
        if node.how == "gone":
            now = self._after.callees(caller)["callees"] if self._after.view.node(caller) else ()
            is_found = any(
                call.lineno in edge["lines"] and edge["key"].endswith(node.name)
                for edge in now or ()
            )
            return "" if is_found else f"`{node.name}` is gone"
        if isinstance(node.after, FunctionNode) and has_own_parameters(node.after):
            return misfit(node.after, call, in_class=self._in_class(node))
        return ""

    def _calls(
        self, path: str, qualname: str, node: ChangedNode, lines: Sequence[int] | None
    ) -> Iterator[ast.Call]:
        """Yield the calls of a node in a definition, in some lines or in all."""
        tree = self._tree(path)
        scopes = {inner.qualname: inner.node for inner in find_definitions(tree, path)}
        own = split_node_key(node.key)[0].removesuffix(".py").split("/")
        modules = {bound: module for module, name, bound in imported_names(tree) if not name}
        for call in ast.walk({**scopes, MODULE: tree}.get(qualname, _NOTHING)):
            if isinstance(call, ast.Call) and _called_name(call) == node.name:
                module = modules.get(ast.unparse(call.func).partition(".")[0], own[-1])
                is_other = module.partition(".")[0] not in own  # `asyncio.run(run())`
                if not is_other and (lines is None or {*_span(call)}.intersection(lines)):
                    yield call

    def _in_class(self, node: ChangedNode) -> bool:
        owner = node.key.rpartition(".")[0]
        known = self._after.view.node(owner) or self._before.view.node(owner)
        return known is not None and known.facts.node_type == "class"

    def _imports(self, node: ChangedNode) -> Iterator[Concern]:
        """Yield the imports of a name that its module does not have any more."""
        path, qualname = split_node_key(node.key)
        stem = path.removesuffix(".py").removesuffix("/__init__").rpartition("/")[2]
        for other in self._after.view.mentioning(node.name) if "." not in qualname else ():
            for statement in ast.walk(self._tree(other)):
                if (
                    isinstance(statement, ast.ImportFrom)
                    and (statement.module or "").rpartition(".")[2] == stem
                    and node.name in {alias.name for alias in statement.names}
                ):
                    why = f"imports `{node.name}`, which is gone"
                    yield _at(f"{other}:{statement.lineno}", node, why=why, tier="inferred")

    def _twins(self, node: ChangedNode) -> Iterator[Concern]:
        """Yield the methods of the same name in other files, which often change together.

        Example: `send` of `slack.py` and of `telegram.py`. More than a few are not twins.
        """
        name = split_node_key(node.key)[1].rpartition(".")[2]
        if not self._in_class(node) or name.startswith("__") or node.how == "new":
            return
        view, own = self._after.view, split_node_key(node.key)[0]
        others = [path for path in view.mentioning(f"def {name}") if not is_of_tests(path)]
        for path in others if len(others) <= _MOST_TWINS else ():
            for twin in view.nodes(path) if path != own else ():
                if twin.facts.qualname.rpartition(".")[2] == name:
                    place, other = f"{path}:{twin.facts.line_start}", display_name(twin.facts.key)
                    yield _at(place, node, name=other, why="same name")

    def _tests(self, changed: Sequence[ChangedNode]) -> Iterator[str]:
        """Yield changed tests, and those that run a changed node, the nearest first.

        Those that call it come before others, and then those of the module's own test file.
        """
        queues: list[list[str]] = [[*self._changed_tests()]]
        seconds = max(SEARCH_S, _TESTS_S / max(1, len(changed)))
        for node in changed:
            sides = [side for side in (self._after, self._before) if side.view.node(node.key)]
            readers = [] if sides else [row["key"] for row in self._rows(node)][:_MOST_PLACES]
            keys = [*readers, *([node.key] if sides else [])]
            asked = [([*sides, self._after][0], key) for key in keys]
            answers = [side.tests(key, seconds=seconds) for side, key in asked]
            if sides and not any(answer["tests"] for answer in answers):
                module = node_key(split_node_key(node.key)[0])  # what loads it may run the node
                answers.append(sides[0].tests(module, seconds=seconds))
            self._has_all_tests &= all(answer.get("complete", True) for answer in answers)
            sure = (row["key"] for row in self._rows(node) if row["tier"] != "possible")
            order = partial(_distance, node, {pytest_id(*split_node_key(key)) for key in sure})
            tests = (test["id"] for answer in answers for test in answer["tests"] or ())
            queues.append(sorted(tests, key=order))
        for place in range(max(map(len, queues), default=0)):
            yield from (queue[place] for queue in queues if place < len(queue))

    def _changed_tests(self) -> Iterator[str]:
        for path, (old, new) in self._edits.items():
            before = {name: ast.dump(test) for name, test in tests_of(old).items()}
            for name, test in tests_of(new).items():
                if is_test_file(path) and before.get(name) != ast.dump(test):
                    yield "::".join([path, *name.split(".")])

    def _docstrings(self, changed: Sequence[ChangedNode]) -> Iterator[Concern]:
        """Yield the docstrings that still name a parameter that is gone."""
        for node in changed:
            if isinstance(node.before, FunctionNode) and isinstance(node.after, FunctionNode):
                text = docstring_text(node.after.body) or ""
                old, new = (
                    {part.arg for part in ast.walk(side.args) if isinstance(part, ast.arg)}
                    for side in (node.before, node.after)
                )
                for name in old - new if text == docstring_text(node.before.body) else ():
                    if re.search(rf"\b{name}\b", text):
                        path = split_node_key(node.key)[0]
                        why = f"its docstring names `{name}`"
                        yield _at(f"{path}:{node.line}", node, why=why)

    def _mentions(self, changed: Sequence[ChangedNode], texts: Iterable[str]) -> Iterator[Concern]:
        wanted = {node: _mention(node) for node in changed if node.how not in ("code", "new")}
        counts = dict.fromkeys(wanted, 0)
        for path in texts if wanted else ():
            text = (self._read(path) or b"").decode("utf-8", "replace")
            for node, pattern in wanted.items():
                for match in pattern.finditer(text):
                    counts[node] += 1
                    if counts[node] <= _MOST_PLACES:
                        line = text.count("\n", 0, match.start()) + 1
                        yield _at(f"{path}:{line}", node)

    def _concern(self, node: ChangedNode, row: Mapping[str, Any]) -> Concern:
        path, qualname = split_node_key(row["key"])
        lines = row["lines"] or [*_lines_naming(self._tree(path), node.name)][:1]
        variable = _variable(self._tree(path), lines) if qualname == MODULE else ""
        return _at(
            f"{path}:{', '.join(map(str, lines))}".removesuffix(":"),
            node,
            name=f"{path}:{variable}" if variable else display_name(row["key"]),
            why="" if row["kind"] in ("call", "reference") else row["kind"],
            tier=row["tier"],
        )

    def _tree(self, path: str) -> ast.Module:
        if path not in self._trees:
            self._trees[path] = _parsed(self._read(path)) or _NOTHING
        return self._trees[path]


def is_text(path: str) -> bool:
    """Return True for documentation and configuration."""
    return path.endswith(_TEXTS)


def _distance(node: ChangedNode, callers: Set[str], test: str) -> int:
    """Return 0 for a caller, 1 if the test file is named after the node's module, and else 2."""
    stem = split_node_key(node.key)[0].removesuffix(".py").rpartition("/")[2].strip("_")
    file = test.partition("::")[0].rpartition("/")[2]
    is_near = file in (f"test_{stem}.py", f"{stem}_test.py")
    return 0 if test in callers else 2 - is_near


def _parsed(content: bytes | None) -> ast.Module | None:
    """Return the tree of a file, or None if it does not parse."""
    source = read_source("", content or b"")
    return source.tree if isinstance(source, Source) else None


def _called_name(call: ast.Call) -> str:
    function = call.func.value if isinstance(call.func, ast.Subscript) else call.func
    return getattr(function, "attr", "") or getattr(function, "id", "")


def _at(place: str, node: ChangedNode, **more: str) -> Concern:
    return Concern(place=place, about=display_name(node.key), **more)


def _span(node: ast.stmt | ast.expr) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _lines_naming(tree: ast.Module, name: str) -> Iterator[int]:
    """Yield the lines that read or import a name, or have it as a string, as in `__all__`."""
    for node in ast.walk(tree):
        names = [getattr(node, field, None) for field in ("id", "attr", "value")]
        is_import = isinstance(node, ast.alias) and node.name.rpartition(".")[2] == name
        if is_import or (name in names and not isinstance(getattr(node, "ctx", 0), ast.Store)):
            yield getattr(node, "lineno", 0)


def _variable(tree: ast.Module, lines: Sequence[int]) -> str:
    """Return the variable that a module assigns at the first of some lines."""
    values = assigned_values(tree.body) if lines else ()
    return next((name for name, value in values if lines[0] in _span(value)), "")


def _mention(node: ChangedNode) -> re.Pattern[str]:
    """Return a pattern of how texts name a node: a call, a code span or an entry point."""
    _, qualname = split_node_key(node.key)
    name = re.escape(node.name)
    owner = qualname.rpartition(".")[0].rpartition(".")[2]
    if owner and owner != node.name:
        return re.compile(rf"\b{re.escape(owner)}\.{name}\b")
    return re.compile(rf"`+(?:\w+\.)*{name}(?:\(.*?\))?`|\b{name}\(|\w:{name}\b")
