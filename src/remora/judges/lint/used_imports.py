"""Imports that a project needs although their names are not used in the file."""

import ast
import re
import sys
from functools import lru_cache
from typing import NamedTuple

from remora.code.edit.text_lines import split_lines
from remora.code.pytest_model.pytest_file import is_conftest, is_of_tests, is_test_file
from remora.code.syntax.definitions import ImportNode
from remora.code.syntax.hidden_uses import hidden_uses
from remora.code.syntax.source import parse_text
from remora.judges.rules import Rule
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


class UnusedImport(NamedTuple):
    """An import that a finding calls unused, in a version of its file."""

    place: ToolTree
    """The project."""
    path: str
    """The path of the file."""
    body: str
    """The text of the version."""
    line: int
    """The line of the finding."""
    bound: set[str]
    """The names by which the import may be known."""
    imported: str
    """What the finding calls it."""

    @classmethod
    def of(cls, place: ToolTree, path: str, finding: Finding, body: str) -> "UnusedImport | None":
        """Return the import of a finding, or None for a finding that names none."""
        bound = bound_names(finding, body)
        if not bound:
            return None
        imported = _UNUSED.findall(finding["message"])[0]
        return cls(place, path, body, finding["line"], bound, imported)

    def is_used_elsewhere(self) -> bool:
        """Return True if another file may need a name that the file binds."""
        *folders, name = self.path.split("/")
        module = name.removesuffix(".py")
        if module == "__init__":
            module = folders[-1] if folders else ""
        known = self.place.once(names_from_modules)
        return any((module, name) in known for name in (*self.bound, _ALL))

    def is_in_example(self) -> bool:
        examples = _EXAMPLE.findall(self.body)
        return any(not self.bound.isdisjoint(_WORD.findall(line)) for line in examples)

    def is_in_quotes(self) -> bool:
        return not self.bound.isdisjoint(_hidden_uses(self.body))

    def serves_tests(self) -> bool:
        """Return True if a test runner finds tests, fixtures or hooks by an import.

        Pytest collects test classes and functions that a module of tests only imports, and finds
        fixtures and hooks that a `conftest.py` imports. So does `unittest.main()` in a module that
        only imports test cases and runs them.
        """
        if "." not in self.imported or self.imported.partition(".")[0] in sys.stdlib_module_names:
            return False
        if is_conftest(self.path):
            return True
        settings = self.place.once(pytest_settings)
        is_collected = settings.collects(self.path)
        if is_collected and not is_test_file(self.path):  # the project's own pattern
            return True
        if not (is_collected or is_of_tests(self.path) or _TEST_RUNNER.search(self.body)):
            return False
        fixtures = self.place.once(_fixture_names)
        return any(_COLLECTED.search(name) or name in fixtures for name in self.bound)

    def runs_code(self) -> bool:
        """Return True if an import is of a module of the project that does something on import.

        Examples are a module that changes `sys.path`, and one whose functions a decorator registers.
        """
        module = self.imported.lstrip(".").replace(".", "/")
        folder = self.path.rpartition("/")[0]
        for _ in range(len(self.imported) - len(self.imported.lstrip(".")) - 1):
            folder = folder.rpartition("/")[0]
        for top in dict.fromkeys((folder, "", *SOURCE_ROOTS)):
            for name in (f"{module}.py", f"{module}/__init__.py"):
                found = f"{top}/{name}".lstrip("/")
                if module and self.place.files.exists(found):
                    tree = parse_text(self.place.text_or_empty(found))
                    return isinstance(tree, ast.Module) and _acts(tree)
        return False

    def is_setting_of_sphinx(self) -> bool:
        """Return True for a name in Sphinx's settings that is from a package, unlike `sys`."""
        is_settings = self.path.rpartition("/")[2] == "conf.py" and _OF_SPHINX.search(self.body)
        return bool(is_settings) and "." in self.imported


IMPORT_RULES: tuple[Rule[UnusedImport], ...] = (
    Rule(
        "elsewhere",
        "`from shop.compat import BytesIO` in another file",
        "another file imports the name from here",
        "437 in 22",
        UnusedImport.is_used_elsewhere,
    ),
    Rule(
        "doctest",
        "`>>> pprint(cart)`",
        "an example in a docstring uses the name",
        "35 in 6",
        UnusedImport.is_in_example,
    ),
    Rule(
        "quotes",
        "`# type: (int) -> List[str]`",
        "a type in quotes uses the name",
        "502 in 9",
        UnusedImport.is_in_quotes,
    ),
    Rule(
        "tests",
        "`from .test_trees import TestTrees`",
        "a test runner uses the name",
        "79 in 4",
        UnusedImport.serves_tests,
    ),
    Rule(
        "runs-code",
        "`import fastentrypoints`",
        "the import runs code",
        "13 in 8",
        UnusedImport.runs_code,
    ),
    Rule(
        "sphinx",
        "`from shop import __version__ as release` in `conf.py`",
        "Sphinx may read the name",
        "0: Sphinx's documentation says that it reads `release`",
        UnusedImport.is_setting_of_sphinx,
    ),
)
"""Rules about imports that ruff calls unused, and that something needs. `measured` counts fixes in 200 packages."""


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
