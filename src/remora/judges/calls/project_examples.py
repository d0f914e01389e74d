"""Calls of a function in a project's documentation and code."""

import ast
import builtins
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from remora.code.edit.import_edits import Imported, imported_names
from remora.code.edit.name_binding import importable_names
from remora.code.pytest_model.pytest_file import is_conftest, is_test_file, is_unittest_file
from remora.code.pytest_model.test_functions import tests_of
from remora.code.pytest_model.used_names import COMMON_NAMES, used_names
from remora.code.syntax.definitions import DefinitionNode
from remora.errors import HostError
from remora.judges.calls.case import SOURCES, CallInput, Source
from remora.judges.calls.code_blocks import code_in
from remora.judges.calls.code_slices import Snippet, Wanted, calls_in
from remora.judges.calls.own_cases import OwnCase, own_cases
from remora.judges.calls.target_function import TargetFunction, import_name
from remora.python_text import parse
from remora.tools.file_tree import FileTree

_MOST_CALLS = 24
_DOCUMENTED = frozenset({"docstring", "documentation"})
_MOST_PER_SNIPPET = 8
_MOST_FILES = 40
_LONGEST_CONSTANT = 400
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_DOCUMENTS = ("**/*.md", "**/*.rst", "docs/**/*.txt", "doc/**/*.txt", "README*")
_OUTDATED = re.compile(r"(?i)(change|history|news|release|migrat|upgrad|whatsnew|todo|contribut)")
"""Names of documents whose examples may show older versions of the project."""


def documented_calls(subject: TargetFunction, examples: "ProjectExamples") -> list[CallInput]:
    """Return the calls of the function in docstrings and documentation.

    Calls of a namesake are left out.
    """
    return [
        call
        for call in examples.calls_of(subject)
        if call.source in _DOCUMENTED and _is_possible(call, subject)
    ]


def stated_calls(subject: TargetFunction, examples: "ProjectExamples") -> list[CallInput]:
    """Return the documented calls of the function that are shown with their results."""
    return [call for call in documented_calls(subject, examples) if call.shown]


def _is_possible(call: CallInput, subject: TargetFunction) -> bool:
    """Return False for a call of a namesake that belongs to another object.

    Such an object is a module or a built-in type; for a method with a common name, it is anything
    that is not made by the class.
    """
    root = re.split(r"\W", call.call, maxsplit=1)[0]
    if "." not in subject.qualname:
        imports = (imported for text in call.imports for imported in imported_names(parse(text)))
        given = [imported for imported in imports if imported.bound == root]
        names = [*filter(None, (given[0].module, given[0].name))] if given else ["?"]
        module = ".".join(names[:-1] if names[1:] == [subject.function.name] else names)
        return f"{subject.module}.".startswith(f"{module}.")
    if subject.owner is None or call.source == "docstring":
        return True
    if subject.owner.name in " ".join((call.call, *call.setup)):
        return True
    is_foreign = not root or hasattr(builtins, root) or root in sys.stdlib_module_names
    return not is_foreign and subject.function.name not in COMMON_NAMES


class _Scope(NamedTuple):
    """A module, class or function, with the names of what it and its docstring call."""

    line: int
    body: list[ast.stmt]
    docstring: str
    called: frozenset[str]
    documented: frozenset[str]


def _scope(node: ast.AST) -> _Scope:
    assert isinstance(node, DefinitionNode | ast.Module)
    docstring = ast.get_docstring(node) or ""
    body = [] if isinstance(node, ast.ClassDef) else node.body
    parts = [statement for statement in body if not isinstance(statement, DefinitionNode)]
    calls = (node.func for part in parts for node in ast.walk(part) if isinstance(node, ast.Call))
    called = {getattr(call, "id", "") or getattr(call, "attr", "") for call in calls}
    documented = _CALLED.findall(docstring) if ">>>" in docstring or "::" in docstring else ()
    line = getattr(node, "lineno", 0)
    return _Scope(line, body, docstring, frozenset(called), frozenset(documented))


class ProjectExamples:
    """The texts of a project, in which calls are looked up by the name of the called function.

    All files are read on first use.
    """

    def __init__(self, place: FileTree) -> None:
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
            for call in calls_in(snippet, wanted, _MOST_PER_SNIPPET):
                known = found.setdefault((call.call, call.setup), call)
                if call.shown and not known.shown:
                    found[call.call, call.setup] = call
            if len(found) >= _MOST_CALLS:
                break
        return sorted(found.values(), key=lambda call: SOURCES.index(call.source))[:_MOST_CALLS]

    def tests_of(self, subject: TargetFunction) -> list[str]:
        """Return the pytest ids of the tests that call a function of that name."""
        name, found = subject.function.name, []
        for path in self._by_name.get(name, []):
            is_test = is_test_file(path) or is_unittest_file(path)
            tree = self.tree(path) if is_test else None
            for qualname, test in (tests_of(tree) if tree is not None else {}).items():
                if name in used_names(test):
                    found.append(f"{path}::{qualname.replace('.', '::')}")
        return found

    def own_cases(self, subject: TargetFunction, path: str) -> list[OwnCase]:
        """Return the cases of the function in the tests of a file, if it exists."""
        tree = self.tree(path) if self._place.files.exists(path) else None
        if tree is None:
            return []
        known = {**self._public_names(subject), **self._names_of(path, tree)}
        return [
            case
            for qualname, test in tests_of(tree).items()
            if subject.function.name in used_names(test)
            for case in own_cases(path, test, qualname, subject, known, _constants(tree))
        ]

    def _snippets(self, name: str, subject: TargetFunction) -> Iterator[Snippet]:
        known = self._public_names(subject)
        own = ast.get_docstring(subject.function)
        if own:
            yield Snippet(code_in(own), known, "docstring")
        paths = self._by_name.get(name, [])
        documents = [path for path in paths if not path.endswith(".py")]
        shown = {**known, **self._package_names(subject)}
        for path in documents[:_MOST_FILES]:
            yield Snippet(self._document(path), shown, "documentation")
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
        constants = _constants(tree) if test else []
        for scope in self._scopes_of(path, tree):
            if path == subject.path and scope.line == subject.function.lineno:
                continue
            if name in scope.documented:
                near = subject.owner is not None and scope.line and path == subject.path
                source: Source = "docstring" if near else "documentation"
                yield Snippet(code_in(scope.docstring), names, source)
            if name in scope.called:
                body = [*constants, *scope.body] if scope.line else scope.body
                yield Snippet(body, names, "test" if test else "call")

    def _scopes_of(self, path: str, tree: ast.Module) -> list[_Scope]:
        if path not in self._scopes:
            self._scopes[path] = [
                _scope(node)
                for node in ast.walk(tree)
                if isinstance(node, DefinitionNode | ast.Module)
            ]
        return self._scopes[path]

    def tree(self, path: str) -> ast.Module | None:
        """Return the syntax tree of a Python file, or None if it cannot be read."""
        if path not in self._trees:
            self._trees[path] = self._place.syntax_tree(path)
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
            return {n: imported for n, imported in names.items() if imported.module != module}
        return names

    def _public_names(self, subject: TargetFunction) -> dict[str, Imported]:
        """Return the names of the function's module and package, those of the module first."""
        is_package = subject.path.endswith("__init__.py")
        own = importable_names(subject.source.tree, subject.module, is_package=is_package)
        return {**self._package_names(subject), **own}

    def _package_names(self, subject: TargetFunction) -> dict[str, Imported]:
        """Return the names that documentation may use without an import."""
        package = subject.module.partition(".")[0]
        start = f"{subject.import_root}/{package}".lstrip("/")
        if start not in self._public:
            paths = (f"{start}/__init__.py", f"{start}.py")
            path = next(filter(self._place.files.exists, paths), "")
            tree = self.tree(path) if path else None
            inner = importable_names(tree, package, is_package=True) if tree is not None else ()
            names = {name: Imported(package, name, name) for name in inner}
            self._public[start] = {package: Imported(package, "", package), **names}
        return self._public[start]

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


def _constants(tree: ast.Module) -> list[ast.stmt]:
    """Return the assignments of a test module that a test may repeat."""
    return [
        statement
        for statement in tree.body
        if isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Name)
        and statement.targets[0].id not in ("pytestmark", "__all__")
        and len(ast.unparse(statement)) <= _LONGEST_CONSTANT
    ]
