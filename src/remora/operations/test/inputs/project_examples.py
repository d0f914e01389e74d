"""Calls of a function in a project's documentation and code."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from remora.code.edit.import_edits import Imported, imported_names
from remora.code.pytest_model.pytest_file import is_conftest, is_test_file
from remora.code.syntax.source import Unreadable, read_source
from remora.errors import HostError
from remora.operations.test.inputs.call_input import (
    SOURCES,
    CallInput,
    Source,
    absolute,
    importable_names,
)
from remora.operations.test.inputs.code_blocks import code_in
from remora.operations.test.inputs.code_slices import Snippet, calls_in
from remora.operations.test.inputs.setup_statements import (
    Fixture,
    fixtures_of,
    module_constants,
    prepared,
)
from remora.operations.test.inputs.shown_values import Wanted
from remora.operations.test.source_blocks import tests_of, used_names
from remora.operations.test.state_changes import has_changes
from remora.operations.test.target_function import TargetFunction, import_name
from remora.tools.tree import ToolTree

_MOST_CALLS = 24
_MOST_PER_SNIPPET = 8
_MOST_WRITTEN = 40
_MOST_FILES = 40
_MOST_REEXPORTS = 5
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_DOCUMENTS = ("**/*.md", "**/*.rst", "docs/**/*.txt", "doc/**/*.txt", "README*")
_OUTDATED = re.compile(r"(?i)(change|history|news|release|migrat|upgrad|whatsnew|todo|contribut)")
"""Names of documents whose examples may show older versions of the project."""
_DEFINITION = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


_DOCS: Source = "documentation"


class _Scope(NamedTuple):
    """A module, class or function, with the names of what it and its docstring call.

    `owner` is the class of a method.
    """

    node: ast.AST
    owner: ast.ClassDef | None
    line: int
    body: list[ast.stmt]
    docstring: str
    called: frozenset[str]
    documented: frozenset[str]


def _scopes(
    tree: ast.AST, owner: ast.ClassDef | None = None
) -> Iterator[tuple[ast.AST, ast.ClassDef | None]]:
    """Yield the module, its classes and functions, each with the class that it is a method of."""
    if isinstance(tree, _DEFINITION | ast.Module):
        yield tree, owner
        owner = tree if isinstance(tree, ast.ClassDef) else None
    for each in ast.iter_child_nodes(tree):
        yield from _scopes(each, owner)


def _scope(node: ast.AST, owner: ast.ClassDef | None) -> _Scope:
    assert isinstance(node, _DEFINITION | ast.Module)
    docstring = ast.get_docstring(node) or ""
    body = [] if isinstance(node, ast.ClassDef) else node.body
    parts = [one for one in body if not isinstance(one, _DEFINITION)]
    calls = (one.func for part in parts for one in ast.walk(part) if isinstance(one, ast.Call))
    called = {getattr(one, "id", "") or getattr(one, "attr", "") for one in calls}
    documented = _CALLED.findall(docstring) if ">>>" in docstring or "::" in docstring else ()
    line = getattr(node, "lineno", 0)
    return _Scope(node, owner, line, body, docstring, frozenset(called), frozenset(documented))


class ProjectExamples:
    """The texts of a project, in which calls are looked up by the name of the called function.

    All files are read on first use.
    """

    def __init__(self, place: ToolTree) -> None:
        self._place = place
        self._trees: dict[str, ast.Module | None] = {}
        self._documents: dict[str, list[ast.stmt]] = {}
        self._public: dict[str, dict[str, Imported]] = {}
        self._scopes: dict[str, list[_Scope]] = {}

    def calls_of(self, subject: TargetFunction) -> list[CallInput]:
        """Return calls of the function, those that a reader recognizes as examples first."""
        wanted = Wanted(subject.function.name, "." not in subject.qualname)
        found: dict[tuple[str, tuple[str, ...]], CallInput] = {}
        for snippet in self._snippets(wanted.name, subject):
            for each in calls_in(snippet, wanted, _MOST_PER_SNIPPET):
                found.setdefault((each.call, each.setup), each)
            if len(found) >= _MOST_CALLS:
                break
        return sorted(found.values(), key=lambda each: SOURCES.index(each.source))[:_MOST_CALLS]

    def tests_of(self, subject: TargetFunction) -> list[str]:
        """Return the pytest ids of the tests that call a function of that name."""
        name, found = subject.function.name, []
        for path in self._by_name.get(name, []):
            tree = self.tree(path) if is_test_file(path) else None
            for qualname, test in (tests_of(tree) if tree is not None else {}).items():
                if any(
                    name in (getattr(n, "id", ""), getattr(n, "attr", "")) for n in ast.walk(test)
                ):
                    found.append(f"{path}::{qualname.replace('.', '::')}")
        return found

    def table_of(self, ids: Iterable[str]) -> str:
        """Return the first of some tests, given by their pytest ids, that has a table of cases."""
        for each in ids:
            path, _, name = each.partition("::")
            tree = self.tree(path)
            test = tests_of(tree).get(name.replace("::", ".")) if tree is not None else None
            if test is not None and any(
                "parametrize" in used_names(d) for d in test.decorator_list
            ):
                return name
        return ""

    def calls_written(self, subject: TargetFunction, code: Sequence[ast.stmt]) -> list[CallInput]:
        """Return the calls of the function in code that a model wrote.

        The code may use the names of the function's module and of its package.
        """
        function = subject.function
        wanted = Wanted(function.name, "." not in subject.qualname, has_changes(function))
        snippet = Snippet(code, self._public_names(subject), "writer")
        return [*calls_in(snippet, wanted, _MOST_WRITTEN)]

    def _snippets(self, name: str, subject: TargetFunction) -> Iterator[Snippet]:
        known = self._public_names(subject)
        own = ast.get_docstring(subject.function)
        if own:
            yield Snippet(code_in(own), known, "docstring")
        paths = self._by_name.get(name, [])
        documents = [path for path in paths if not path.endswith(".py")]
        for path in documents[:_MOST_FILES] if self._is_documented(name, subject) else ():
            yield Snippet(self._document(path), known, "documentation")
        code = [path for path in paths if path.endswith(".py")]
        code.sort(key=lambda path: (path != subject.path, is_test_file(path)))
        for path in code[:_MOST_FILES]:
            tree = self.tree(path)
            if tree is not None:
                yield from self._in_code(path, tree, name, subject)

    def _in_code(
        self, path: str, tree: ast.Module, name: str, subject: TargetFunction
    ) -> Iterator[Snippet]:
        names = {**self._public_names(subject), **self._names_of(path, tree)}
        test = is_test_file(path) or is_conftest(path)
        constants = module_constants(tree) if test else []
        for scope in self._scopes_of(path, tree):
            if path == subject.path and scope.line == subject.function.lineno:
                continue
            if name in scope.documented and (
                path == subject.path or self._is_documented(name, subject)
            ):
                near = subject.owner is not None and scope.line and path == subject.path
                yield Snippet(code_in(scope.docstring), names, "docstring" if near else _DOCS)
            if name in scope.called:
                if test and isinstance(scope.node, ast.FunctionDef):
                    body, used = prepared(scope.node, scope.owner, self._fixtures_for(path, tree))
                    known = {**self._names_near(path), **names}
                    yield Snippet([*constants, *body], known, "test", used)
                else:
                    yield Snippet(scope.body, names, "test" if test else "call")

    def _is_documented(self, name: str, subject: TargetFunction) -> bool:
        """Return False if the package exports another function of that name.

        Documentation then is about the other one.
        """
        package = subject.module.partition(".")[0]
        if subject.owner is not None or self._module(subject, package)[0] is None:
            return True
        return self._origin(name, package, subject, _MOST_REEXPORTS) in ("", subject.module)

    def _origin(self, name: str, module: str, subject: TargetFunction, most: int) -> str:
        """Return the module from which another one has a name in the end, or an empty string.

        The name is followed through at most `most` modules, and to the first that is missing.
        """
        tree, is_package = self._module(subject, module)
        if tree is None:
            return module
        names = importable_names(tree, module, is_package=is_package)
        found = names[name].module if name in names else ""
        is_end = found in ("", module) or not most
        return found if is_end else self._origin(name, found, subject, most - 1)

    def _fixtures_for(self, path: str, tree: ast.Module) -> dict[str, Fixture]:
        """Return the fixtures that the tests of a file can use."""
        found: dict[str, Fixture] = {}
        for each in self._conftests(path):
            outer = self.tree(each)
            found |= fixtures_of(each, outer) if outer is not None else {}
        return {**found, **fixtures_of(path, tree)}

    def _conftests(self, path: str) -> list[str]:
        folders = path.split("/")[:-1]
        paths = ["/".join([*folders[:n], "conftest.py"]) for n in range(len(folders) + 1)]
        return [each for each in paths if each in self._texts]

    def _names_near(self, path: str) -> dict[str, Imported]:
        """Return the names that the conftest files of a test import."""
        found: dict[str, Imported] = {}
        for each in self._conftests(path):
            tree = self.tree(each)
            found |= self._names_of(each, tree) if tree is not None else {}
        return found

    def _scopes_of(self, path: str, tree: ast.Module) -> list[_Scope]:
        if path not in self._scopes:
            self._scopes[path] = [_scope(one, owner) for one, owner in _scopes(tree)]
        return self._scopes[path]

    def tree(self, path: str) -> ast.Module | None:
        """Return the syntax tree of a Python file, or None if it cannot be read."""
        if path not in self._trees:
            try:
                read = read_source(path, self._place.read(path))
            except HostError:
                read = Unreadable(path=path, detail="")
            self._trees[path] = None if isinstance(read, Unreadable) else read.tree
        return self._trees[path]

    def _document(self, path: str) -> list[ast.stmt]:
        if path not in self._documents:
            self._documents[path] = code_in(self._texts[path])
        return self._documents[path]

    def _names_of(self, path: str, tree: ast.Module) -> Mapping[str, Imported]:
        module = import_name(path, self._place.files.exists)[1]
        names = importable_names(tree, module, is_package=path.endswith("__init__.py"))
        is_importable = all(part.isidentifier() for part in module.split("."))
        if not is_importable or is_test_file(path) or is_conftest(path):
            return {n: one for n, one in names.items() if one.module != module}
        return names

    def _public_names(self, subject: TargetFunction) -> dict[str, Imported]:
        """Return names that documentation may use without an import."""
        if subject.path not in self._public:
            self._public[subject.path] = self._find_public_names(subject)
        return self._public[subject.path]

    def _find_public_names(self, subject: TargetFunction) -> dict[str, Imported]:
        package = subject.module.partition(".")[0]
        tree, _ = self._module(subject, package)
        names = {package: Imported(package, "", package)}
        if tree is not None:
            inner = importable_names(tree, package, is_package=True)
            names.update({name: Imported(package, name, name) for name in inner})
        is_package = subject.path.endswith("__init__.py")
        own = importable_names(subject.source.tree, subject.module, is_package=is_package)
        return {**names, **self._star_names(subject), **own}

    def _star_names(self, subject: TargetFunction) -> dict[str, Imported]:
        """Return the names that the function's module has from `from module import *`."""
        found: dict[str, Imported] = {}
        inside = subject.path.endswith("__init__.py")
        for one in imported_names(subject.source.tree):
            module = absolute(one, subject.module, inside).module
            if one.name == "*" and not module.startswith("."):
                tree, is_package = self._module(subject, module)
                names = importable_names(tree, module, is_package=is_package) if tree else {}
                found |= {name: each for name, each in names.items() if not name.startswith("_")}
        return found

    def _module(self, subject: TargetFunction, name: str) -> tuple[ast.Module | None, bool]:
        """Return the tree of a module beside that of the function, and if it is a package."""
        folder = f"{subject.import_root}/" if subject.import_root else ""
        start = f"{folder}{name.replace('.', '/')}"
        paths = [path for path in (f"{start}/__init__.py", f"{start}.py") if self._exists(path)]
        return self.tree(paths[0]) if paths else None, paths[:1] == [f"{start}/__init__.py"]

    def _exists(self, path: str) -> bool:
        return self._place.files.exists(path)

    @cached_property
    def _texts(self) -> dict[str, str]:
        files = self._place.files
        paths = dict.fromkeys(files.glob("**/*.py", look=self._place.left))
        for pattern in _DOCUMENTS:
            found = files.glob(pattern, look=self._place.left)
            paths.update(dict.fromkeys(p for p in found if not _OUTDATED.search(p)))
        texts: dict[str, str] = {}
        for path in paths:
            try:
                texts[path] = self._place.read(path).decode("utf-8", "replace")
            except HostError:  # too large
                continue
        return texts

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path, text in self._texts.items():
            for name in dict.fromkeys(_CALLED.findall(text)):
                found.setdefault(name, []).append(path)
        return found
