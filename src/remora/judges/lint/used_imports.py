"""Imports that a project needs although their names are not used in the file."""

import ast
import re
import sys
from collections.abc import Iterator
from functools import lru_cache

from remora.code.edit.text_lines import split_lines
from remora.code.pytest_model.pytest_file import is_conftest, is_of_tests, is_test_file
from remora.code.syntax.definitions import ImportNode
from remora.code.syntax.hidden_uses import hidden_uses
from remora.code.syntax.source import parse_text
from remora.tools.file_tree import FileTree
from remora.tools.host.module_names import SOURCE_ROOTS
from remora.tools.host.pytest_settings import pytest_settings
from remora.tools.host.ruff.finding import Finding
from remora.tools.tree import ToolTree

_FROM = re.compile(r"^[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n#]*)", re.MULTILINE)
_USE = re.compile(r"\b([A-Za-z_]\w*)(?=[.:]([A-Za-z_]\w*))")
_UNUSED = re.compile(r"`([^`]+)` imported but unused")
_EXAMPLE = re.compile(r"^[ \t]*(?:>>>|\.\.\.)[ \t](.*)", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_]\w*")
_FIXTURE = re.compile(
    r"^[ \t]*@[\w.]*fixture\b.*\n(?:.*\n){0,8}?[ \t]*(?:async[ \t]+)?def[ \t]+(\w+)", re.MULTILINE
)
_COLLECTED = re.compile(r"^[Tt]est|Tests?$|TestCase$")
_TEST_RUNNER = re.compile(r"^[ \t]*(?:import|from)[ \t]+(?:unittest|pytest)\b", re.MULTILINE)
_KEPT_IMPORT = re.compile(r"#.*\b(?:unused-import|W0611)\b")
_KEPT_IMPORTS = re.compile(
    r"^#[ \t]*pylint:[ \t]*disable=.*\b(?:unused-import|W0611)\b", re.MULTILINE
)
"""A comment that keeps all unused imports of a file."""
_OF_SPHINX = re.compile(r"^(?:extensions|project|html_theme)\s*=", re.MULTILINE)
_ALL = "*"
_FILES = ("py", "pyi", "rst", "md", "sh", "cfg", "toml")

ImportedNames = frozenset[tuple[str, str]]
"""Last part of a module's name, and a name in it or `*`."""


def names_from_modules(place: FileTree) -> ImportedNames:
    """Return the names that code, docs or settings import from a module, or use as `module.name`."""
    found: set[tuple[str, str]] = set()
    for _, content in place.contents(*(f"**/*.{kind}" for kind in _FILES)):
        body = content.decode("utf-8", "replace")
        found.update(_USE.findall(body))
        for module, names in _FROM.findall(body):
            last = module.rpartition(".")[2]
            found.update((last, name) for name in re.findall(r"\w+|\*", names))
    return frozenset(found)


class NeededImports:
    """Finds the unused imports of a file that something else needs."""

    def __init__(self, place: ToolTree, path: str) -> None:
        self._place = place
        self._path = path

    def reasons(self, finding: Finding, body: str) -> Iterator[tuple[bool, str]]:
        """Yield the reasons why an import that a finding calls unused stays, if they hold."""
        bound = bound_names(finding, body)
        if not bound:
            return
        imported = _UNUSED.findall(finding["message"])[0]
        known = self._place.once(names_from_modules)
        taken = _is_used_elsewhere(self._path, bound, known)
        yield taken, "another file imports the name from here"
        examples = {word for line in _EXAMPLE.findall(body) for word in _WORD.findall(line)}
        yield not bound.isdisjoint(examples), "an example in a docstring uses the name"
        is_hidden = not bound.isdisjoint(_hidden_uses(body))
        yield is_hidden, "a type in quotes uses the name"
        yield self._serves_tests(bound, imported, body), "a test runner uses the name"
        yield self._runs_code(imported), "the import runs code"
        is_settings = self._path.rpartition("/")[2] == "conf.py" and _OF_SPHINX.search(body)
        # unlike a module such as sys
        yield bool(is_settings) and "." in imported, "Sphinx may read the name"
        line = split_lines(body)[finding["line"] - 1]
        yield bool(_KEPT_IMPORT.search(line) or _KEPT_IMPORTS.search(body)), "a comment keeps it"

    def _serves_tests(self, bound: set[str], imported: str, body: str) -> bool:
        """Return True if a test runner finds tests, fixtures or hooks by an import.

        Pytest collects test classes and functions that a module of tests only imports, and finds
        fixtures and hooks that a `conftest.py` imports. So does `unittest.main()` in a module that
        only imports test cases and runs them.
        """
        if "." not in imported or imported.partition(".")[0] in sys.stdlib_module_names:
            return False
        if is_conftest(self._path):
            return True
        settings = self._place.once(pytest_settings)
        is_collected = settings.collects(self._path)
        if is_collected and not is_test_file(self._path):  # the project's own pattern
            return True
        if not (is_collected or is_of_tests(self._path) or _TEST_RUNNER.search(body)):
            return False
        fixtures = self._place.once(_fixture_names)
        return any(_COLLECTED.search(name) or name in fixtures for name in bound)

    def _runs_code(self, imported: str) -> bool:
        """Return True if an import is of a module of the project that does something on import.

        Examples are a module that changes `sys.path`, and one whose functions a decorator registers.
        """
        module = imported.lstrip(".").replace(".", "/")
        folder = self._path.rpartition("/")[0]
        for _ in range(len(imported) - len(imported.lstrip(".")) - 1):
            folder = folder.rpartition("/")[0]
        for top in dict.fromkeys((folder, "", *SOURCE_ROOTS)):
            for name in (f"{module}.py", f"{module}/__init__.py"):
                found = f"{top}/{name}".lstrip("/")
                if module and self._place.files.exists(found):
                    tree = parse_text(self._place.text_or_empty(found))
                    return isinstance(tree, ast.Module) and _acts(tree)
        return False


def _is_used_elsewhere(path: str, bound: set[str], names: ImportedNames) -> bool:
    """Return True if another file may need a name that the file at `path` binds."""
    *folders, name = path.split("/")
    module = name.removesuffix(".py")
    if module == "__init__":
        module = folders[-1] if folders else ""
    return any((module, name) in names for name in (*bound, _ALL))


@lru_cache(maxsize=1)  # for all findings of a version of a file
def _hidden_uses(body: str) -> frozenset[str]:
    tree = parse_text(body)
    return frozenset() if isinstance(tree, str) else frozenset(hidden_uses(body, tree))


def _fixture_names(place: FileTree) -> frozenset[str]:
    """Return the names of the functions of a project that are pytest fixtures."""
    texts = (content.decode("utf-8", "replace") for _, content in place.contents("**/*.py"))
    return frozenset(name for text in texts for name in _FIXTURE.findall(text))


def bound_names(finding: Finding, body: str) -> set[str]:
    """Return the names by which the import that a finding calls unused may be known.

    The message does not say that `from a import b as c` binds `c`, but the finding is at `c`.
    """
    unused = _UNUSED.search(finding["message"])
    if unused is None:
        return set()
    imported = unused[1]
    line = split_lines(body)[finding["line"] - 1]
    name = line[finding["column"] - 1 : finding["end_column"] - 1]
    is_alias = name.isidentifier() and name != imported.rpartition(".")[2]
    return {name} if is_alias else {imported.split(".")[0], imported.rpartition(".")[2]}


def imported_names(body: str) -> set[str]:
    """Return the names that the imports of a file bind."""
    tree = parse_text(body)
    return {
        alias.asname or alias.name.partition(".")[0]
        for node in (ast.walk(tree) if isinstance(tree, ast.Module) else ())
        if isinstance(node, ImportNode)
        for alias in node.names
    }


def _acts(tree: ast.Module) -> bool:
    """Return True if a module calls something, or a decorator may register what it defines."""
    known = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ImportNode)
        for alias in node.names
        if (getattr(node, "module", None) or alias.name).split(".")[0] in sys.stdlib_module_names
        if not getattr(node, "level", 0)
    }
    return any(
        (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call))
        or any(_root(decorator) not in known for decorator in getattr(node, "decorator_list", ()))
        for node in tree.body
    )


def _root(decorator: ast.expr) -> str:
    """Return the first name of a decorator, such as `app` of `@app.route("/")`."""
    return re.split(r"\W", ast.unparse(decorator), maxsplit=1)[0]
